"""Published answers: results files `{stim: {entity: {kind: {target, input, original_pred, pred}}}}`, plain or gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from snellen.core.errors import DataError
from snellen.core.pictures import Picture
from snellen.core.stages import Attribute, Choice, Reply, Sample
from snellen.stimuli.layout import kind_of, split_options
from snellen.stimuli.worlds import PAINTS, SHAPES

_Entries: TypeAlias = Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]


def read_published(path: Path, *, images: Path | None = None) -> list[tuple[Sample[Choice], Reply]]:
    """Each answer of a results file as a sample and the raw reply, in file order.

    Options are read from the question where it lists them (those of scorers like CLIP do not). `images`: a folder
    of `<stim>.png`. DataError for what is no results file, names the entry.
    """
    out: list[tuple[Sample[Choice], Reply]] = []
    for keys, entry in _entries(_load(path), path):
        stim, entity, *kind = keys
        place = f"{path}: {' / '.join(keys)}"
        out.append((_sample(stim, entity, kind_of(kind), entry, place, images), Reply(_said(entry, place))))
    if not out:
        raise DataError(f"a results file holds at least one answer: {path}")
    return out


def counts_only(samples: Sequence[Sample[Choice]]) -> bool:
    """Whether every target is a whole number: then answers are read by `first-number`, else by `options`."""
    return all(sample.truth.target.isdecimal() for sample in samples)


def _load(path: Path) -> Any:
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return json.loads(text)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"file cannot be read: {getattr(error, 'strerror', None) or error}: {path}") from error
    except ValueError as error:
        raise DataError(f"a results file is JSON, plain or gzip ({error}): {path}") from error


def _entries(value: Any, path: Path, keys: tuple[str, ...] = ()) -> _Entries:
    if not isinstance(value, Mapping):
        place = f"{path}: {' / '.join(keys) or 'the top'}"
        raise DataError(f"expected stim -> entity -> kind -> answer, got {type(value).__name__}: {place}")
    if "target" in value:
        if len(keys) < 3:
            raise DataError(f"an answer stands under stim, entity and kind, got {' / '.join(keys)!r}: {path}")
        yield keys, value
        return
    for key, inner in value.items():
        yield from _entries(inner, path, (*keys, str(key)))


def _sample(
    stim: str, entity: str, kind: str, entry: Mapping[str, Any], place: str, images: Path | None
) -> Sample[Choice]:
    text, options = str(entry.get("input", "")), tuple[str, ...]()
    if "Choose from [" in text:
        text, options = split_options(text, place)
    pictures = (Picture.from_file(images / f"{stim}.png", name=f"{stim}.png"),) if images else ()
    choice = Choice(_text(entry["target"], place), options, kind)
    asked: dict[str, Attribute] = {"text": text} if options else {}
    attributes: dict[str, Attribute] = {"entity": entity, **_factors(entity), **asked}
    return Sample(f"{stim}/{entity}/{kind}", choice, pictures, attributes, stim)


def _factors(entity: str) -> dict[str, Attribute]:
    """`red_triangles` as colour and shape; nothing for other names."""
    colour, _, shape = entity.partition("_")
    shape = shape.removesuffix("s")
    return {"colour": colour, "shape": shape} if colour in PAINTS and shape in SHAPES else {}


def _said(entry: Mapping[str, Any], place: str) -> str:
    for name in ("original_pred", "pred"):
        if entry.get(name) is not None:
            return _text(entry[name], place)
    raise DataError(f"an answer needs original_pred or pred: {place}")


def _text(value: object, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DataError(f"an answer is a text or a whole number, got {value!r}: {place}")
    return str(value)
