"""How often 95 % intervals of boxes contain the truth: F1, AP, CHAIR and their kin, by picture and by site.

    python benchmarks/coverage.py [--runs 400] [--draws 500] [--only f1,ap] [--set NAME] [--paired]

Each set simulates pictures whose objects a detector finds, misplaces, mislabels, repeats or invents; sites have a
difficulty of their own. The true value is that of a very large set of the same kind; the table says how often the
interval contains it, and on which side it fails. With 400 runs a coverage of 95 % is known to +- 2.1 points.
--paired: the difference of a detector and a worse one on the same pictures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.detections import BoxTable
from snellen.core.estimates import Estimate, Float, Measure
from snellen.core.tables import Table, Tables
from snellen.evals.box_measures import Joined
from snellen.scoring import average_precision, counting, grounding, hallucination
from snellen.scoring.coco_matching import THRESHOLDS, coco_matches
from snellen.scoring.curves import ranking, whole
from snellen.scoring.tabulation import boxes_of, tables_of
from snellen.statistics.intervals import bootstrap
from snellen.statistics.paired import difference

NAMES = (
    "f1",
    "precision",
    "recall",
    "f1_agnostic",
    "mean_iou",
    "ap",
    "ap50",
    "chair_i",
    "chair_s",
    "count_ratio",
    "mae",
    "rmse",
)
LARGE = 400_000
"""The value of one set of so many pictures is the true one. AP overrates even large sets: one of 20,000 pictures by a
fifth of the standard error of one of 200. Sites differ as pictures do, so these pictures stand on their own; where no
detection has a score, these have random ones, since the order of so many is of no account.
"""


@dataclass(frozen=True)
class Scenes:
    """`pictures` in `sites` of uneven size (0: every picture on its own), about `objects` each, of `classes` kinds of
    falling frequency; found with probability `found`, with `noise` (share of the side) in place; `extra` inventions a
    picture; `spread` of the sites' difficulty (logits). `scored`: whether the detector gives scores; None: random ones.
    """

    name: str
    pictures: int
    sites: int = 0
    objects: float = 5.0
    classes: int = 4
    found: float = 0.75
    noise: float = 0.08
    extra: float = 1.0
    spread: float = 0.8
    scored: bool | None = True

    def draw(
        self, rng: np.random.Generator, pictures: int | None = None, *, rival: Scenes | None = None
    ) -> list[Tables]:
        """A set of this kind; with `pictures`, one of so many, in sites of the same sizes. With a `rival`, the same
        pictures once more with its detector.
        """
        n = pictures or self.pictures
        sites = self.sites * n // self.pictures if self.sites else n
        share = rng.gamma(2.0, 1.0, sites)
        site = np.sort(rng.choice(sites, n, p=share / share.sum())) if self.sites else np.arange(n)
        hard = rng.normal(0, self.spread, sites)[site] if self.sites else rng.normal(0, self.spread, n)
        truth = self._objects(rng, rng.poisson(self.objects * np.exp(rng.normal(0, 0.5, sites)[site])), n)
        about = Table({"cluster": np.array([f"{i}" for i in site])})
        detectors = (self, rival) if rival else (self,)
        return [tables_of(truth, each._detections(rng, truth, hard, n), about=about) for each in detectors]

    def _objects(self, rng: np.random.Generator, counts: np.ndarray, n: int) -> BoxTable:
        image = np.repeat(np.arange(n), counts)
        weights = 1.0 / np.arange(1, self.classes + 1)
        label = rng.choice(self.classes, len(image), p=weights / weights.sum())
        return BoxTable(_names(n), self._classes, image, label, _boxes(rng, len(image)))

    def _detections(self, rng: np.random.Generator, truth: BoxTable, hard: Float, n: int) -> BoxTable:
        logit = np.log(self.found / (1 - self.found)) - hard[truth.image]
        seen = np.flatnonzero(rng.random(len(truth)) < 1 / (1 + np.exp(-logit)))
        seen = np.concatenate([seen, seen[rng.random(len(seen)) < 0.05]])
        side = (truth.boxes[seen, 2:] - truth.boxes[seen, :2])[:, [0, 1, 0, 1]]
        boxes = truth.boxes[seen] + rng.normal(0, self.noise, (len(seen), 4)) * side
        wrong = rng.random(len(seen)) < 0.1
        label = np.where(wrong, rng.integers(0, self.classes, len(seen)), truth.label[seen])
        ghosts = np.repeat(np.arange(n), rng.poisson(self.extra * np.exp(0.5 * hard - 0.125 * self.spread**2)))
        image = np.concatenate([truth.image[seen], ghosts])
        telling = np.concatenate([rng.beta(4, 2, len(seen)), rng.beta(2, 3, len(ghosts))])
        scores = rng.random(len(image)) if self.scored is None else telling if self.scored else None
        return BoxTable(
            _names(n), self._classes, image, np.concatenate([label, rng.integers(0, self.classes, len(ghosts))]),
            np.concatenate([boxes, _boxes(rng, len(ghosts))]), scores,
        )  # fmt: skip

    @property
    def _classes(self) -> tuple[str, ...]:
        return tuple(f"c{k}" for k in range(self.classes))


def _names(n: int) -> tuple[str, ...]:
    return tuple(map(str, range(n)))


def _boxes(rng: np.random.Generator, n: int) -> Float:
    corner, side = rng.uniform(0, 900, (n, 2)), rng.uniform(25, 120, (n, 2))
    return np.concatenate([corner, corner + side], axis=1)


TUNED = (
    Scenes("60 pictures", 60),
    Scenes("200 pictures", 200),
    Scenes("200 pictures, 10 classes", 200, classes=10),
    Scenes("100 pictures, 40 classes", 100, objects=7.0, classes=40),
    Scenes("200 pictures, nearly perfect", 200, found=0.97, noise=0.03, extra=0.05, spread=0.3),
    Scenes("200 pictures, without scores", 200, scored=False),
    Scenes("25 sites, 200 pictures", 200, sites=25),
    Scenes("60 sites, 325 pictures", 325, sites=60),
)
UNSEEN = (
    Scenes("10 sites, 80 pictures, 15 classes", 80, sites=10, classes=15),
    Scenes("200 pictures, poor", 200, found=0.3, noise=0.12, extra=2.0),
    Scenes("300 pictures, 80 classes", 300, objects=7.0, classes=80),
    Scenes("40 pictures, 3 classes", 40, classes=3, found=0.85),
    Scenes("150 crowded pictures, 20 classes", 150, objects=14.0, classes=20, found=0.6),
    Scenes("30 sites, 120 pictures, 8 classes", 120, sites=30, classes=8, extra=0.4),
)
"""Sets that had no part in the choice of the method."""
SETS = TUNED + UNSEEN


class Ap:
    """AP and AP50, whole and by class, as `average_precision.measure` gives them, without its other figures: at a tenth
    of the time.

    ious: how many of the thresholds are wanted, ten for AP, the first for AP50 alone.
    """

    def __init__(self, truth: BoxTable, predicted: BoxTable, ious: int) -> None:
        matches = coco_matches(truth, predicted, sizes=False)
        sample, label, state = predicted.image[matches.rows], predicted.label[matches.rows], matches.state[0, :ious]
        self.names = ("ap", "ap50") if ious == len(THRESHOLDS) else ("ap50",)
        self.classes = [
            ranking(sample[label == k], state[:, label == k], truth.image[truth.label == k])
            for k in range(len(truth.classes))
        ]

    def __call__(self, weights: Float) -> dict[str, Float]:
        """All under each row of `weights` (draws, pictures)."""
        counted = whole(weights, max(len(each.sample) for each in self.classes))
        precision = np.array([each(counted)[0] for each in self.classes])
        found = {"ap": precision.mean(axis=1), "ap50": precision[:, 0]}
        whole_set = {name: np.asarray(np.nanmean(found[name], axis=0)) for name in self.names}
        return whole_set | {f"{name}.{k}": row for name in self.names for k, row in enumerate(found[name])}


def average_precision_of(tables: Tables, names: Sequence[str]) -> Measure:
    """The quick way where every detection has a score."""
    truth, predicted = boxes_of(tables)
    if predicted.scores is None:
        return average_precision.measure(tables)
    return Ap(truth, predicted, len(THRESHOLDS) if "ap" in names else 1)


PARTS = {
    grounding.measure: ("f1", "precision", "recall", "f1_agnostic", "mean_iou"),
    counting.measure: ("count_ratio", "mae", "rmse"),
    hallucination.measure: ("chair_i", "chair_s"),
}


def joined(tables: Tables, names: Sequence[str] = NAMES) -> Measure:
    """The measures that `names` belong to."""
    parts = [part(tables) for part, own in PARTS.items() if set(own) & set(names)]
    return Joined((*([average_precision_of(tables, names)] if {"ap", "ap50"} & set(names) else []), *parts))


@dataclass
class Tally:
    """Intervals seen so far."""

    inside: int = 0
    below: int = 0
    above: int = 0
    width: float = 0.0
    bias: float = 0.0
    runs: int = 0

    def add(self, value: float, low: float, high: float, truth: float) -> None:
        self.runs += 1
        self.below += truth < low
        self.above += truth > high
        self.inside += low <= truth <= high
        self.width += high - low
        self.bias += value - truth

    @property
    def coverage(self) -> float:
        return self.inside / self.runs


def simulate(
    scenes: Scenes,
    runs: int,
    *,
    draws: int,
    rng: np.random.Generator,
    names: Sequence[str] = NAMES,
    rival: Scenes | None = None,
) -> dict[str, Tally]:
    """Coverage of each metric of `names`; with a `rival`, of the difference to it."""

    def value(pictures: int) -> dict[str, float]:
        alone = replace(scenes, sites=0, scored=scenes.scored or None)
        one, *two = (joined(tables, names)(np.ones((1, pictures))) for tables in alone.draw(rng, pictures, rival=rival))
        return {name: float((two[0][name] - one[name] if two else one[name])[0]) for name in names}

    def estimates() -> dict[str, Estimate]:
        one, *two = scenes.draw(rng, rival=rival)
        measure, clusters = joined(one, names), one.outcomes["cluster"]
        if not two:
            return bootstrap(measure, clusters, draws=draws, rng=rng)
        found = difference(measure, joined(two[0], names), clusters, draws=draws, rng=rng)
        return {name: each.difference for name, each in found.items()}

    large = value(LARGE)
    tallies = {name: Tally() for name in names}
    for _ in range(runs):
        found = estimates()
        for name, tally in tallies.items():
            one = found[name]
            if one.value is not None and one.low is not None and one.high is not None:
                tally.add(one.value, one.low, one.high, large[name])
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--only", default=",".join(NAMES), help="metrics, with commas between")
    parser.add_argument("--set", default="", help="sets whose name contains this")
    parser.add_argument("--paired", action="store_true", help="differences to a worse detector on the same pictures")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(NAMES):
        parser.error(f"no such metric: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    print(f"{'':34} {'metric':12} covered  below  above   width   bias")
    for scenes in SETS:
        if options.set not in scenes.name:
            continue
        start = time.perf_counter()
        rng = np.random.default_rng(options.seed)
        rival = replace(scenes, found=0.8 * scenes.found, noise=1.3 * scenes.noise) if options.paired else None
        tallies = simulate(scenes, options.runs, draws=options.draws, rng=rng, names=names, rival=rival)
        for name, tally in tallies.items():
            n = tally.runs
            print(f"{scenes.name:34} {name:12} {100 * tally.coverage:6.1f} %{100 * tally.below / n:6.1f} "
                  f"{100 * tally.above / n:6.1f} {tally.width / n:8.3f} {tally.bias / n:+.4f}", flush=True)  # fmt: skip
        print(f"{'':34} {options.runs} runs, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
