"""Splits by site: all pictures of a site in one part, the parts as close to the wanted shares as can be.

WADE, section 3.3 and appendix B.4: 75/10/15 by water body. Pictures that look alike are kept together too, so that
none can stand in two parts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.detections import Float, Int
from snellen.core.errors import DataError, SpecError
from snellen.core.tables import Table
from snellen.datasets.dataset import Dataset
from snellen.datasets.findings import counted, listed
from snellen.datasets.lookalikes import Pair, look, pairs
from snellen.datasets.text import delimiter, read_text

RATIOS: Mapping[str, float] = {"train": 0.75, "valid": 0.10, "test": 0.15}
"""WADE's."""

TRIES = 64
"""Random assignments of which the closest is taken."""


@dataclass(frozen=True, eq=False)
class Split:
    """dataset: with the attribute `split`. wanted: shares. images, boxes, groups: achieved counts by part. classes:
    boxes by part and class. joined: lookalikes that tied two groups together. by: the attribute that was kept whole.
    """

    dataset: Dataset
    by: str | None
    wanted: Mapping[str, float]
    images: Mapping[str, int]
    boxes: Mapping[str, int]
    groups: Mapping[str, int]
    classes: Mapping[str, Mapping[str, int]]
    joined: tuple[tuple[str, str], ...]
    unchecked: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        total = max(1, sum(self.images.values()))
        parts = {
            name: {
                "wanted": share,
                "achieved": self.images[name] / total,
                "images": self.images[name],
                "boxes": self.boxes[name],
                "groups": self.groups[name],
                "classes": dict(self.classes[name]),
            }
            for name, share in self.wanted.items()
        }
        return {
            "by": self.by, "seed": self.seed, "parts": parts, "lookalikes_joined": [list(pair) for pair in self.joined],
            "pictures_not_looked_at": self.unchecked,
        }  # fmt: skip


def split_data(
    dataset: Dataset,
    *,
    by: str | None = None,
    ratios: Mapping[str, float] = RATIOS,
    seed: int = 0,
    lookalikes: bool = True,
) -> Split:
    """Assigns every picture to a part.

    by: the attribute whose values stay whole, or `folder`, that of the picture; default `site` where there is one,
    else each picture stands alone.
    ratios: part -> share; they are scaled to 1. lookalikes: keep nearly equal pictures together. SpecError for an
    unknown attribute or shares that are not positive; DataError where there are fewer groups than parts.
    """
    wanted = _shares(ratios)
    if by == "folder" and by not in dataset.attributes:
        folders = [image.rpartition("/")[0] or image for image in dataset.truth.images]
        dataset = with_column(dataset, "folder", np.array(folders))
    if by is not None and by not in dataset.attributes:
        raise SpecError(f"no attribute {by!r}; there are: {', '.join(dataset.attributes.names) or 'none'}")
    by = by or ("site" if "site" in dataset.attributes else None)
    groups = _numbered(dataset.attributes[by].tolist()) if by else np.arange(len(dataset))
    joined: list[Pair] = []
    unchecked = 0
    if lookalikes:
        looks = look(dataset.pictures)
        unchecked = len(looks.problems)
        joined = [pair for pair in pairs(looks) if groups[pair.first] != groups[pair.second]]
        groups = _united(groups, joined)
    if len(np.unique(groups)) < len(wanted):
        raise DataError(f"{len(np.unique(groups))} groups cannot fill {len(wanted)} parts: {dataset.source}")
    part = assign(groups, list(wanted.values()), rng=np.random.default_rng(seed))
    names = np.array(list(wanted))
    images = dataset.truth.images
    return Split(
        dataset=with_column(dataset, "split", names[part]),
        by=by,
        wanted=wanted,
        images={name: int((part == i).sum()) for i, name in enumerate(wanted)},
        boxes={name: int((part[dataset.truth.image] == i).sum()) for i, name in enumerate(wanted)},
        groups={name: len(np.unique(groups[part == i])) for i, name in enumerate(wanted)},
        classes={name: _classes(dataset, part == i) for i, name in enumerate(wanted)},
        joined=tuple((images[pair.first], images[pair.second]) for pair in joined),
        unchecked=unchecked,
        seed=seed,
    )


def assign(groups: Sequence[int] | Int, shares: Sequence[float], *, rng: np.random.Generator) -> Int:
    """The part (index) of each item: groups stay whole, counts come closest to `shares` of all.

    Of `TRIES` random fillings, each improved by moves and swaps of groups, the one with the smallest largest gap.
    """
    _, inverse = np.unique(np.asarray(groups), return_inverse=True)
    sizes = np.bincount(inverse)
    target = np.asarray(shares, dtype=np.float64) / np.sum(shares) * len(inverse)
    best, least = np.zeros(len(sizes), dtype=np.int64), np.inf
    for _ in range(TRIES):
        order = rng.permutation(len(sizes))
        part = _improved(_filled(sizes, target, order), sizes, target, rng)
        gap = _gap(part, sizes, target)
        if gap < least:
            best, least = part, gap
        if least < 0.5 + 1e-9:
            break  # whole pictures cannot come closer
    return best[inverse]


def _filled(sizes: Int, target: Float, order: Int) -> Int:
    """Groups in random order, each into the part that lacks most of its share."""
    part = np.zeros(len(sizes), dtype=np.int64)
    filled = np.zeros(len(target))
    for i, group in enumerate(order.tolist()):
        chosen = i if i < len(target) else int(np.argmax((target - filled) / np.maximum(target, 1e-9)))
        part[group] = chosen
        filled[chosen] += sizes[group]
    return part


def _improved(part: Int, sizes: Int, target: Float, rng: np.random.Generator) -> Int:
    """Moves single groups out of the fullest part, and swaps pairs, while that brings the parts closer."""
    part = part.copy()
    for _ in range(200):
        over = np.bincount(part, weights=sizes, minlength=len(target)) - target
        high, low = int(np.argmax(over)), int(np.argmin(over))
        wanted = (over[high] - over[low]) / 2
        here, there = np.flatnonzero(part == high), np.flatnonzero(part == low)
        gains = np.concatenate([sizes[here], (sizes[here][:, None] - sizes[there][None, :]).ravel()[:200_000]])
        gains = np.where((gains > 0) & (gains < 2 * wanted), gains, np.inf)
        best = int(np.argmin(np.abs(gains - wanted)))
        if not np.isfinite(gains[best]) or (best < len(here) and len(here) == 1):
            return part
        if best < len(here):
            part[here[best]] = low
        else:
            a, b = divmod(best - len(here), len(there))
            part[here[a]], part[there[b]] = low, high
    return part


def _gap(part: Int, sizes: Int, target: Float) -> float:
    return float(np.abs(np.bincount(part, weights=sizes, minlength=len(target)) - target).max())


def with_groups(dataset: Dataset, path: Path, *, name: str = "site") -> Dataset:
    """The data set with an attribute `name` from a table of two columns with a head: image, group (comma, semicolon or
    tab between).

    DataError where a picture has no line or two that differ, a line no picture or no group.
    """
    text = read_text(path)
    sign = delimiter(text)
    pairs_: dict[str, str] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=sign), 1):
        cells = [cell.strip() for cell in row]
        if number == 1 or not any(cells):
            continue
        if len(cells) < 2 or not all(cells[:2]):
            raise DataError(f"line {number} must hold an image and its group, got {sign.join(row)!r}: {path}")
        if pairs_.setdefault(cells[0], cells[1]) != cells[1]:
            raise DataError(f"picture {cells[0]!r} is in two groups, {pairs_[cells[0]]!r} and {cells[1]!r}: {path}")
    missing = [image for image in dataset.truth.images if image not in pairs_]
    strange = sorted(set(pairs_) - set(dataset.truth.images))
    for images, what in ((missing, "pictures have no line"), (strange, "lines are of no picture")):
        if images:
            raise DataError(f"{counted(len(images), what)}: {listed(images)}: {path}")
    return with_column(dataset, name, np.array([pairs_[image] for image in dataset.truth.images]))


def _shares(ratios: Mapping[str, float]) -> dict[str, float]:
    if len(ratios) < 2 or not all(np.isfinite(share) and share > 0 for share in ratios.values()):
        raise SpecError(f"shares must be two or more positive numbers, got {dict(ratios)}")
    total = sum(ratios.values())
    return {name: share / total for name, share in ratios.items()}


def _numbered(values: Sequence[Any]) -> Int:
    """Equal values, equal numbers; an empty value (a site that is not known) stands alone."""
    seen: dict[Any, int] = {}
    return np.array(
        [seen.setdefault(v if v != "" else ("", i), len(seen)) for i, v in enumerate(values)], dtype=np.int64
    )


def _united(groups: Int, joined: Sequence[Pair]) -> Int:
    """Groups that share a pair become one."""
    parent = list(range(int(groups.max(initial=-1)) + 1))

    def root(group: int) -> int:
        while parent[group] != group:
            parent[group] = parent[parent[group]]
            group = parent[group]
        return group

    for pair in joined:
        parent[root(int(groups[pair.second]))] = root(int(groups[pair.first]))
    return np.array([root(group) for group in groups.tolist()], dtype=np.int64)


def _classes(dataset: Dataset, images: Any) -> dict[str, int]:
    labels = dataset.truth.label[images[dataset.truth.image]]
    return dict(zip(dataset.classes, np.bincount(labels, minlength=len(dataset.classes)).tolist(), strict=True))


def with_column(dataset: Dataset, name: str, values: Any) -> Dataset:
    """The data set with an attribute more (or another one)."""
    return replace(dataset, attributes=Table({**dataset.attributes.columns, name: np.asarray(values)}))
