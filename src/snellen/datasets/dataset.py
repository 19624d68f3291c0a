"""A data set: pictures, their boxes in columns, and what is needed to write it back or to ask about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import BoxTable, Detections, Int
from snellen.core.errors import SpecError
from snellen.core.tables import Table
from snellen.datasets.classfile import ClassFile
from snellen.datasets.findings import Finding
from snellen.datasets.raw import Id

if TYPE_CHECKING:
    from snellen.core.pictures import Picture
    from snellen.core.stages import Sample


@dataclass(frozen=True, eq=False)
class Dataset:
    """Pictures with boxes.

    pictures: in image order, read when looked at. truth: the boxes; `truth.images` are the pictures' names.
    attributes: a row per image (site, lighting, split ...), without columns where nothing is known.
    image_ids, category_ids, annotation_ids: as the source numbers them, in the order of images, classes and rows.
    notes: per row what else is known (reasoning chains, segmentations), or (). class_file: aliases, instructions and
    rules of the classes. known: bool (images, classes), which classes are exhaustively boxed, or None: all.
    sha256: of the annotation file (of several: of their names and hashes). findings: what was odd.
    image_notes, class_notes, extras: what only a file of the same format can carry (licences, supercategories, info),
    per image, per class, whole.
    """

    name: str
    pictures: Sequence[Picture]
    truth: BoxTable
    attributes: Table
    sha256: str
    format: str
    source: Path
    image_ids: Sequence[Id] = ()
    category_ids: Sequence[Id] = ()
    annotation_ids: Sequence[Id] | Int = ()
    notes: tuple[Mapping[str, Any], ...] = ()
    class_file: ClassFile | None = None
    known: NDArray[np.bool_] | None = None
    findings: tuple[Finding, ...] = ()
    image_notes: tuple[Mapping[str, Any], ...] = ()
    class_notes: tuple[Mapping[str, Any], ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def classes(self) -> tuple[str, ...]:
        """The taxonomy, in the order of label indices."""
        return self.truth.classes

    @property
    def sizes(self) -> Int:
        """Width and height of each picture, px: (n, 2), 0 where no one has told yet."""
        if isinstance(self.pictures, PictureFiles):
            return self.pictures.sizes if len(self.pictures.sizes) else np.zeros((len(self), 2), dtype=np.int64)
        return np.array([picture.size or (0, 0) for picture in self.pictures], dtype=np.int64).reshape(-1, 2)

    def samples(self, *, cluster: str | None = None) -> DatasetSamples:
        """The pictures as samples, one after the other. `cluster` names the attribute that intervals resample.

        Default: `site` where there is one, else the picture. SpecError where the attribute is unknown.
        """
        if cluster is not None and cluster not in self.attributes:
            known = ", ".join(self.attributes.names) or "none"
            raise SpecError(f"the data set has no attribute {cluster!r}; it has: {known}")
        return DatasetSamples(self, cluster or ("site" if "site" in self.attributes else None))

    def take(self, images: Sequence[int] | NDArray[np.int64], *, name: str | None = None) -> Dataset:
        """The images at these indices, in that order, with their boxes."""
        chosen = np.asarray(images, dtype=np.int64)
        place = np.full(len(self), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(place[self.truth.image] >= 0) if len(self.truth) else np.zeros(0, dtype=np.int64)
        rows = rows[np.argsort(place[self.truth.image[rows]], kind="stable")]
        return self._with(chosen, rows, place, name or self.name)

    def where(self, rows: Sequence[int] | NDArray[Any], *, name: str | None = None) -> Dataset:
        """The same images with the boxes at these rows (indices or a mask) alone."""
        chosen = np.arange(len(self.truth))[np.asarray(rows)]
        images = np.arange(len(self))
        return self._with(images, chosen, images, name or self.name)

    def _with(self, images: Int, rows: Int, place: Int, name: str) -> Dataset:
        truth = self.truth
        ids = self.annotation_ids
        chosen = images.tolist()
        return replace(
            self,
            name=name,
            pictures=[self.pictures[i] for i in chosen],
            truth=BoxTable(
                tuple(truth.images[i] for i in chosen),
                truth.classes,
                place[truth.image[rows]],
                truth.label[rows],
                truth.boxes[rows],
                None,
                truth.crowd[rows],
                truth.area[rows],
            ),
            attributes=self.attributes.take(images),
            image_ids=[self.image_ids[i] for i in chosen] if len(self.image_ids) else (),
            annotation_ids=ids[rows] if isinstance(ids, np.ndarray) else [ids[i] for i in rows] if len(ids) else (),
            notes=tuple(self.notes[i] for i in rows) if self.notes else (),
            known=None if self.known is None else self.known[images],
            image_notes=tuple(self.image_notes[i] for i in chosen) if self.image_notes else (),
        )


@dataclass(frozen=True)
class DatasetSamples:
    """The samples of a data set: sized, walked again and again, made as they are asked for."""

    dataset: Dataset
    cluster: str | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[Sample[Detections]]:
        from snellen.core.stages import Sample

        data = self.dataset
        table = data.truth
        order = np.argsort(table.image, kind="stable")
        starts = np.searchsorted(table.image[order], np.arange(len(data) + 1))
        columns = {name: data.attributes[name] for name in data.attributes.names}
        names = np.array([*table.classes, ""], dtype=object)
        for i, picture in enumerate(data.pictures):
            rows = order[starts[i] : starts[i + 1]]
            attributes = {name: column[i].item() for name, column in columns.items()}
            yield Sample(
                table.images[i],
                Detections(
                    table.boxes[rows],
                    tuple(names[table.label[rows]]),
                    None,
                    table.crowd[rows],
                    table.area[rows],
                    tuple(data.notes[r] for r in rows) if data.notes else (),
                ),
                (picture,),
                attributes,
                str(attributes[self.cluster]) if self.cluster else table.images[i],
            )


@dataclass(frozen=True, eq=False)
class PictureFiles(Sequence["Picture"]):
    """Pictures in files, made when they are asked for: a million cost their names and paths alone.

    paths: None where no file was found: such a picture raises when it is read. sizes: (n, 2), 0 where not known.
    """

    names: Sequence[str]
    paths: Sequence[Path | None]
    sizes: Int
    folder: Path

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Picture: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Picture]: ...

    def __getitem__(self, index: int | slice) -> Picture | Sequence[Picture]:
        from snellen.core.pictures import Picture, Size  # and Pillow with it, which boxes alone do not need

        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        name = self.names[index]
        size = Size(*self.sizes[index].tolist()) if len(self.sizes) and (self.sizes[index] > 0).all() else None
        return Picture.from_file(self.paths[index] or self.folder / name, name=name, size=size)
