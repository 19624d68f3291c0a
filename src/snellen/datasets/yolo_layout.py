"""Where YOLO labels lie: `data.yaml`, Darknet's `obj.data`, or folders of pictures and labels with a list of names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.datasets import yolo
from snellen.datasets.classfile import read_yaml
from snellen.datasets.findings import Finding, listed, several
from snellen.datasets.names import Finder, is_picture, walk
from snellen.datasets.part import Part, class_file_of, rank
from snellen.datasets.raw import Raw
from snellen.datasets.text import read_text

NAMES = ("classes.txt", "obj.names", "predefined_classes.txt")
"""Files that name the classes, one a line."""

LABELS = ("labels", "annotations")
"""Folders that hold labels where the pictures' folder is called `images`."""

PARTS = ("train", "val", "valid", "validation", "test", "minival")
"""Keys of data.yaml that name parts."""


def sees(path: Path) -> bool:
    """Whether `path` is such a data set."""
    if path.is_file():
        return (path.suffix in {".yaml", ".yml"} and _is_data_yaml(path)) or path.name.endswith(".data")
    return bool(_yaml(path) or _darknet(path) or _names(path) or (path / "labels").is_dir() or _split_folders(path))


def parts(path: Path, images: Path | None) -> list[Part]:
    """The parts of the data set at `path`."""
    root = path if path.is_dir() else path.parent
    yaml = path if path.suffix in {".yaml", ".yml"} else _yaml(path) if path.is_dir() else None
    data = path if path.name.endswith(".data") else _darknet(root)
    gone: list[str] = []
    if yaml is not None:
        classes, places, gone = _from_yaml(yaml)
    elif data is not None:
        classes, places = _from_darknet(data)
    else:
        classes, places = _named(root), _from_folders(root)
    if images is not None:
        places = {"": [images]}
    title = root.name
    found: list[Part] = []
    listed_before: set[Path] = set()
    for name, folders in places.items():
        read = partial(_read, yaml or data or root, root, folders, classes, gone)
        again = listed_before.issuperset(folders)  # `val: images` where `train` is that already
        full = f"{title}/{name}" if name else title
        found.append(Part(name, root, read, full, class_file_of(root), overlaps=again))
        listed_before.update(folders)
    return found


def _read(
    source: Path,
    root: Path,
    places: Sequence[Path],
    classes: Sequence[str],
    gone: Sequence[str],
    *,
    extras: bool = False,
) -> Raw:
    pictures, findings = _labelled(root, places)
    what = "places that data.yaml names are not there and were not read"
    findings += several([("missing-part", "warning", gone, what)], str(source))
    if not pictures:
        raise DataError(f"no pictures in {listed(places)}: {source}")
    return yolo.read(source, pictures, classes or _numbered(pictures), findings=findings)


def _labelled(root: Path, places: Sequence[Path]) -> tuple[list[yolo.Labelled], list[Finding]]:
    """Every picture with its label file, and label files without a picture."""
    files: list[tuple[str, Path | None]] = []
    for place in places:
        prefix = f"{place.name}/" if len(places) > 1 else ""
        found = _listed(place) if place.is_file() else ((n, place / n) for n in walk(place) if is_picture(n))
        files += [(prefix + name, picture) for name, picture in found]
    taken: set[Path] = set()
    out = []
    for name, picture in files:
        label = label_of(picture) if picture else None
        if label:
            taken.add(label)
        out.append(yolo.Labelled(name, picture, label))
    folders = {label.parent for label in taken}
    stray = sorted(
        str(file)
        for folder in folders
        for file in folder.glob("*.txt")
        if file not in taken and file.name not in NAMES and not file.name.startswith("README")
    )
    if any(place.is_file() for place in places):
        stray = []  # a list takes some pictures of a folder
    return out, several([("label-without-picture", "error", stray, "label files have no picture")], str(root))


def label_of(picture: Path) -> Path | None:
    """The label file of a picture: beside it, or under `labels` where the picture is under `images` (the last such)."""
    name = os.path.splitext(picture.name)[0] + ".txt"  # noqa: PTH122
    above = list(picture.parent.parts)
    for i in range(len(above) - 1, -1, -1):
        if above[i].casefold() != "images":
            continue
        folder = Path(*above[:i])
        for other in _children(folder, LABELS):
            candidate = folder.joinpath(other, *above[i + 1 :], name)
            if candidate.is_file():
                return candidate
        break
    beside = picture.parent / name
    return beside if beside.is_file() else None


def _children(folder: Path, names: Iterable[str]) -> list[str]:
    """Sub-folders called so, in any case, in the order of `names`."""
    found = {entry.name.casefold(): entry.name for entry in folder.iterdir() if entry.is_dir()}
    return [found[name] for name in names if name in found]


def _listed(path: Path) -> Iterable[tuple[str, Path | None]]:
    """The pictures that a list names, a path a line; found from the list's folder, its parent, or where they say."""
    finder = Finder(path.parent)
    for line in read_text(path).splitlines():
        name = line.strip()
        if name:
            found = finder.find(name.removeprefix("./"))
            yield name.removeprefix("./"), found.path if found else Path(name) if Path(name).is_file() else None


def _from_yaml(path: Path) -> tuple[list[str], dict[str, list[Path]], list[str]]:
    """The classes, the places of each part, and the places that are named and not there."""
    whole = read_yaml(path)
    if not isinstance(whole, dict):
        raise DataError(f"data.yaml must be a mapping, got {type(whole).__name__}: {path}")
    classes = _class_names(whole, path)
    base = path.parent
    if isinstance(whole.get("path"), str) and (base / whole["path"]).is_dir():
        base = base / whole["path"]
    found: dict[str, list[Path]] = {}
    gone: list[str] = []
    for name in PARTS:
        value = whole.get(name)
        texts = [value] if isinstance(value, str) and value else value if isinstance(value, list) else []
        places = [_place(str(text), base, path.parent) for text in texts]
        gone += [f"{name}: {text}" for text, place in zip(texts, places, strict=True) if place is None]
        if any(places):
            found[name] = [place for place in places if place]
    return classes, found or _from_folders(path.parent), gone


def _class_names(whole: Mapping[str, Any], path: Path) -> list[str]:
    names = whole.get("names")
    if isinstance(names, dict):
        keys = sorted(names, key=lambda key: int(key))
        if [int(key) for key in keys] != list(range(len(keys))):
            raise DataError(f"names must be numbered from 0 without gaps, got {keys}: {path}")
        names = [names[key] for key in keys]
    if not isinstance(names, list) or not names:
        raise DataError(f"data.yaml has no list of names: {path}")
    if isinstance(whole.get("nc"), int) and whole["nc"] != len(names):
        raise DataError(f"nc is {whole['nc']}, but there are {len(names)} names: {path}")
    return [str(name) for name in names]


def _place(text: str, *bases: Path) -> Path | None:
    """A folder or list that data.yaml names; Roboflow writes `../train/images` for `train/images`."""
    trimmed = text
    while trimmed.startswith("../"):
        trimmed = trimmed[3:]
    wanted = [base / text for base in bases] + [base / trimmed for base in bases]
    wanted += [bases[-1] / "val" / "images"] if trimmed == "valid/images" else []
    return next((place for place in wanted if place.exists()), None)


def _from_darknet(path: Path) -> tuple[list[str], dict[str, list[Path]]]:
    pairs = dict(line.split("=", 1) for line in read_text(path).splitlines() if "=" in line)
    values = {key.strip(): value.strip() for key, value in pairs.items()}
    finder = Finder(path.parent)
    names = finder.find(values.get("names", "obj.names"))
    classes = _lines(names.path) if names else []
    lists = {key: finder.find(values[key]) for key in ("train", "valid", "test") if key in values}
    return classes, {key: [found.path] for key, found in lists.items() if found}


def _from_folders(root: Path) -> dict[str, list[Path]]:
    splits = _split_folders(root)
    if splits:
        return splits
    for images in _children(root, ("images",)):
        inside = {f.name: [f] for f in sorted((root / images).iterdir()) if f.is_dir() and f.name in PARTS}
        return dict(sorted(inside.items(), key=lambda item: rank(item[0]))) or {"": [root / images]}
    return {"": [root]}


def _split_folders(root: Path) -> dict[str, list[Path]]:
    """`train/images` and `train/labels`, and so on."""
    inside = {f.name: [f / "images"] for f in root.iterdir() if (f / "images").is_dir() and (f / "labels").is_dir()}
    return dict(sorted(inside.items(), key=lambda item: rank(item[0])))


def _is_data_yaml(path: Path) -> bool:
    try:
        whole = read_yaml(path)
    except DataError:
        return False
    return isinstance(whole, dict) and "names" in whole


def _yaml(root: Path) -> Path | None:
    files = sorted([*root.glob("*.yaml"), *root.glob("*.yml")], key=lambda file: (file.stem != "data", file.name))
    return next((file for file in files if _is_data_yaml(file)), None)


def _darknet(root: Path) -> Path | None:
    return next(iter(sorted(root.glob("*.data"))), None)


def _names(root: Path) -> Path | None:
    for folder in (root, *(root / name for name in _children(root, ("labels", "annotations", "images")))):
        for name in NAMES:
            if (folder / name).is_file():
                return folder / name
    return None


def _named(root: Path) -> list[str]:
    file = _names(root)
    return _lines(file) if file else []


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def _numbered(pictures: Sequence[yolo.Labelled]) -> list[str]:
    """Where no file names the classes: `class 0` and so on, up to the highest in use."""
    from snellen.datasets.yolo_lines import read_lines

    top = -1
    for item in pictures:
        if item.labels:
            top = max([top, *read_lines(read_text(item.labels)).labels])
    return [f"class {i}" for i in range(top + 1)]
