"""Pascal VOC: an XML file per picture. Corners are taken as written, whole or not.

The original VOC counts pixels from 1 and includes the last one: `one_based` subtracts 1 from the first corner. Tools of
today write 0-based boxes, so that is a choice, never a guess. `difficult` objects become crowd regions: neither right
nor wrong.
"""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import DataError
from snellen.core.pictures import measure_file
from snellen.datasets.findings import Finding, counted, several
from snellen.datasets.names import Finder, is_picture
from snellen.datasets.raw import Raw
from snellen.datasets.text import read_text

CORNERS = ("xmin", "ymin", "xmax", "ymax")

NOTES = ("pose", "truncated", "occluded", "difficult")
"""What objects say beside their box, kept as notes."""


@dataclass(frozen=True)
class VocFile:
    """What one file says. boxes: four numbers, or None where they cannot be read, which `problems` says."""

    stem: str
    filename: str
    size: tuple[int, int]
    labels: tuple[str, ...] = ()
    boxes: tuple[tuple[float, float, float, float] | None, ...] = ()
    notes: tuple[dict[str, Any], ...] = ()
    problems: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)


def read_file(path: Path, *, stem: str = "") -> VocFile:
    """One file; lists call it `stem`. DataError where it is no VOC XML at all."""
    root = read_xml(path)
    if root.tag != "annotation":
        raise DataError(f"a VOC file holds <annotation>, got <{root.tag}>: {path}")
    boxes, labels, notes, problems = [], [], [], []
    for i, thing in enumerate(root.findall("object"), 1):
        name = (thing.findtext("name") or "").strip()
        box, why = _box(thing.find("bndbox"))
        if not name:
            why = "it has no name"
        if why:
            problems.append(f"object {i} ({name or 'unnamed'}): {why}")
        labels.append(name)
        boxes.append(box if name else None)
        notes.append({key: text for key in NOTES if (text := (thing.findtext(key) or "").strip())})
    size = root.find("size")
    sides = (_whole(size, "width"), _whole(size, "height"))
    filename = (root.findtext("filename") or "").strip()
    return VocFile(stem or path.stem, filename, sides, tuple(labels), tuple(boxes), tuple(notes), tuple(problems))


def read_xml(path: Path) -> ET.Element:
    """The root of an XML file in UTF-8, UTF-16 or the encoding that it declares. DataError where it is no XML."""
    try:
        text = read_text(path)
    except DataError:
        declared = _ENCODING.match(path.read_bytes()[:200]) if path.is_file() else None
        if declared is None:
            raise
        try:
            text = path.read_bytes().decode(declared[1].decode())
        except (UnicodeDecodeError, LookupError) as error:
            raise DataError(f"this is no text in the encoding that it declares ({error}): {path}") from error
    try:
        return ET.fromstring(text.lstrip("\ufeff \r\n\t"))  # noqa: S314 - expat expands no external entity
    except (ET.ParseError, ValueError) as error:
        raise DataError(f"this is no XML ({error}): {path}") from error


_ENCODING = re.compile(rb"""\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']""")


def _box(node: ET.Element | None) -> tuple[tuple[float, float, float, float] | None, str]:
    if node is None:
        return None, "it has no bndbox"
    texts = [(key, (node.findtext(key) or "").strip()) for key in CORNERS]
    missing = [key for key, text in texts if not text]
    if missing:
        return None, f"its bndbox has no {', '.join(missing)}"
    try:
        x1, y1, x2, y2 = (float(text) for _, text in texts)
    except ValueError:
        return None, f"its bndbox is not four numbers: {', '.join(text for _, text in texts)}"
    return (x1, y1, x2, y2), ""


def _whole(node: ET.Element | None, key: str) -> int:
    try:
        return int(float((node.findtext(key) if node is not None else None) or 0))
    except (ValueError, OverflowError):
        return 0


@dataclass(frozen=True)
class Annotated:
    """A picture of a part: the stem that lists use, and its XML file, None where there is none."""

    stem: str
    xml: Path | None


def read(
    source: Path, pictures: Sequence[Annotated], classes: Sequence[str], finder: Finder, *, one_based: bool = False
) -> Raw:
    """The annotations of `pictures`."""
    digest = hashlib.sha256()
    findings: list[Finding] = []
    files = []
    for item in pictures:
        found = VocFile(item.stem, "", (0, 0))
        if item.xml is not None:
            digest.update(item.xml.name.encode() + b"\n" + item.xml.read_bytes())
            try:
                found = read_file(item.xml, stem=item.stem)
            except DataError as error:
                findings.append(Finding("malformed-file", "error", str(error), 1, str(item.xml)))
        files.append(found)
    placed = [_picture(file, finder, findings) for file in files]
    findings += _findings(files, pictures, str(source))
    return _raw(source, files, placed, tuple(classes), digest.hexdigest(), findings, one_based)


def _raw(
    source: Path,
    files: Sequence[VocFile],
    placed: Sequence[tuple[str, Path | None]],
    classes: tuple[str, ...],
    sha256: str,
    findings: list[Finding],
    one_based: bool,
) -> Raw:
    places = {name: i for i, name in enumerate(classes)}
    labels = [label for file in files for label in file.labels]
    label = np.array([places.get(name, -1) for name in labels], dtype=np.int64)
    rows = [box for file in files for box in file.boxes]
    boxes = np.array([box or (np.nan,) * 4 for box in rows], dtype=np.float64).reshape(-1, 4)
    if one_based:
        boxes[:, :2] -= 1
    notes = tuple(note for file in files for note in file.notes)
    return Raw(
        "voc",
        source,
        sha256,
        (),
        [name for name, _ in placed],
        classes,
        np.repeat(np.arange(len(files)), [len(file.labels) for file in files]),
        label,
        boxes,
        paths=[path for _, path in placed],
        sizes=np.array([_size(file, path) for file, (_, path) in zip(files, placed, strict=True)]).reshape(-1, 2),
        crowd=np.array([_is_difficult(note) for note in notes], dtype=np.bool_),
        notes=notes,
        label_refs={row: labels[row] for row in np.flatnonzero(label < 0).tolist()},
        malformed={row: "see its file" for row, box in enumerate(rows) if box is None},
        findings=tuple(findings),
    )


def _is_difficult(note: Mapping[str, Any]) -> bool:
    """`1`, `true`, `yes`; some tools write 0 as `False` or `Unspecified`."""
    return str(note.get("difficult", "")).casefold() in {"1", "true", "yes"}


def _picture(file: VocFile, finder: Finder, findings: list[Finding]) -> tuple[str, Path | None]:
    """The picture a file is about: the one named in it, else the one with the file's own stem."""
    if file.filename:
        folder = file.stem.rpartition("/")[0]
        found = (finder.find(f"{folder}/{file.filename}") if folder else None) or finder.find(file.filename)
        if found is not None and is_picture(found.path.name):
            if found.case_differs:
                text = f"picture {file.filename!r} is called {_below(found.path, finder)!r} on disk"
                findings.append(Finding("case-differs", "warning", text, 1, file.stem, (file.filename,)))
            return _name(found.path, finder), found.path
    by_stem = next((found for name in _stems(finder).get(file.stem, ()) if (found := finder.find(name))), None)
    if by_stem is not None:
        if file.filename:
            text = f"<filename> {file.filename!r} is not there; {by_stem.path.name!r}, of the file's own name, is taken"
            findings.append(Finding("filename-differs", "warning", text, 1, f"{file.stem}.xml", (file.filename,)))
        return _name(by_stem.path, finder), by_stem.path
    name = file.filename.replace("\\", "/").rpartition("/")[2]
    return name or f"{file.stem}.jpg", None


def _below(path: Path, finder: Finder) -> str:
    return path.relative_to(finder.root).as_posix()


def _name(path: Path, finder: Finder) -> str:
    """A picture's path below the folder it was found in."""
    name = _below(path, finder)
    return name.removeprefix(next(folder for folder in (*finder.folders, "") if name.startswith(folder)))


_STEMS: dict[int, dict[str, list[str]]] = {}


def _stems(finder: Finder) -> dict[str, list[str]]:
    known = _STEMS.get(id(finder))
    if known is None:
        known = {}
        for name in finder.pictures:
            for folder in (*finder.folders, ""):
                if name.startswith(folder):
                    known.setdefault(Path(name.removeprefix(folder)).with_suffix("").as_posix(), []).append(name)
        _STEMS.clear()
        _STEMS[id(finder)] = known
    return known


def _size(file: VocFile, path: Path | None) -> tuple[int, int]:
    """As written; where it is not, that of the picture."""
    if min(file.size) > 0 or path is None:
        return file.size
    try:
        return measure_file(path)
    except DataError:
        return file.size


def _findings(files: Sequence[VocFile], pictures: Sequence[Annotated], where: str) -> list[Finding]:
    problems = [f"{file.stem}.xml: {problem}" for file in files for problem in file.problems]
    without = [item.stem for item in pictures if item.xml is None]
    hard = sum(_is_difficult(note) for file in files for note in file.notes)
    found = several(
        (
            ("malformed-line", "error", problems, "objects cannot be read"),
            ("no-label-file", "note", without, "pictures have no annotation file: taken as pictures without objects"),
        ),
        where,
    )
    if hard:
        text = counted(hard, "objects are marked difficult: they count neither as found nor as missed")
        found.append(Finding("difficult-as-crowd", "note", text, hard, where))
    return found
