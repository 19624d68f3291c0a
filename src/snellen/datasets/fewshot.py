"""Few-shot sets by Roboflow100-VL's rule (appendix E), and the labelled share of semi-supervised training.

For each class images are taken, with all their boxes of that class, until there are exactly K. Of C such candidates
the one with the largest mean box is kept, class by class. In the result an image is known for the classes it was
taken for alone: whether others are in it nobody has checked (`Dataset.known`), which federated losses respect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from snellen.core.detections import Float, Int
from snellen.core.errors import SpecError
from snellen.datasets.dataset import Dataset
from snellen.datasets.findings import Finding, counted, kept, listed
from snellen.datasets.split import with_column

SEARCHED = 20_000
"""Images of one class that the search for exactly K boxes looks at, at most."""


@dataclass(frozen=True)
class Shots:
    """A class's share of a few-shot set: image indices, boxes, those above K, mean box areas of all candidates."""

    images: tuple[int, ...]
    boxes: int
    available: int
    excess: int
    areas: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FewShot:
    """dataset: the chosen images with the boxes they were taken for, and `known`. shots: by class."""

    dataset: Dataset
    shots: Mapping[str, Shots]
    k: int
    candidates: int
    seed: int
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        names = self.dataset.truth.images
        return {
            "k": self.k,
            "candidates": self.candidates,
            "seed": self.seed,
            "images": len(names),
            "boxes": len(self.dataset.truth),
            "classes": {
                name: {"boxes": s.boxes, "images": len(s.images), "available": s.available, "excess": s.excess}
                for name, s in self.shots.items()
            },
            "findings": [finding.to_json() for finding in self.findings],
        }


def few_shot(
    dataset: Dataset,
    k: int,
    *,
    candidates: int | None = None,
    area: Literal["pixels", "relative"] = "pixels",
    seed: int = 0,
) -> FewShot:
    """K boxes of each class of `dataset` (its training part).

    candidates: C, default K. area: what "largest" means, px^2 or parts of the image. A class with fewer than K boxes
    gives all of them; one whose every image holds more gives the image with fewest, and the excess is recorded.
    """
    if k < 1 or (candidates is not None and candidates < 1):
        raise SpecError(f"k and candidates must be at least 1, got {k} and {candidates}")
    if area not in {"pixels", "relative"}:
        raise SpecError(f"area is pixels or relative, got {area!r}")
    rng = np.random.default_rng(seed)
    areas = _areas(dataset, relative=area == "relative")
    shots = {
        name: _shots(dataset, label, areas, k=k, candidates=candidates or k, rng=rng)
        for label, name in enumerate(dataset.classes)
    }
    chosen = sorted({image for shot in shots.values() for image in shot.images})
    known = np.zeros((len(dataset), len(dataset.classes)), dtype=np.bool_)
    for label, shot in enumerate(shots.values()):
        known[list(shot.images), label] = True
    truth = dataset.truth
    taken = dataset.where(known[truth.image, truth.label] & ~truth.crowd).take(chosen, name=f"{dataset.name} {k}-shot")
    return FewShot(
        replace(taken, known=known[chosen]), shots, k, candidates or k, seed, tuple(_findings(shots, k, dataset))
    )


def _shots(dataset: Dataset, label: int, areas: Float, *, k: int, candidates: int, rng: np.random.Generator) -> Shots:
    """The best of several candidates for one class."""
    rows = np.flatnonzero((dataset.truth.label == label) & ~dataset.truth.crowd)
    images, counts = np.unique(dataset.truth.image[rows], return_counts=True)
    total = int(counts.sum())
    if not total:
        return Shots((), 0, 0, 0, ())
    sums = np.bincount(dataset.truth.image[rows], weights=areas[rows], minlength=len(dataset))[images]
    best: Int = np.zeros(0, dtype=np.int64)
    means = []
    for _ in range(candidates):
        found = _candidate(counts, k, rng)
        means.append(float(sums[found].sum() / counts[found].sum()))
        if means[-1] == max(means) and (len(means) == 1 or means[-1] > max(means[:-1])):
            best = found
    boxes = int(counts[best].sum())
    return Shots(tuple(sorted(images[best].tolist())), boxes, total, max(0, boxes - k), tuple(means))


def _candidate(counts: Int, k: int, rng: np.random.Generator) -> Int:
    """Places of images, in random order, whose counts add up to k, or else to the most below it.

    All where there are not more than k; the one with fewest where each holds more.
    """
    if counts.sum() <= k:
        return np.arange(len(counts))
    order = rng.permutation(len(counts))[:SEARCHED]
    if counts[order].min() > k:
        fewest = np.flatnonzero(counts == counts.min())
        return fewest[[rng.integers(len(fewest))]]
    came: dict[int, tuple[int, int]] = {0: (-1, -1)}  # sum -> (sum before, place that was added)
    for place in order.tolist():
        size = int(counts[place])
        for before in [b for b in came if b + size <= k and b + size not in came]:
            came[before + size] = (before, place)
        if k in came:
            break
    total, chosen = max(came), []
    while total:
        total, place = came[total]
        chosen.append(place)
    return np.array(chosen, dtype=np.int64)


def _areas(dataset: Dataset, *, relative: bool) -> Float:
    sides = dataset.truth.boxes[:, 2:] - dataset.truth.boxes[:, :2]
    areas = np.asarray(sides[:, 0] * sides[:, 1])
    if not relative:
        return areas
    pixels = np.array([picture.upright_size().pixels for picture in dataset.pictures], dtype=np.float64)
    return np.asarray(areas / pixels[dataset.truth.image])


def _findings(shots: Mapping[str, Shots], k: int, dataset: Dataset) -> list[Finding]:
    none = [name for name, s in shots.items() if s.available == 0]
    few = [f"{name} ({s.available})" for name, s in shots.items() if 0 < s.available < k]
    more = [f"{name} (+{s.excess})" for name, s in shots.items() if s.excess]
    short = [f"{name} ({s.boxes})" for name, s in shots.items() if s.boxes < k <= s.available]
    rows = (
        ("fewshot-none", none, "classes have no box"),
        ("fewshot-few", few, f"classes have fewer than {k} boxes: all are taken"),
        ("fewshot-excess", more, f"classes have more than {k} boxes in every image: the image with fewest is taken"),
        ("fewshot-short", short, f"classes cannot make exactly {k} boxes of whole images: the most below is taken"),
    )
    where = str(dataset.source)
    return [
        Finding(code, "warning", f"{counted(len(names), what)}: {listed(names)}", len(names), where, kept(names))
        for code, names, what in rows
        if names
    ]


def labelled_share(dataset: Dataset, share: float = 0.1, *, seed: int = 0) -> Dataset:
    """The data set with the attribute `split`: `labelled` (a random share, at least one image) and `unlabelled`.

    Roboflow100-VL, semi-supervised: 10 % of the training images. The boxes of the others are left out.
    """
    if not 0 < share <= 1:
        raise SpecError(f"a share is above 0 and at most 1, got {share}")
    n = len(dataset)
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[np.random.default_rng(seed).permutation(n)[: max(1, round(share * n))]] = True
    names = np.where(chosen, "labelled", "unlabelled")
    return with_column(dataset.where(chosen[dataset.truth.image]), "split", names)
