"""Where YOLO labels lie: `data.yaml`, Darknet's `obj.data`, or folders of pictures and labels with a list of names."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

NULLS = (None, "", "~", "null")
"""What is not there, in a YAML file that is read as text."""


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
    if yaml is not None:
        said = _from_yaml(yaml)
    elif data is not None:
        said = _from_darknet(data)
    else:
        said = _Said(root, _named(root), _from_folders(root))
    if images is not None:
        said = replace(said, places={"": [images]})
    title = root.name
    found: list[Part] = []
    listed_before: set[Path] = set()
    for name, folders in said.places.items():
        again = listed_before.issuperset(folders)  # `val: images` where `train` is that already
        if again:
            said.again.append(name)
        full = f"{title}/{name}" if name else title
        found.append(Part(name, root, partial(_read, said, root, folders), full, class_file_of(root), overlaps=again))
        listed_before.update(folders)
    return found


@dataclass(frozen=True)
class _Said:
    """What data.yaml, obj.data or the folders say. places: of each part. gone: places that are named and not there.
    keypoints: how many numbers of them a row has. again: parts in the places of others.
    """

    source: Path
    classes: Sequence[str]
    places: Mapping[str, list[Path]]
    gone: Sequence[str] = ()
    keypoints: int = 0
    again: list[str] = field(default_factory=list)


def _read(said: _Said, root: Path, places: Sequence[Path], *, extras: bool = False) -> Raw:
    pictures, findings = _labelled(root, places)
    where, name = str(said.source), said.source.name
    what = f"places that {name} names are not there and were not read"
    findings += several([("missing-part", "warning", said.gone, what)], where)
    if said.again:
        text = f"{listed(said.again)}: the same pictures as another part, so no test for it"
        findings.append(Finding("part-repeats", "warning", text, len(said.again), where, tuple(said.again)))
    if not pictures:
        raise DataError(f"no pictures in {listed(places)}: {said.source}")
    classes = said.classes
    if not classes:
        classes = _numbered(pictures)
        text = f"no file names the classes: they are called {listed(classes)}"
        findings.append(Finding("classes-unnamed", "warning", text, max(1, len(classes)), where))
    return yolo.read(said.source, pictures, classes, findings=findings, keypoints=said.keypoints)


def _labelled(root: Path, places: Sequence[Path]) -> tuple[list[yolo.Labelled], list[Finding]]:
    """Every picture with its label file, and label files without a picture."""
    files: list[tuple[str, Path | None]] = []
    alike = len({place.name for place in places}) < len(places)
    for place in places:
        above = place.relative_to(root).as_posix() if alike and place.is_relative_to(root) else place.name
        prefix = f"{above}/" if len(places) > 1 else ""
        found = _listed(place) if place.is_file() else ((n, place / n) for n in walk(place) if is_picture(n))
        files += [(prefix + name, picture) for name, picture in found]
    labels = LabelFiles()
    out = [yolo.Labelled(name, picture, labels.of(picture) if picture else None) for name, picture in files]
    taken = {item.labels for item in out if item.labels}
    stray = sorted(
        str(file)
        for folder in {label.parent for label in taken}
        for file in labels.in_folder(folder)
        if file not in taken and is_label_file(file.name)
    )
    if any(place.is_file() for place in places):
        stray = []  # a list takes some pictures of a folder
    return out, several(
        [
            ("label-without-picture", "error", stray, "label files have no picture"),
            ("case-differs", "warning", labels.renamed, "label files are called otherwise than their picture"),
        ],
        str(root),
    )


def is_label_file(name: str) -> bool:
    """Whether this is the name (or path) of a label file: a .txt that names no classes and is no README."""
    last = name.rpartition("/")[2]
    return last[-4:].casefold() == ".txt" and last not in NAMES and not last.startswith("README")


@dataclass
class LabelFiles:
    """Finds the label files of pictures, by listing each folder once. renamed: those whose case differs."""

    renamed: list[str] = field(default_factory=list)
    _listed: dict[Path, tuple[dict[str, str], dict[str, str]]] = field(default_factory=dict)
    _places: dict[Path, list[Path]] = field(default_factory=dict)

    def of(self, picture: Path) -> Path | None:
        """Beside the picture, or under `labels` where it is under `images` (the last such). Unicode forms meet."""
        name = os.path.splitext(picture.name)[0] + ".txt"  # noqa: PTH122
        key = unicodedata.normalize("NFC", name)
        for exact in (True, False):
            for folder in self._folders(picture.parent):
                found = self._list(folder)[0 if exact else 1].get(key if exact else key.casefold())
                if found is not None and not exact:
                    self.renamed.append(f"{found} of {picture.name}")
                if found is not None:
                    return folder / found
        return None

    def in_folder(self, folder: Path) -> list[Path]:
        """Every label file of a folder."""
        return [folder / name for name in self._list(folder)[0].values()]

    def _folders(self, pictures: Path) -> list[Path]:
        if pictures not in self._places:
            above = list(pictures.parts)
            last = next((i for i in range(len(above) - 1, -1, -1) if above[i].casefold() == "images"), None)
            root = None if last is None else Path(*above[:last])
            beside = [] if root is None else _children(root, LABELS)
            found = [root.joinpath(other, *above[(last or 0) + 1 :]) for other in beside] if root else []
            self._places[pictures] = [*found, pictures]
        return self._places[pictures]

    def _list(self, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
        """Label files by name in Unicode form NFC, and by that name casefolded."""
        if folder not in self._listed:
            try:
                names = [e.name for e in os.scandir(folder) if e.name[-4:].casefold() == ".txt" and e.is_file()]
            except PermissionError as error:
                raise DataError(f"folder cannot be read: {error.strerror}: {folder}") from error
            except OSError:
                names = []
            exact = {unicodedata.normalize("NFC", name): name for name in sorted(names)}
            self._listed[folder] = exact, {key.casefold(): name for key, name in exact.items()}
        return self._listed[folder]


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


def _from_yaml(path: Path) -> _Said:
    whole = read_yaml(path, as_text=True)
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
        texts = [text for text in (value if isinstance(value, list) else [value]) if text not in NULLS]
        strange = next((text for text in texts if not isinstance(text, str)), None)
        if strange is not None:
            raise DataError(f"{name} names folders or lists of pictures, got {strange}: {path}")
        places = [_place(text, base, path.parent) for text in texts]
        gone += [f"{name}: {text}" for text, place in zip(texts, places, strict=True) if place is None]
        if any(places):
            found[name] = [place for place in places if place]
    return _Said(path, classes, found or _from_folders(path.parent), gone, _keypoints(whole.get("kpt_shape"), path))


def _keypoints(shape: Any, path: Path) -> int:
    """How many numbers a row's keypoints take: the product of `kpt_shape`, [keypoints, 2 or 3]."""
    if shape in NULLS:
        return 0
    sides = [int(side) for side in shape if str(side).isdecimal()] if isinstance(shape, list) else []
    if len(sides) != 2 or sides[1] not in {2, 3}:
        raise DataError(f"kpt_shape is [keypoints, 2 or 3], got {shape}: {path}")
    return sides[0] * sides[1]


def _class_names(whole: Mapping[str, Any], path: Path) -> list[str]:
    names = whole.get("names")
    if isinstance(names, dict):
        strange = [key for key in names if not str(key).isdecimal()]
        if strange:
            raise DataError(f"names are a list, or names by number ({{0: cat}}), got the key {strange[0]!r}: {path}")
        keys = sorted(names, key=lambda key: int(key))
        if [int(key) for key in keys] != list(range(len(keys))):
            raise DataError(f"names must be numbered from 0 without gaps, got {keys}: {path}")
        names = [names[key] for key in keys]
    if not isinstance(names, list) or not names:
        raise DataError(f"data.yaml has no list of names: {path}")
    if str(whole.get("nc", "")).isdecimal() and int(whole["nc"]) != len(names):
        raise DataError(f"nc is {whole['nc']}, but there are {len(names)} names: {path}")
    bad = next((i for i, name in enumerate(names) if not isinstance(name, str) or not name.strip()), None)
    if bad is not None:
        raise DataError(f"name {bad} must be a text, got {names[bad]!r}: {path}")
    return names


def _place(text: str, *bases: Path) -> Path | None:
    """A folder or list that data.yaml names; Roboflow writes `../train/images` for `train/images`."""
    trimmed = text
    while trimmed.startswith("../"):
        trimmed = trimmed[3:]
    wanted = [base / text for base in bases] + [base / trimmed for base in bases]
    wanted += [bases[-1] / "val" / "images"] if trimmed == "valid/images" else []
    return next((place for place in wanted if place.exists()), None)


def _from_darknet(path: Path) -> _Said:
    pairs = dict(line.split("=", 1) for line in read_text(path).splitlines() if "=" in line)
    values = {key.strip(): value.strip() for key, value in pairs.items()}
    finder = Finder(path.parent)
    names = finder.find(values.get("names", "obj.names"))
    if names is None and "names" in values:
        raise DataError(f"the names of the classes, {values['names']}, are not there: {path}")
    classes = _lines(names.path) if names else []
    if classes and values.get("classes", "").isdecimal() and int(values["classes"]) != len(classes):
        raise DataError(f"classes is {values['classes']}, but there are {len(classes)} names: {path}")
    lists = {key: finder.find(values[key]) for key in ("train", "valid", "test") if key in values}
    gone = [f"{key}: {values[key]}" for key, found in lists.items() if found is None]
    return _Said(path, classes, {key: [found.path] for key, found in lists.items() if found}, gone)


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
    for name in ("data.yaml", "data.yml"):
        if (root / name).is_file():
            read_yaml(root / name)  # a DataError where it is broken: the names would be lost without a word
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
    """The names of the classes, one a line: a blank one between would shift the numbers of those behind it."""
    names = [line.strip() for line in read_text(path).rstrip().splitlines()]
    if "" in names:
        raise DataError(f"line {names.index('') + 1} of the class names is blank: {path}")
    return names


def _numbered(pictures: Sequence[yolo.Labelled]) -> list[str]:
    """Where no file names the classes: `class 0` and so on, up to the highest in use."""
    from snellen.datasets.yolo_lines import read_lines

    top = -1
    for item in pictures:
        if item.labels:
            top = max([top, *read_lines(read_text(item.labels)).labels])
    return [f"class {i}" for i in range(top + 1)]
