"""Which samples a run asks about: the first N, or N drawn at random within strata; and what is true of them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from snellen.core.errors import SpecError
from snellen.core.stages import AnyTask, Choice, Indexed, Sample, Samples
from snellen.runs.manifest import Selection

T = TypeVar("T")


class Survey(NamedTuple):
    """What one walk over a task found: the ids chosen (None: all), how many samples and requests, the truth's hash."""

    ids: frozenset[str] | None
    samples: int
    requests: int
    truth: str


def survey(task: AnyTask, selection: Selection, *, draws: int = 1) -> Survey:
    """Walks the task, holding no sample. SpecError where two samples share an id, or none is left."""
    ids = chosen(task.samples, selection)
    truth = TruthDigest()
    count = requests = 0
    drawn = selection.sample is not None
    for sample in walk(task, ids) if drawn else _distinct(islice(task.samples, selection.limit)):
        count += 1
        requests += draws * len(task.prompts(sample))
        truth.add(sample)
    if not count:
        raise SpecError("the task has no samples")
    return Survey(ids, count, requests, truth.hexdigest())


class TruthDigest:
    """The hash of what is true of some samples, sample by sample: of those selected, what a run's manifest keeps."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, sample: Sample[Any]) -> None:
        """The next sample."""
        self._digest.update(sample.id.encode() + b"\0")
        _feed(self._digest.update, sample.truth)

    def hexdigest(self) -> str:
        """SHA-256 of those so far."""
        return self._digest.hexdigest()


def chosen(samples: Samples[Any], selection: Selection) -> frozenset[str] | None:
    """The ids of the samples selected; None: all of them.

    Random draws are proportional to the strata's sizes (largest remainders; at most one off), uniform within each.
    """
    if selection.everything:
        return None
    if selection.limit is not None and selection.sample is not None:
        raise SpecError("limit (the first N) and sample (N at random) exclude each other")
    if selection.limit is not None:
        return frozenset(sample.id for sample in islice(samples, selection.limit))
    if not isinstance(samples, Indexed):
        return _drawn(samples, selection)
    known = _DRAWN.setdefault(samples, {})
    key = selection.model_dump_json()
    if key not in known:
        known[key] = _drawn(samples, selection)
    return known[key]


_DRAWN: WeakKeyDictionary[Indexed[Any], dict[str, frozenset[str]]] = WeakKeyDictionary()
"""What was drawn from samples that many runs look at: a bench walks an exam once."""


def _drawn(samples: Samples[Any], selection: Selection) -> frozenset[str]:
    """Random draws within strata. SpecError where two samples share an id."""
    strata: dict[tuple[object, ...], list[str]] = {}
    for sample in _distinct(samples):
        strata.setdefault(_stratum(sample, selection.by), []).append(sample.id)
    rng = np.random.default_rng(selection.seed)
    groups = [strata[key] for key in sorted(strata, key=repr)]
    shares = _allot([len(group) for group in groups], selection.sample or 0, rng)
    return frozenset(
        group[i]
        for group, share in zip(groups, shares, strict=True)
        for i in rng.choice(len(group), share, replace=False).tolist()
    )


def _distinct(samples: Iterable[Sample[Any]]) -> Iterator[Sample[Any]]:
    """The samples; SpecError where two share an id."""
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise SpecError(f"two samples are called {sample.id!r}; ids must be unique")
        seen.add(sample.id)
        yield sample


def _stratum(sample: Sample[Any], by: Sequence[str] | None) -> tuple[object, ...]:
    if by is None:
        return (sample.truth.question, sample.truth.target) if isinstance(sample.truth, Choice) else ()
    missing = [name for name in by if name not in sample.attributes and name != "target"]
    if missing:
        raise SpecError(
            f"samples have no attribute {missing[0]!r}; there are: {', '.join(sample.attributes) or 'none'}"
        )
    target = sample.truth.target if isinstance(sample.truth, Choice) else None
    return tuple(sample.attributes.get(name, target) for name in by)


def _allot(sizes: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    """`count` places in proportion to `sizes`: whole parts first, the rest to the largest remainders (ties: drawn)."""
    total = sum(sizes)
    if count >= total:
        return list(sizes)
    exact = np.array(sizes) * count / total
    shares = np.floor(exact).astype(np.int64)
    order = np.lexsort((rng.random(len(sizes)), -(exact - shares)))
    shares[order[: count - int(shares.sum())]] += 1
    return [int(share) for share in shares]


def _feed(update: Callable[[bytes], None], value: object) -> None:
    """Feeds a plain value, array or dataclass to a digest: equal values, equal bytes, whatever the machine."""
    if isinstance(value, Choice):  # by far the commonest: an exam has tens of thousands
        update(json.dumps([value.target, value.options, value.question, sorted(value.also)]).encode())
    elif isinstance(value, np.ndarray):
        _feed_array(update, value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _feed(update, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    elif isinstance(value, Mapping):
        _feed(update, [item for key in sorted(value, key=repr) for item in (key, value[key])])
    elif isinstance(value, list | tuple | set | frozenset):
        update(f"[{len(value)}".encode())
        for item in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            _feed(update, item)
    elif value is None or isinstance(value, bool | int | float | str | np.generic):
        update(f"{type(value).__name__[0]}{value!r};".encode())
    else:
        raise SpecError(f"a truth must be made of plain values, arrays and dataclasses, got {type(value).__name__}")


def _feed_array(update: Callable[[bytes], None], value: np.ndarray[Any, Any]) -> None:
    update(f"a{value.dtype.kind}{value.shape}".encode())
    if value.dtype.kind in "OUS":
        _feed(update, value.tolist())
    else:
        update(np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")).tobytes())


def walk(task: AnyTask, ids: frozenset[str] | None) -> Iterator[Sample[Any]]:
    """The selected samples, in the task's order."""
    return among(task.samples, ids)


def among(samples: Samples[T], ids: frozenset[str] | None) -> Iterator[Sample[T]]:
    """The samples of these ids (None: all), in order. Of `Indexed` samples the others are not made."""
    if ids is not None and isinstance(samples, Indexed):
        return samples.among(ids)
    return (sample for sample in samples if ids is None or sample.id in ids)
