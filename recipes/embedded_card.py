"""The scores of docs/embedded.md: every exam of the card, asked of the embedded model over its server.

    python recipes/embedded_card.py runs/tiny                                  the model that travels with the package
    python recipes/embedded_card.py runs/other --path out/model                another training of the recipe
    python recipes/embedded_card.py runs/other --against runs/tiny             ... and its difference from a first one
    python recipes/embedded_card.py runs/third --path out/third --within runs/tiny runs/other

Prints Markdown: n, score and 95 % interval; with `--against`, other minus first on the same samples; with `--within`,
the spread of earlier trainings (from the lowest of their intervals' ends to the highest) and whether the score lies in
it. What is answered already is not asked again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from embedded_scenes import HELD_OUT

from snellen import ModelSpec, Run, build_model, compare, open_task, run, score
from snellen.core.estimates import Estimate
from snellen.statistics.intervals import wilson


class Exam(NamedTuple):
    """An exam of the card: its task and how many samples are drawn (None: all)."""

    task: Mapping[str, Any]
    sample: int | None


CLOSED = {
    "single object": Exam({"task": "civet/single-object"}, 1000),
    "single object, small": Exam({"task": "civet/single-object", "size": "small"}, 400),
    "counting": Exam({"task": "civet/counting"}, 392),
    "relative distance": Exam({"task": "civet/relative-distance"}, 400),
    "relative size": Exam({"task": "civet/relative-size"}, 400),
    "relative position": Exam({"task": "civet/relative-position"}, 400),
    "acuity": Exam({"task": "civet/acuity"}, 600),
}
BOXES = {
    "detection scenes": Exam({"task": "civet/detection"}, None),
    "one object": Exam({"task": "civet/detection", "objects": [1], "scenes": 100}, None),
    "large objects": Exam({"task": "civet/detection", "objects": [1, 2, 3], "grid": 3, "sizes": ["regular"],
                           "scenes": 150}, None),
}  # fmt: skip
FIRST = ("accuracy", "f1")
OTHERS = ("f1_agnostic", "recall", "ap50", "parse_rate", "count_ratio", "chair_i")


def short(x: float | None) -> str:
    """`.978`; an undefined value is a dash."""
    if x is None:
        return "-"
    return f"{x:.3f}".replace("0.", ".", 1) if abs(x) < 0.9995 else f"{x:.3f}"


def told(estimate: Estimate) -> str:
    """A value with its interval, `.978 (.967 to .985)`."""
    return f"{short(estimate.value)} ({short(estimate.low)} to {short(estimate.high)})"


def figures(name: str, made: Run) -> dict[tuple[str, str], Estimate]:
    """What one exam shows, by its words and, where it is one, the metric: the first metric, then what else there is."""
    results = score(made)
    found = {(name if metric in FIRST else f"- {metric}", metric): results.metrics[metric]
             for metric in (*FIRST, *OTHERS) if metric in results.metrics}  # fmt: skip
    kinds = results.groups.get("question", {}) or results.groups.get("object_px", {})
    found |= {(f"- {kind}", ""): of["accuracy"] for kind, of in kinds.items() if len(kinds) > 1}
    sources = results.groups.get("score source", {})
    found |= {(f"- ap50, scores: {source}", ""): of["ap50"] for source, of in sources.items()}
    return found


def spread(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """From the lowest end of the intervals to the highest."""
    return min(e.low for e in estimates if e.low is not None), max(e.high for e in estimates if e.high is not None)


def table(name: str, made: Run, *, against: Run | None, within: Sequence[Run]) -> None:
    """The lines of one exam."""
    earlier = [figures(name, each) for each in within]
    more = compare(against, made).differences if against else {}
    for (words, metric), estimate in figures(name, made).items():
        cells = [words, f"{estimate.n:,}", told(estimate)]
        if metric in more:
            cells.append(told(more[metric].difference))
        if earlier:
            low, high = spread([each[words, metric] for each in earlier])
            inside = estimate.value is not None and low <= estimate.value <= high
            cells += [f"{short(low)} to {short(high)}", "yes" if inside else "**no**"]
        print(f"| {' | '.join(cells)} |", flush=True)


def unseen(made: Run) -> None:
    """Single objects by kind of question: pairs of shape and colour that training never drew, and all others."""
    rows = made.tables().outcomes
    pairs = zip(rows["attr.shape"], rows["attr.colour"], strict=True)
    new = np.array([pair in HELD_OUT for pair in pairs])
    for kind in np.unique(rows["question"]):
        for words, chosen in (("pairs seen", ~new), ("pairs never seen", new)):
            right = rows["correct"][chosen & (rows["question"] == kind)]
            found = wilson(int(right.sum()), len(right))
            print(f"| {kind}, {words} | {found.n} | {told(found)} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder of the runs, one an exam")
    parser.add_argument("--path", help="folder of the model; without it, embedded/snellen-tiny")
    parser.add_argument("--against", type=Path, help="the runs of another model, to be taken off")
    parser.add_argument("--within", type=Path, nargs="+", default=[], help="the runs of earlier trainings")
    options = parser.parse_args()
    spec = ["path=" + options.path] if options.path else []
    model = build_model(ModelSpec.parse("embedded" if options.path else "embedded/snellen-tiny", spec))
    try:
        for name, exam in {**CLOSED, **BOXES}.items():
            folder = name.replace(",", "").replace(" ", "-")
            made = run(open_task(exam.task), model, options.runs / folder, sample=exam.sample)
            against = Run.open(options.against / folder) if options.against else None
            table(name, made, against=against, within=[Run.open(runs / folder) for runs in options.within])
    finally:
        model.close()
    unseen(Run.open(options.runs / "single-object"))


if __name__ == "__main__":
    main()
