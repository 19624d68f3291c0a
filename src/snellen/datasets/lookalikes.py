"""Finds pictures that are the same or nearly the same: re-saved, resized, cropped by a hair, brightened.

Each picture becomes a 32 x 32 grey glimpse and a hash of 512 bits (is a cell clearly brighter than its right, its lower
neighbour?). Pictures that share one of 32 bands of the hash and differ in few bits are compared by the correlation of
their glimpses. Flat pictures (fog, black frames) look alike without being so: only equal files count among them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Int
from snellen.core.errors import DataError
from snellen.core.pictures import Picture, glimpse

SIDE = 32

CLEARLY = 3.0
"""Grey levels by which a cell must be brighter to set its bit: below, noise decides."""

NEAR = 96
"""Bits of 512 in which two hashes may differ for their glimpses to be compared."""

ALIKE = 0.985
"""Correlation of two glimpses from which they are taken for one picture."""

FLAT = 4.0
"""Standard deviation of a glimpse (grey levels) below which it has too little in it to be told apart."""

CROWD = 400
"""Pictures alike beyond which not every pair is told, but each with the first."""


Hashes = NDArray[np.uint16]


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
    """Pictures that look alike, in order; with `groups`, only pairs of pictures of different groups.

    Of a crowd (frames of one camera) each picture is paired with the first that it looks like, not with all.
    """
    n = len(looks.digests)
    if n < 2:
        return []
    group = None if groups is None else np.asarray(groups)
    found: dict[tuple[int, int], bool] = {}
    for equal in _equal(looks.digests):
        found |= dict.fromkeys(_spread(equal, group), True)
    hashes, flat = _hashes(looks.glimpses)
    usable = np.flatnonzero(~flat)
    near: Int = np.zeros(0, dtype=np.int64)
    for band in hashes[usable].T:
        crowds, few = _agreeing(usable, band)
        for members in crowds:
            for pair in _crowd(looks.glimpses, hashes, members, group):
                found.setdefault(pair, False)
        near = np.union1d(near, np.fromiter(_near(hashes, *few, group), dtype=np.int64))
    for first, second in _correlating(looks.glimpses, near // n, near % n):
        found.setdefault((first, second), False)
    kept = ((i, j, same) for (i, j), same in sorted(found.items()) if group is None or group[i] != group[j])
    return [Pair(i, j, same) for i, j, same in kept]


def _agreeing(usable: Int, band: NDArray[np.uint16]) -> tuple[list[Int], tuple[Int, NDArray[np.uint16]]]:
    """Pictures whose hashes agree in a band: crowds, and the others sorted by the band's value.

    A band without a set bit says nothing.
    """
    said = np.flatnonzero(band)
    order = said[np.argsort(band[said], kind="stable")]
    value = band[order]
    _, starts, counts = np.unique(value, return_index=True, return_counts=True)
    crowds = [np.sort(usable[order[s : s + c]]) for s, c in zip(starts, counts, strict=True) if c > CROWD]
    few = np.repeat((counts > 1) & (counts <= CROWD), counts)
    return crowds, (usable[order[few]], value[few])


def _near(hashes: Hashes, pictures: Int, value: NDArray[np.uint16], group: Int | None) -> Iterator[int]:
    """Pairs of equal value whose hashes are near, as `first * n + second`: neighbours, then the next but one, ..."""
    words = hashes.view(np.uint64)
    places = np.arange(len(pictures))
    step = 1
    while len(places := places[places < len(pictures) - step]):
        places = places[value[places] == value[places + step]]
        one, other = pictures[places], pictures[places + step]
        apart = places if group is None else np.flatnonzero(group[one] != group[other])
        if group is not None:
            one, other = one[apart], other[apart]
        close = np.bitwise_count(words[one] ^ words[other]).sum(axis=1, dtype=np.int64) <= NEAR
        low, high = np.minimum(one[close], other[close]), np.maximum(one[close], other[close])
        yield from (low * len(hashes) + high).tolist()
        step += 1


def _correlating(glimpses: NDArray[np.uint8], one: Int, other: Int) -> Iterator[tuple[int, int]]:
    """The pairs whose glimpses correlate."""
    for start in range(0, len(one), 4096):
        a, b = one[start : start + 4096], other[start : start + 4096]
        alike = (_vectors(glimpses[a]) * _vectors(glimpses[b])).sum(axis=1) >= ALIKE
        yield from zip(a[alike].tolist(), b[alike].tolist(), strict=True)


def _crowd(glimpses: NDArray[np.uint8], hashes: Hashes, left: Int, group: Int | None) -> Iterator[tuple[int, int]]:
    """Pairs among many: the first one left with all that look like it, until none is left."""
    words = hashes.view(np.uint64)
    while len(left) > 1:
        near = np.bitwise_count(words[left] ^ words[left[0]]).sum(axis=1, dtype=np.int64) <= NEAR
        near[near] = _vectors(glimpses[left[near]]) @ _vectors(glimpses[left[:1]])[0] >= ALIKE
        near[0] = True
        yield from _spread(left[near].tolist(), group)
        left = left[~near]


def _spread(members: Sequence[int], group: Int | None) -> Iterator[tuple[int, int]]:
    """All pairs of a few members; of a crowd each with the first (of another group)."""
    if len(members) <= CROWD:
        yield from combinations(members, 2)
        return
    first = members[0]
    other = next((m for m in members if group is not None and group[m] != group[first]), first)
    for member in members[1:]:
        partner = first if group is None or group[member] != group[first] else other
        yield min(partner, member), max(partner, member)


def _equal(digests: Sequence[str]) -> Iterator[list[int]]:
    """Pictures whose files are equal."""
    by_digest: dict[str, list[int]] = {}
    for i, digest in enumerate(digests):
        if digest:
            by_digest.setdefault(digest, []).append(i)
    yield from (members for members in by_digest.values() if len(members) > 1)


def _vectors(glimpses: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Glimpses as vectors of length 1 about their mean: (n, 1024)."""
    rows = glimpses.reshape(len(glimpses), -1).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return rows


def _hashes(glimpses: NDArray[np.uint8]) -> tuple[Hashes, NDArray[np.bool_]]:
    """The hash of each glimpse, and which glimpses are flat; a few thousand at a time."""
    words, flat = [], []
    for start in range(0, len(glimpses), 4096):
        piece = glimpses[start : start + 4096]
        cells = piece.reshape(len(piece), 16, 2, 16, 2).mean(axis=(2, 4), dtype=np.float32)
        bits = [cells - np.roll(cells, -1, axis=axis) > CLEARLY for axis in (2, 1)]
        words.append(np.packbits(np.stack(bits, axis=1).reshape(len(piece), -1), axis=1).view(np.uint16))
        flat.append(piece.reshape(len(piece), -1).std(axis=1) < FLAT)
    return np.concatenate(words), np.concatenate(flat)
