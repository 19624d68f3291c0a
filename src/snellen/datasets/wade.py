"""WADE records: a line of JSON per image, boxes `[ymin, xmin, ymax, xmax]` in 0..1000. PROTOCOLS section 3.

    {"image": "a.jpg", "width": 1280, "height": 960, "attributes": {"site": "...", "lighting": "low"},
     "instances": [{"id": "1", "label": "foam waste", "box": [100, 200, 300, 400], "chain": {...}}]}

Other plain values of the record (lighting, water_body ...) are attributes too. The chain and ids are notes.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from snellen.core.boxes import BoxNotation
from snellen.core.errors import DataError
from snellen.core.pictures import Size, measure_file
from snellen.datasets.classfile import read_class_file
from snellen.datasets.findings import Finding, several
from snellen.datasets.names import Finder
from snellen.datasets.part import Part, class_file_of, rank
from snellen.datasets.raw import Raw, whole
from snellen.datasets.text import read_text

NOTATION = BoxNotation("yxyx", 1000)

CHAIN = (
    "primary_cue", "observation", "contrastive_rules", "static_frame_disambiguation", "decision_rule", "fallback_rule",
    "failure_mode", "instance_note", "conclusion",
)  # fmt: skip
"""The nine fields of a chain; `instance_note` may be absent."""

LOOKED_AT = 20
"""Lines in which a record shows that a file holds records."""

_OWN = frozenset({"image", "image_id", "file_name", "width", "height", "instances", "attributes"})


def sees(path: Path) -> bool:
    """Whether `path` is such a file or a folder of them."""
    return bool(_files(path))


def parts(path: Path, images: Path | None) -> list[Part]:
    """The parts: a file each."""
    files = _files(path)
    title = path.stem if path.is_file() else path.name
    return [
        Part(
            name,
            images or file.parent,
            partial(_read, file, images),
            f"{title}/{name}" if name else title,
            class_file_of(file.parent),
        )
        for name, file in files.items()
    ]


def _files(path: Path) -> dict[str, Path]:
    files = [path] if path.is_file() else [file for file in sorted(path.glob("*.jsonl")) if _has_record(file)]
    files = [file for file in files if file.suffix == ".jsonl"]
    if len(files) == 1:
        return {"": files[0]}
    return {file.stem: file for file in sorted(files, key=lambda file: rank(file.stem))}


def _has_record(path: Path) -> bool:
    """Whether one of a file's first lines is a record."""
    try:
        with path.open("rb") as file:
            lines = [line for line in islice(file, LOOKED_AT) if line.strip()]
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error
    return any(_record(line.removeprefix(codecs.BOM_UTF8))[0] is not None for line in lines)


def _read(path: Path, images: Path | None, *, extras: bool = False) -> Raw:
    finder = Finder(images) if images else Finder(path.parent, ("", "images/", f"{path.stem}/"))
    return read(path, finder=finder)


def read(path: Path, *, finder: Finder) -> Raw:
    """The records at `path`."""
    text = read_text(path)
    records: list[Mapping[str, Any]] = []
    broken = []
    for number, line in enumerate(text.split("\n"), 1):  # a value may hold Unicode's other line ends
        if line.strip():
            record, why = _record(line)
            if record is None:
                broken.append(f"line {number}: {why}")
            else:
                records.append(record)
    findings = several([("malformed-line", "error", broken, "records cannot be read")], str(path))
    return _raw(path, hashlib.sha256(path.read_bytes()).hexdigest(), records, finder, findings)


def _record(line: str | bytes) -> tuple[Mapping[str, Any] | None, str]:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return None, f"this is no JSON ({error})"
    if not isinstance(record, dict):
        return None, "a record must be an object"
    if not isinstance(record.get("instances"), list) or not all(isinstance(i, dict) for i in record["instances"]):
        return None, "a record needs instances, a list of objects"
    if not isinstance(_name(record), str):
        return None, "a record needs image, a file name"
    return record, ""


def _name(record: Mapping[str, Any]) -> Any:
    return record.get("image") or record.get("file_name") or record.get("image_id")


def _raw(path: Path, sha256: str, records: list[Mapping[str, Any]], finder: Finder, findings: list[Finding]) -> Raw:
    names = [str(_name(record)) for record in records]
    found = [finder.find(name) for name in names]
    paths = [item.path if item else None for item in found]
    sizes = [_size(record, place) for record, place in zip(records, paths, strict=True)]
    items = [(i, item) for i, record in enumerate(records) for item in record["instances"]]
    labels = [item["label"] if isinstance(item.get("label"), str) else "" for _, item in items]
    classes = _classes(path, labels)
    places = {name: i for i, name in enumerate(classes)}
    boxes = np.full((len(items), 4), np.nan)
    malformed = {}
    for row, (i, item) in enumerate(items):
        box = item.get("box")
        if not isinstance(box, list) or len(box) != 4 or not {*map(type, box)} <= {int, float}:
            malformed[row] = f"box must be four numbers, got {str(box)[:80]}"
        elif all(0 <= x <= 1 for x in box) and any(type(x) is float for x in box):
            malformed[row] = f"box must be in 0..1000, got parts of 1: {box}"
        elif min(sizes[i]) <= 0:
            malformed[row] = "the size of its image is not known"
        else:
            boxes[row] = NOTATION.decode([box], size=Size(*sizes[i]))[0]
    label = np.array([places.get(name, -1) for name in labels], dtype=np.int64)
    return Raw(
        "wade",
        path,
        sha256,
        (),
        names,
        classes,
        np.array([i for i, _ in items], dtype=np.int64),
        label,
        boxes,
        paths=paths,
        sizes=np.array(sizes, dtype=np.int64).reshape(-1, 2),
        attributes=_attributes(records),
        notes=tuple({key: value for key, value in item.items() if key not in {"label", "box"}} for _, item in items),
        label_refs={row: items[row][1].get("label") for row in np.flatnonzero(label < 0).tolist()},
        malformed=malformed,
        findings=(*findings, *_chains(path, [item for _, item in items])),
    )


def _size(record: Mapping[str, Any], place: Path | None) -> tuple[int, int]:
    sides = (whole(record.get("width")), whole(record.get("height")))
    if min(sides) > 0:
        return sides
    try:
        return measure_file(place) if place else (0, 0)
    except DataError:
        return 0, 0


def _classes(path: Path, labels: list[str]) -> tuple[str, ...]:
    """Those of the class file, else all that occur, sorted."""
    file = class_file_of(path.parent)
    if file is not None and file.suffix == ".yaml":
        return read_class_file(file).names
    return tuple(sorted({label for label in labels if label}))


def _attributes(records: list[Mapping[str, Any]]) -> dict[str, list[Any]]:
    rows = []
    for record in records:
        given = record.get("attributes") if isinstance(record.get("attributes"), dict) else {}
        flat = {**record, **(given or {})}
        rows.append({k: v for k, v in flat.items() if k not in _OWN and isinstance(v, str | int | float | bool)})
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _chains(path: Path, items: list[Mapping[str, Any]]) -> list[Finding]:
    """Chains that lack one of the paper's fields, where there are chains."""
    chains = [(i, item["chain"]) for i, item in enumerate(items) if isinstance(item.get("chain"), dict)]
    needed = set(CHAIN) - {"instance_note"}
    short = [
        f"instance {i} lacks {', '.join(sorted(needed - set(chain)))}" for i, chain in chains if needed - set(chain)
    ]
    return several([("chain-incomplete", "warning", short, "chains lack fields")], str(path))
