"""The same picture twice: within a part, and in two parts, where it makes a test easy that should be hard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snellen.core.pictures import Picture
from snellen.datasets.findings import Finding, several
from snellen.datasets.lookalikes import Looks, Pair, look, pairs
from snellen.datasets.raw import Raw


@dataclass(frozen=True, eq=False)
class Watched:
    """What the pictures of a part look like: `looks`, and the image and file of each."""

    name: str
    raw: Raw
    looks: Looks
    images: tuple[int, ...]
    paths: tuple[Path, ...]

    @property
    def broken(self) -> dict[Path, str]:
        """Pictures that cannot be read whole, and why."""
        return {self.paths[i]: why for i, why in self.looks.problems.items()}

    def called(self, i: int) -> str:
        """How messages call the picture."""
        name = self.raw.files[self.images[i]]
        return f"{self.name}/{name}" if self.name else name


def watch(name: str, raw: Raw) -> Watched:
    """Reads every picture of a part that is there, whole, once."""
    there = [(i, path) for i, path in enumerate(raw.paths or ()) if path is not None]
    pictures = [Picture.from_file(path, name=raw.files[i]) for i, path in there]
    return Watched(name, raw, look(pictures), tuple(i for i, _ in there), tuple(path for _, path in there))


def within(part: Watched) -> list[Finding]:
    """Pictures that one part holds twice."""
    found = pairs(part.looks)
    return _told(found, [part.called(i) for i in range(len(part.images))], str(part.raw.source), WITHIN)


def between(parts: Sequence[Watched]) -> list[Finding]:
    """Pictures that two parts share, and pictures that Roboflow made from one and put in two parts."""
    if len(parts) < 2:
        return []
    sizes = [len(part.images) for part in parts]
    start = np.cumsum([0, *sizes])
    problems = {s + i: why for s, part in zip(start, parts, strict=False) for i, why in part.looks.problems.items()}
    looks = Looks(
        np.concatenate([part.looks.glimpses for part in parts]),
        tuple(digest for part in parts for digest in part.looks.digests),
        {int(i): why for i, why in problems.items()},
    )
    names = [part.called(i) for part in parts for i in range(len(part.images))]
    found = pairs(looks, np.repeat(np.arange(len(parts)), sizes).tolist())
    where = ", ".join(str(part.raw.source) for part in parts)
    return _told(found, names, where, BETWEEN)


WITHIN = (
    ("same-picture", "warning", "pairs are the same picture file"),
    ("similar-picture", "note", "pairs are nearly the same picture"),
)
BETWEEN = (
    ("same-picture-in-two-parts", "error", "pairs across two parts are the same picture file: the test is no test"),
    (
        "similar-picture-in-two-parts",
        "error",
        "pairs across two parts are nearly the same picture: the test is no test",
    ),
)


def _told(found: Sequence[Pair], names: Sequence[str], where: str, kinds: tuple[tuple[str, ...], ...]) -> list[Finding]:
    rows = []
    for same, (code, severity, what) in zip((True, False), kinds, strict=True):
        told = [f"{names[pair.first]} = {names[pair.second]}" for pair in found if pair.same == same]
        rows.append((code, severity, told, what))
    return several(rows, where)  # type: ignore[arg-type]


_ROBOFLOW = re.compile(r"^(.*)_[a-z]+\.rf\.[0-9a-zA-Z]{8,}\.\w+$")


def sources_shared(parts: Sequence[tuple[str, Raw]]) -> list[Finding]:
    """Pictures whose Roboflow names say that they were made from one, in two parts: needs no picture."""
    first: dict[str, tuple[str, str]] = {}
    shared = []
    for part, raw in parts:
        for file in raw.files:
            found = _ROBOFLOW.match(file.rpartition("/")[2])
            if found is None:
                continue
            other, name = first.setdefault(found.group(1), (part, file))
            if other != part:
                shared.append(f"{other}/{name} = {part}/{file}")
    where = ", ".join(str(raw.source) for _, raw in parts)
    rows = [
        ("same-source-in-two-parts", "warning", shared, "pictures have the name of one in another part, before .rf.")
    ]
    return several(rows, where)  # type: ignore[arg-type]
