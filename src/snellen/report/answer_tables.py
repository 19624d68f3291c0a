"""Tables of closed answers: the paper's Tables 2 to 7 and 10 to 18 for whatever exam was taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from snellen.core.estimates import Estimate
from snellen.core.tables import Table, Tables
from snellen.report.grids import Cell, Column, Grid, show
from snellen.report.inputs import View
from snellen.scoring.baselines import Baseline, majority, uniform

WHOLE = "all questions"


def headline(views: Sequence[View]) -> Grid:
    """Accuracy, macro-F1, `other` rate and answer length of each run, with intervals."""
    columns = (
        Column("Run"),
        Column("Answers", "count"),
        Column("Accuracy, %", "percent"),
        Column("Macro-F1, %", "percent"),
        Column("Other, %", "percent"),
        Column("Words per reply", "number"),
    )
    rows = tuple(
        (
            view.name,
            len(view.outcomes),
            *(view.results.metrics.get(name) for name in ("accuracy", "macro_f1", "other_rate", "words")),
        )
        for view in views
    )
    note = "Brackets: 95 % intervals. Other: replies from which none, or more than one, of the options could be read."
    return Grid("headline", "What was scored, and how well", columns, rows, note)


def by_question(views: Sequence[View], *, metric: str = "accuracy", title: str = "Accuracy by question, %") -> Grid:
    """A row per run and, for accuracy and macro-F1, the baselines: guessing evenly, always the commonest label."""
    questions = questions_of(views)
    rows: list[tuple[Cell, ...]] = []
    if metric in {"accuracy", "macro_f1"}:
        chance = [baselines(example(views, question)) for question in questions]
        rows.append(("guessing evenly", *(getattr(even, metric) for even, _ in chance)))
        rows.append(("always the commonest label", *(getattr(same, metric) for _, same in chance)))
    rows += [(view.name, *(metric_of(view, question, metric) for question in questions)) for view in views]
    columns = (Column("Run"), *(Column(_title(q), "percent") for q in questions))
    asked = ", ".join(f"{q} {len(example(views, q)):,}" for q in questions)
    return Grid(f"{metric}-by-question", title, columns, tuple(rows), f"Questions asked: {asked}.")


def f1_by_class(views: Sequence[View], question: str) -> Grid:
    """F1 of every label of a question, a row per run (Tables 4, 6, 7, 13 to 16, 18)."""
    labels = labels_of(views, question)
    rows = tuple(
        (view.name, *(view.results.per_class.get(label, {}).get("f1") for label in labels))
        for view in views
        if question in view.questions
    )
    columns = (Column("Run"), *(Column(label, "percent") for label in labels))
    return Grid(f"f1-{slug(question)}", f"F1 by class, %: {question or WHOLE}", columns, rows)


def lengths(views: Sequence[View]) -> Grid:
    """Mean answer length in words and its standard deviation, by question (Table 10)."""
    questions = questions_of(views)
    rows = []
    for view in views:
        cells: list[Cell] = [view.name]
        for question in questions:
            mean, spread = (metric_of(view, question, name) for name in ("words", "words_sd"))
            known = mean is not None and mean.value is not None
            cells.append(f"{show(mean, 'number').value} ± {show(spread, 'number').value}" if known else None)
        if any(cell is not None for cell in cells[1:]):
            rows.append(tuple(cells))
    columns = (Column("Run"), *(Column(_title(q)) for q in questions))
    note = "Words per reply, mean ± standard deviation."
    return Grid("answer-length", "Answer length by question", columns, tuple(rows), note)


def by_attribute(views: Sequence[View], attribute: str) -> Grid:
    """Accuracy for each value of an attribute, a row per value, a column per run."""
    values = list(dict.fromkeys(v for view in views for v in view.results.groups.get(attribute, {})))
    rows = tuple(
        (value, *(view.results.groups.get(attribute, {}).get(value, {}).get("accuracy") for view in views))
        for value in in_order(values)
    )
    columns = (Column(_title(attribute)), *(Column(view.name, "percent") for view in views))
    return Grid(f"by-{slug(attribute)}", f"Accuracy by {attribute.replace('_', ' ')}, %", columns, rows)


def agreement(views: Sequence[View]) -> Grid | None:
    """How far raters agree, by question, beyond chance; None where no run has raters."""
    rows: list[tuple[Cell, ...]] = [
        (view.name, question, str(found["method"]), Estimate(found["value"], found.get("low"), found.get("high")),
         found.get("items"), found.get("ratings"), found.get("ties"))
        for view in views
        for question, found in view.results.facts.get("agreement", {}).items()
    ]  # fmt: skip
    columns = (Column("Run"), Column("Question"), Column("Measure"), Column("Agreement", "number"),
               Column("Samples", "count"), Column("Ratings", "count"), Column("Ties", "count"))  # fmt: skip
    note = "1 is full agreement, 0 what chance gives. Ties: samples without a majority."
    return Grid("agreement", "Agreement of the raters", columns, tuple(rows), note) if rows else None


def counts_of(
    table: Table, targets: Sequence[str], answers: Sequence[str]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Answers to each truth: int (targets, answers)."""
    return np.array(
        [[int(((table["target"] == t) & (table["answer"] == a)).sum()) for a in answers] for t in targets],
        dtype=np.int64,
    ).reshape(len(targets), len(answers))


def answers_of(table: Table) -> list[str]:
    """Targets in order, then further answers that were given, `other` last."""
    targets, given = set(table["target"].tolist()), set(table["answer"].tolist())
    return [*in_order(targets), *in_order(given - targets - {"other"}), *(["other"] if "other" in given else [])]


def labels_of(views: Sequence[View], question: str) -> list[str]:
    """The true labels of a question, in reading order for sections, numbers by size, words by alphabet."""
    found = {label for view in views if question in view.questions for label in view.asked(question)["target"].tolist()}
    return in_order(found)


def questions_of(views: Sequence[View]) -> tuple[str, ...]:
    """Questions of any of the runs, in order of appearance."""
    return tuple(dict.fromkeys(question for view in views for question in view.questions))


def metric_of(view: View, question: str, metric: str) -> Estimate | None:
    """A metric of one kind of question; of the whole run where there is only one kind."""
    if question not in view.questions:
        return None
    if len(view.questions) == 1:
        return view.results.metrics.get(metric)
    return view.results.groups.get("question", {}).get(question, {}).get(metric)


def baselines(table: Table) -> tuple[Baseline, Baseline]:
    """What guessing evenly among the options offered gives, and always giving the commonest label."""
    tables = Tables(table, None, tuple(in_order(table["target"].tolist())))
    return uniform(tables), majority(tables)


_READING_ORDER: Mapping[str, int] = {
    word: place
    for place, word in enumerate(
        [f"{v} {h}" if v != h else v for v in ("top", "center", "bottom") for h in ("left", "center", "right")]
        + ["above left", "directly above", "above right", "directly left", "directly right", "below left",
           "directly below", "below right", "smaller", "same", "larger"]
    )
}  # fmt: skip


def in_order(labels: Sequence[str] | set[str]) -> list[str]:
    """Places in reading order, numbers by size, then words by alphabet."""

    def rank(label: str) -> tuple[int, float, str]:
        if label in _READING_ORDER:
            return 0, _READING_ORDER[label], label
        try:
            return 1, float(label), label
        except ValueError:
            return 2, 0.0, label

    return sorted(set(labels), key=rank)


def slug(text: str) -> str:
    """A file name of lower-case letters, digits and hyphens."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower()).strip("-") or "all"


def example(views: Sequence[View], question: str) -> Table:
    """The outcomes of a run that was asked the question, one that knows its options where there is one."""
    found = [view.asked(question) for view in views if question in view.questions]
    return next((table for table in found if (table["options"] > 0).all()), found[0])


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize() if name else WHOLE.capitalize()
