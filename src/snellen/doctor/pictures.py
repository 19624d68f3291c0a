"""What the pictures themselves say: unreadable ones, sizes that contradict the annotations, orientation, odd kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import DataError
from snellen.core.pictures import Header, Size, read_header
from snellen.datasets.findings import Finding, Severity, counted, several
from snellen.datasets.raw import Raw

KINDS = {
    "L": "are grey", "LA": "are grey with transparency", "1": "have 1 bit per pixel", "P": "have a palette",
    "I;16": "have 16 bits per pixel", "I;16B": "have 16 bits per pixel", "I": "have 32 bits per pixel",
    "F": "hold floating-point numbers", "CMYK": "are CMYK", "YCCK": "are CMYK", "RGBA": "have transparency",
    "PA": "have transparency", "LAB": "are LAB",
}  # fmt: skip
"""Pillow's mode -> what to say about it. All are shown as 8-bit RGB; other tools may not."""


@dataclass(frozen=True)
class Seen:
    """The headers of pictures by path, and why each unreadable one is so."""

    headers: Mapping[Path, Header]
    unreadable: Mapping[Path, str]

    def of(self, raw: Raw) -> list[Header | None]:
        """The header of each image's picture, None where there is none to read."""
        return [self.headers.get(path) if path else None for path in raw.paths or [None] * len(raw.files)]


def see(raw: Raw) -> Seen:
    """Reads the header of every picture that is there."""
    headers: dict[Path, Header] = {}
    unreadable: dict[Path, str] = {}
    for name, path in zip(raw.files, raw.paths or [None] * len(raw.files), strict=True):
        if path is None:
            continue
        try:
            headers[path] = read_header(path, name=name)
        except DataError as error:
            unreadable[path] = str(error)
    return Seen(headers, unreadable)


def lying(raw: Raw, seen: Seen) -> list[int]:
    """Images whose written size is that of the stored bitmap, where a person sees it turned by a quarter."""
    return [
        i
        for i, header in enumerate(seen.of(raw))
        if header and header.orientation >= 5 and _written(raw, i) == header.stored != header.upright
    ]


def resized(raw: Raw, seen: Seen) -> list[int]:
    """Images whose written size is neither that shown nor that stored."""
    return [
        i
        for i, header in enumerate(seen.of(raw))
        if header and (size := _written(raw, i)) and size not in {header.upright, header.stored}
    ]


def _written(raw: Raw, image: int) -> Size | None:
    if not len(raw.sizes) or (raw.sizes[image] <= 0).any():
        return None
    return Size(*raw.sizes[image].tolist())


def look_at(raw: Raw, seen: Seen) -> list[Finding]:
    """The findings."""
    headers = seen.of(raw)

    def both(i: int) -> str:
        header = headers[i]
        return f"{raw.files[i]} (written {_by(raw.sizes[i].tolist())}, shown {_by(header.upright) if header else '?'})"

    # a mirrored, upside-down or square picture keeps its size, which then cannot tell which frame the boxes are in
    unclear = [
        raw.files[i]
        for i, header in enumerate(headers)
        if header and header.orientation > 1 and header.stored == header.upright
    ]
    animated = [raw.files[i] for i, header in enumerate(headers) if header and header.animated]
    rows: list[tuple[str, Severity, Sequence[object], str]] = [
        ("unreadable-picture", "error", list(seen.unreadable.values()), "pictures cannot be read"),
        (
            "orientation",
            "error",
            [both(i) for i in lying(raw, seen)],
            "images are annotated as the file stores them, but shown turned (EXIF)",
        ),
        ("size-differs", "error", [both(i) for i in resized(raw, seen)], "images have another size than their picture"),
        ("orientation-unclear", "warning", unclear, "pictures are shown turned (EXIF): are their boxes too?"),
        ("animated", "note", animated, "pictures have several frames: the first one is shown"),
    ]
    where = str(raw.source)
    return several(rows, where) + _kinds(seen, where)


def _kinds(seen: Seen, where: str) -> list[Finding]:
    modes = Counter(header.mode for header in seen.headers.values())
    return [
        Finding(
            "kind-of-picture", "note", f"{counted(n, f'pictures {KINDS[mode]}')}: shown as 8-bit RGB", n, where, (mode,)
        )
        for mode, n in modes.items()
        if mode in KINDS
    ]


def _by(size: Sequence[int]) -> str:
    return f"{size[0]} x {size[1]}"
