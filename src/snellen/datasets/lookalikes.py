"""Finds pictures that are the same or nearly the same: re-saved, resized, cropped by a hair, brightened.

Each picture becomes a 32 x 32 grey glimpse and a hash of 256 bits (is a cell clearly brighter than its right
neighbour?). Pictures that share one of 16 bands of the hash are compared by the correlation of their glimpses. Flat
pictures (fog, black frames) look alike without being so: they count only where the bytes are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import DataError
from snellen.core.pictures import Picture, glimpse

SIDE = 32
CLEARLY = 3.0
"""Grey levels by which a cell must be brighter to set its bit: below, noise decides."""
ALIKE = 0.985
"""Correlation of two glimpses from which they are taken for one picture."""
FLAT = 4.0
"""Standard deviation of a glimpse (grey levels) below which it has too little in it to be told apart."""
CROWD = 400
"""Pictures in one band beyond which the band says nothing (frames of one camera) and only other bands count."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What each of n pictures looks like. glimpses: uint8 (n, 32, 32); digests: SHA-256 of the files, "" where a
    picture could not be read; `problems` says why, by picture.
    """

    glimpses: NDArray[np.uint8]
    digests: tuple[str, ...]
    problems: dict[int, str]


def look(pictures: Sequence[Picture]) -> Looks:
    """Reads every picture once, whole: damage shows."""
    glimpses = np.zeros((len(pictures), SIDE, SIDE), dtype=np.uint8)
    digests, problems = [], {}
    for i, picture in enumerate(pictures):
        try:
            data = picture.encoded()
            glimpses[i] = np.asarray(glimpse(data, name=picture.name, side=SIDE))
            digests.append(hashlib.sha256(data).hexdigest())
        except DataError as error:
            problems[i] = str(error)
            digests.append("")
    return Looks(glimpses, tuple(digests), problems)


@dataclass(frozen=True)
class Pair:
    """Two pictures by index, `first` < `second`, and whether their files are equal."""

    first: int
    second: int
    same: bool


def pairs(looks: Looks, groups: Sequence[int] | None = None) -> list[Pair]:
    """Pictures that look alike, in order; with `groups`, only pairs of pictures of different groups."""
    group = np.zeros(len(looks.digests), dtype=np.int64) if groups is None else np.asarray(groups)
    found: dict[tuple[int, int], bool] = {}
    for i, j in _equal(looks.digests):
        found[i, j] = True
    if len(looks.digests) < 2:
        return []
    flat, vectors = _vectors(looks)
    for members in _bands(looks.glimpses, skip=flat):
        if groups is not None and len(set(group[members].tolist())) < 2:
            continue
        likeness = vectors[members] @ vectors[members].T
        for a, b in zip(*np.nonzero(np.triu(likeness >= ALIKE, 1)), strict=True):
            found.setdefault((int(members[a]), int(members[b])), False)
    kept = ((i, j, same) for (i, j), same in sorted(found.items()) if groups is None or group[i] != group[j])
    return [Pair(i, j, same) for i, j, same in kept]


def _equal(digests: Sequence[str]) -> Iterator[tuple[int, int]]:
    by_digest: dict[str, list[int]] = {}
    for i, digest in enumerate(digests):
        if digest:
            by_digest.setdefault(digest, []).append(i)
    for members in by_digest.values():
        yield from combinations(members, 2)


def _vectors(looks: Looks) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which glimpses are flat, and all as vectors of length 1 about their mean."""
    rows = looks.glimpses.reshape(len(looks.glimpses), -1).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    spread = rows.std(axis=1)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return spread < FLAT, rows


def _bands(glimpses: NDArray[np.uint8], *, skip: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Groups of pictures whose hashes agree in a band."""
    cells = glimpses.reshape(len(glimpses), 16, 2, 16, 2).mean(axis=(2, 4))
    brighter = cells - np.roll(cells, -1, axis=2) > CLEARLY
    words = np.packbits(brighter.reshape(len(glimpses), -1), axis=1).view(np.uint16)
    usable = np.flatnonzero(~skip)
    if len(usable) < 2:
        return
    for band in words[usable].T:
        order = np.argsort(band, kind="stable")
        starts = np.flatnonzero(np.diff(band[order], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            if 1 < end - start <= CROWD:
                yield np.sort(usable[order[start:end]])
