"""How often 95 % intervals of closed answers contain the truth: accuracy, macro-F1, paired differences, thresholds.

    python benchmarks/coverage_answers.py [--runs 1000] [--only accuracy]

Each case simulates exams whose true value is known (from a very large exam of the same kind) and counts how often the
interval contains it. Clusters (scenes with several questions, sites) have a difficulty of their own. With 1,000 runs
a coverage of 95 % is known to +- 1.4 points.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from snellen.core.tables import Table, Tables
from snellen.scoring.choice import measure
from snellen.statistics.intervals import bootstrap
from snellen.statistics.paired import difference
from snellen.statistics.psychometrics import fit

DRAWS = 1000
LARGE = 200_000
LADDER = 63 * np.array([0.09, 0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0])


@dataclass(frozen=True)
class Exam:
    """clusters x size questions with `classes` labels; accuracy in the middle, the labels' spread and the clusters'
    spread about it (logits); sizes vary from 1 to 2 x size - 1 where `uneven`.
    """

    name: str
    clusters: int
    size: int = 1
    classes: int = 4
    accuracy: float = 0.7
    labels: float = 1.0
    spread: float = 0.0
    uneven: bool = False

    def draw(self, rng, models=1, clusters=None, gain=0.4):
        """Cluster of each question, and for each model the tables; the second model is better by `gain` logits."""
        m = clusters or self.clusters
        sizes = rng.integers(1, 2 * self.size, m) if self.uneven else np.full(m, self.size)
        cluster = np.repeat(np.arange(m), sizes)
        target = rng.integers(0, self.classes, len(cluster))
        ease = (
            np.log(self.accuracy / (1 - self.accuracy)) + np.linspace(-self.labels, self.labels, self.classes)[target]
        )
        ease = ease + rng.normal(0, self.spread, m)[cluster] if self.spread else ease
        shared = rng.normal(0, 1.0, len(cluster)) if models > 1 else 0.0
        out = []
        for k in range(models):
            right = rng.random(len(cluster)) < 1 / (1 + np.exp(-(ease + shared + gain * k)))
            off = np.where(rng.random(len(cluster)) < 0.7, 1, rng.integers(1, self.classes, len(cluster)))
            out.append(_tables(cluster, target, np.where(right, target, (target + off) % self.classes), self.classes))
        return cluster, out


EXAMS = (
    Exam("60 scenes, one question", 60),
    Exam("200 scenes, one question, 9 labels", 200, classes=9, accuracy=0.6),
    Exam("200 scenes, one question, 93 % right", 200, accuracy=0.93),
    Exam("25 scenes x 4 questions", 25, size=4, spread=1.0),
    Exam("50 scenes x 4 questions, 90 % right", 50, size=4, accuracy=0.9, spread=1.0),
    Exam("81 scenes x 4 questions, 9 labels", 81, size=4, classes=9, spread=1.0),
    Exam("30 sites of 1 to 15 pictures", 30, size=8, spread=1.0, uneven=True),
)


@dataclass
class Tally:
    """Intervals seen so far."""

    inside: int = 0
    below: int = 0
    above: int = 0
    width: float = 0.0
    runs: int = 0

    def add(self, low, high, truth):
        self.runs += 1
        self.below += truth < low
        self.above += truth > high
        self.inside += low <= truth <= high
        self.width += high - low

    @property
    def coverage(self):
        return self.inside / self.runs


def intervals(exam: Exam, runs: int, rng) -> dict[str, Tally]:
    """Of accuracy, macro-F1 and one label's F1."""
    names = ("accuracy", "macro_f1", "f1.0")
    _, (large,) = exam.draw(rng, clusters=LARGE)
    truth = measure(large)(np.ones((1, len(large.outcomes))))
    tallies = {name: Tally() for name in names}
    for _ in range(runs):
        cluster, (tables,) = exam.draw(rng)
        found = bootstrap(measure(tables), cluster, draws=DRAWS, rng=rng)
        for name, tally in tallies.items():
            if name in found and found[name].low is not None:
                tally.add(found[name].low, found[name].high, truth[name][0])
    return tallies


def differences(exam: Exam, runs: int, rng) -> dict[str, Tally]:
    """Of accuracy and macro-F1 of two models, B minus A."""
    names = ("accuracy", "macro_f1")
    _, large = exam.draw(rng, models=2, clusters=LARGE)
    a, b = (measure(t)(np.ones((1, len(t.outcomes)))) for t in large)
    tallies = {f"difference of {name}": Tally() for name in names}
    for _ in range(runs):
        cluster, (one, two) = exam.draw(rng, models=2)
        found = difference(measure(one), measure(two), cluster, draws=DRAWS, rng=rng)
        for name in names:
            interval = found[name].difference
            if interval.low is not None:
                tallies[f"difference of {name}"].add(interval.low, interval.high, b[name][0] - a[name][0])
    return tallies


@dataclass(frozen=True)
class Ladder:
    """n answers at each of eight sizes, `size` of a scene each, alike by `icc` (of a normal copula)."""

    name: str
    n: int
    threshold: float = 16.0
    slope: float = 3.0
    lapse: float = 0.0
    chance: float = 0.25
    size: int = 1
    icc: float = 0.0


LADDERS = (
    Ladder("acuity, 324 answers a size", 324),
    Ladder("acuity, a section: 36 answers a size", 36),
    Ladder("acuity, a section, 10 % lapses", 36, lapse=0.1),
    Ladder("acuity, steep", 36, slope=8.0),
    Ladder("acuity, 20 scenes x 4 answers a size", 80, lapse=0.05, size=4, icc=0.5),
)


def thresholds(ladder: Ladder, runs: int, rng) -> dict[str, Tally]:
    """Of the psychometric threshold; an open end counts as infinitely far."""
    from scipy.special import ndtr

    above = 1 - ladder.chance - ladder.lapse
    half = (1 - ladder.chance) / 2 / above
    x = np.repeat(LADDER, ladder.n)
    z = ladder.slope * np.log(x / ladder.threshold) + np.log(half / (1 - half))
    p = ladder.chance + above / (1 + np.exp(-z))
    cluster = np.arange(len(x)) // ladder.size
    tally = Tally()
    for _ in range(runs):
        common = rng.normal(0, 1, cluster[-1] + 1)[cluster]
        score = ndtr(np.sqrt(ladder.icc) * common + np.sqrt(1 - ladder.icc) * rng.normal(0, 1, len(x)))
        found = fit(x, score < p, chance=ladder.chance, clusters=cluster).threshold
        tally.add(found.low or 0.0, np.inf if found.high is None else found.high, ladder.threshold)
    return {"threshold": tally}


def cases() -> Iterator[tuple[str, Callable[[int, np.random.Generator], dict[str, Tally]]]]:
    """Everything that is simulated: a name and what to call with the number of runs and a generator."""
    for exam in EXAMS:
        yield exam.name, lambda runs, rng, exam=exam: intervals(exam, runs, rng)
        yield exam.name, lambda runs, rng, exam=exam: differences(exam, runs, rng)
    for ladder in LADDERS:
        yield ladder.name, lambda runs, rng, ladder=ladder: thresholds(ladder, runs, rng)


def _tables(cluster, target, answer, classes) -> Tables:
    labels = tuple(str(i) for i in range(classes))
    names = np.array(labels)
    n = len(cluster)
    columns = {
        "sample": np.arange(n), "cluster": cluster, "question": np.full(n, "q"), "target": names[target],
        "answer": names[answer], "correct": target == answer, "words": np.full(n, np.nan),
        "options": np.full(n, classes), "place": target, "chosen": answer,
    }  # fmt: skip
    present = tuple(label for label in labels if (names[target] == label).any())
    return Tables(Table(columns), None, present)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="cases whose metric contains this")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'':40} {'metric':26} covered  below  above  width")
    start = time.perf_counter()
    for name, simulate in cases():
        for metric, tally in simulate(options.runs, np.random.default_rng(options.seed)).items():
            if options.only in metric and tally.runs:
                n = tally.runs
                print(
                    f"{name:40} {metric:26} {100 * tally.coverage:6.1f} % {100 * tally.below / n:5.1f}  "
                    f"{100 * tally.above / n:5.1f}  {tally.width / n:.3f}",
                    flush=True,
                )
    print(f"{options.runs} runs a case, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
