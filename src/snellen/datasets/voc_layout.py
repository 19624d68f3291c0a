"""Where Pascal VOC files lie: `Annotations` with `ImageSets/Main`, XML beside the pictures, or one file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path

from snellen.core.errors import DataError
from snellen.datasets import voc
from snellen.datasets.names import Finder
from snellen.datasets.part import Part, class_file_of, rank
from snellen.datasets.raw import Raw
from snellen.datasets.text import read_text

LOOKED_AT = 20
"""Files in which an annotation shows that a folder holds annotations."""

LISTS = ("train", "val", "valid", "test", "trainval")


def sees(path: Path) -> bool:
    """Whether `path` is such a data set: one of its first XML files holds <annotation>."""
    files = [path] if path.is_file() else next(iter(_files(path).values()), [])[:LOOKED_AT]
    return any(file.suffix == ".xml" and _is_annotation(file) for file in files)


def _is_annotation(file: Path) -> bool:
    try:
        return voc.read_xml(file).tag == "annotation"
    except DataError:
        return False


def parts(path: Path, images: Path | None, *, one_based: bool = False) -> list[Part]:
    """The parts at `path`."""
    if path.is_file():
        return [_part("", [voc.Annotated(path.stem, path)], path, path.parent, images, one_based, (path,))]
    found = _files(path)
    everything = tuple(file for files in found.values() for file in files)
    if len(found) == 1 and "" in found:
        root = _root(path)
        by_stem = {_stem(file, root): file for file in found[""]}
        lists = _lists(root, by_stem)
        if lists:
            named = {name: [voc.Annotated(s, by_stem.get(s)) for s in stems] for name, stems in lists.items()}
            listed = {stem for stems in lists.values() for stem in stems}
            rest = [voc.Annotated(stem, file) for stem, file in by_stem.items() if stem not in listed]
            if rest:
                named["unlisted"] = rest
            return [_part(n, items, path, root, images, one_based, everything) for n, items in named.items()]
        found = {"": found[""]}
    root = _root(path)
    return [
        _part(n, [voc.Annotated(_stem(f, root / n), f) for f in files], path, root / n, images, one_based, everything)
        for n, files in found.items()
    ]


def _stem(file: Path, root: Path) -> str:
    """What a list calls a file: its path below `Annotations` (or the folder), without suffix."""
    above = root / "Annotations" if file.is_relative_to(root / "Annotations") else root
    return file.relative_to(above).with_suffix("").as_posix()


def one_based_parts(path: Path, images: Path | None) -> list[Part]:
    """The same, pixels counted from 1."""
    return parts(path, images, one_based=True)


def _part(
    name: str,
    items: Sequence[voc.Annotated],
    source: Path,
    root: Path,
    images: Path | None,
    one_based: bool,
    everything: tuple[Path, ...],
) -> Part:
    title = source.stem if source.is_file() else source.name

    def read(*, extras: bool = False) -> Raw:
        finder = Finder(images) if images else Finder(root, ("JPEGImages/", "images/", ""))
        return voc.read(source, items, _classes(root, everything), finder, one_based=one_based)

    title = f"{title}/{name}" if name else title
    return Part(name, images or root, read, title, class_file_of(root), overlaps=name == "trainval")


def _root(path: Path) -> Path:
    """The folder with `Annotations`: this one, or the only one below that has it."""
    if (path / "Annotations").is_dir():
        return path
    below = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and (folder / "Annotations").is_dir()]
    return below[0] if len(below) == 1 else path


def _files(path: Path) -> dict[str, list[Path]]:
    """Part -> XML files."""
    root = _root(path)
    for folder in (root / "Annotations", root):
        files = sorted(folder.glob("**/*.xml" if folder.name == "Annotations" else "*.xml")) if folder.is_dir() else []
        if files:
            return {"": files}
    inside = {f.name: sorted(f.glob("*.xml")) for f in path.iterdir() if f.is_dir()}
    return {name: inside[name] for name in sorted(inside, key=rank) if inside[name]}


def _lists(root: Path, known: Collection[str]) -> dict[str, list[str]]:
    """Part -> stems, by `ImageSets/Main`; trainval only where it is more than train and val."""
    found = {}
    for name in LISTS:
        file = root / "ImageSets" / "Main" / f"{name}.txt"
        if file.is_file():
            lines = read_text(file).splitlines()
            found[name] = [stem for line in lines if (stem := _listed(line, known))]
    if not {"train", "val"} & set(found) and "trainval" in found:
        return found | {"trainval": found["trainval"]}
    return found


def _listed(line: str, known: Collection[str]) -> str:
    """The stem that a line names: the whole line, else its first word before a comment (others hold `stem 1`)."""
    if line in known or line.strip() in known:
        return line if line in known else line.strip()
    words = line.partition("#")[0].split()
    return words[0] if words else ""


@lru_cache(maxsize=8)
def _classes(root: Path, files: tuple[Path, ...]) -> tuple[str, ...]:
    """The classes of all parts: those of CVAT's label map, then other names in any file, sorted."""
    found: set[str] = set()
    for file in files:
        try:
            root_node = voc.read_xml(file)
        except DataError:
            continue  # named as malformed-file when its part is read
        found |= {(thing.findtext("name") or "").strip() for thing in root_node.findall("object")}
    found.discard("")
    labelmap = root / "labelmap.txt"
    lines = read_text(labelmap).splitlines() if labelmap.is_file() else []
    listed = [line.partition(":")[0] for line in lines if ":" in line and not line.startswith("#")]
    listed = [name for name in listed if name in found or name not in {"background", "ignored"}]
    return (*listed, *sorted(found - set(listed)))
