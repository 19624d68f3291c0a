"""Figures of closed answers: accuracy with intervals and baselines, confusion, places of options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snellen.core.tables import Table
from snellen.report.answer_tables import (
    answers_of,
    baselines,
    counts_of,
    example,
    labels_of,
    metric_of,
    questions_of,
    slug,
)
from snellen.report.figures import INKED, SAYS, SERIES, Figure, Spec, field, figure, mark
from snellen.report.grids import percent
from snellen.report.inputs import View


def accuracy_dots(views: Sequence[View]) -> Figure:
    """Accuracy by question: a dot and its interval per run, ticks at the baselines."""
    questions = questions_of(views)
    rows: list[Spec] = []
    ticks: list[Spec] = []
    for question in questions:
        for view in views:
            found = metric_of(view, question, "accuracy")
            if found is None or found.value is None:
                continue
            rows.append(
                {
                    "question": question or "all",
                    "run": view.name,
                    "value": found.value,
                    "low": found.low if found.low is not None else found.value,
                    "high": found.high if found.high is not None else found.value,
                    "says": f"{view.name}, {question}: {percent(found)}",
                }
            )
        table = example(views, question)
        for chance, name in zip(baselines(table), ("guessing evenly", "commonest label"), strict=True):
            if chance.accuracy is not None:
                says = f"{question}, {name}: {percent(chance.accuracy)}"
                ticks.append({"question": question or "all", "value": chance.accuracy, "baseline": name, "says": says})
    names = [view.name for view in views]
    y = field("question:N", sort=[q or "all" for q in questions], title=None)
    x = field("value:Q", scale={"domain": [0, 1]}, axis={"format": ".0%"}, title="accuracy")
    base: Spec = {"y": y, "yOffset": field("run:N", sort=names), "color": run_colour(names), "description": SAYS}
    bars = mark("rule", {**base, "x": field("low:Q", title="accuracy"), "x2": {"field": "high"}}, strokeWidth=2)
    dots = mark("point", {**base, "x": x}, filled=True, size=55, opacity=1)
    dash = field("baseline:N", legend=None)
    marks = mark("tick", {"y": y, "x": x, "description": SAYS, "strokeDash": dash}, rows=ticks, thickness=2,
                 color="#888888", size=max(14, 11 * len(names)))  # fmt: skip
    height = len(questions) * max(26, 12 * len(names) + 10)
    spec: Spec = {"data": {"values": rows}, "layer": [*([marks] if ticks else []), bars, dots], "width": 330,
                  "height": height}  # fmt: skip
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(
        "accuracy-by-question",
        spec,
        title="Accuracy by question",
        alt=f"Accuracy by question with 95 % intervals. {words}.",
        note="Bars: 95 % intervals. Grey ticks: guessing evenly and always saying the commonest label.",
    )


def accuracy_curve(views: Sequence[View], question: str) -> Figure:
    """Accuracy by a numeric label (how many objects), a line per run."""
    rows: list[Spec] = []
    for view in views:
        table = view.asked(question)
        for label in labels_of([view], question):
            here = table["target"] == label
            rows.append(
                {
                    "label": float(label),
                    "run": view.name,
                    "value": float(table["correct"][here].mean()),
                    "says": f"{view.name}, {label}: {percent(float(table['correct'][here].mean()))}"
                    f" of {int(here.sum())}",
                }
            )
    names = [view.name for view in views]
    up = field("value:Q", title="accuracy", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    across = field("label:Q", title="true answer", axis={"tickMinStep": 1, "format": "d"},
                   scale={"zero": False, "nice": False})  # fmt: skip
    line = mark("line", {"x": across, "y": up, "color": run_colour(names), "description": SAYS}, rows=rows,
                point={"filled": True, "size": 45}, strokeWidth=1.5)  # fmt: skip
    spec: Spec = {**line, "width": 330, "height": 220}
    title = f"Accuracy by true answer: {question or 'all questions'}"
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(f"accuracy-curve-{slug(question)}", spec, title=title, alt=f"{title}. {words}.")


def confusion_map(view: View, question: str, *, title: str) -> Figure:
    """Truth (rows) against answer (columns): the share of each row's answers, as colour and number."""
    table = view.asked(question)
    targets, answers = labels_of([view], question), answers_of(table)
    counts = counts_of(table, targets, answers)
    rows: list[Spec] = []
    for i, target in enumerate(targets):
        total = int(counts[i].sum())
        for j, answer in enumerate(answers):
            share = int(counts[i, j]) / total if total else 0.0
            rows.append(
                {
                    "truth": target,
                    "answer": answer,
                    "share": share,
                    "shown": f"{100 * share:.0f}" if share >= 0.005 else "",
                    "ink": "#ffffff" if share < 0.6 else "#000000",
                    "says": f"truth {target}, answer {answer}: {int(counts[i, j])} of {total}",
                }
            )
    spec = share_map(rows, targets, answers, said="answer", size=26 if len(targets) > 4 else 40)
    return figure(
        f"confusion-{slug(question)}-{view.slug}",
        spec,
        title=title,
        alt=f"Confusion of {view.name} on {question or 'all questions'}. {confused_words(table, targets)}",
    )


def share_map(rows: Sequence[Spec], truths: Sequence[str], answers: Sequence[str], *, said: str, size: int) -> Spec:
    """Shares as squares of `size` px, coloured and numbered, truths down and answers across under the title `said`.

    rows: truth, answer, share, shown, ink, says.
    """
    plain: Spec = {"domain": False, "ticks": False}
    base: Spec = {
        "x": field("answer:N", sort=[*answers], title=said, axis={"labelAngle": angle(answers), **plain}),
        "y": field("truth:N", sort=[*truths], title="truth", axis=plain),
        "description": SAYS,
    }
    squares = mark("rect", {"color": field("share:Q", scale={"scheme": "viridis", "domain": [0, 1]}, legend=None)})
    texts = mark("text", {"text": field("shown:N"), "color": INKED}, fontSize=10)
    step: Spec = {"step": size}
    return {"data": {"values": rows}, "encoding": base, "layer": [squares, texts], "width": step, "height": step}


def place_lines(views: Sequence[View], question: str) -> Figure:
    """Which place among the options the runs choose, beside where the right option stood."""
    table = example(views, question)
    k = int(table["options"].max())
    rows: list[Spec] = []
    lines = [("right option", "place", table)]
    lines += [(view.name, "chosen", view.asked(question)) for view in views if knows_options(view, question)]
    for name, column, found in lines:
        shares = place_shares(found, column, k)
        rows += [
            {"place": i + 1, "share": s, "run": name, "says": f"{name}, place {i + 1}: {percent(s)}"}
            for i, s in enumerate(shares)
        ]
    names = ["right option", *(view.name for view in views)]
    scale: Spec = {"domain": [*names], "range": ["#888888", *(SERIES[i % len(SERIES)] for i in range(len(views)))]}
    dash: Spec = {"condition": {"test": "datum.run == 'right option'", "value": [4, 3]}, "value": [1, 0]}
    encoding: Spec = {
        "x": field("place:O", title="place among the options", axis={"labelAngle": 0}),
        "y": field("share:Q", title="share of answers", axis={"format": ".0%"}, scale={"zero": True}),
        "color": field("run:N", sort=[*names], scale=scale, legend=legend(names)),
        "strokeDash": dash,
        "description": SAYS,
    }
    line = mark("line", encoding, rows=rows, point={"filled": True, "size": 40}, strokeWidth=1.5)
    spec: Spec = {**line, "width": 240, "height": 150}
    title = (question or "all questions").capitalize()
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(f"places-{slug(question)}", spec, title=title, alt=f"Places chosen. {title}: {words}.")


def knows_options(view: View, question: str) -> bool:
    """Whether the run was asked the question, and with options whose order is known."""
    return question in view.questions and bool((view.asked(question)["options"] > 1).all())


def place_shares(table: Table, column: str, k: int) -> list[float]:
    """Share of `place` or `chosen` at each of `k` places, among those that are at any."""
    places = table[column]
    counts = np.bincount(places[places >= 0], minlength=k)[:k]
    return [float(count) / max(1, int(counts.sum())) for count in counts]


def confused_words(table: Table, targets: Sequence[str], *, most: int = 3) -> str:
    """The commonest confusions in words."""
    wrong = table.take(~table["correct"].astype(np.bool_))
    pairs: dict[tuple[str, str], int] = {}
    for pair in zip(wrong["target"].tolist(), wrong["answer"].tolist(), strict=True):
        pairs[pair] = pairs.get(pair, 0) + 1
    if not pairs:
        return "No confusions."
    common = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:most]
    said = [f"{t} taken for {a} {n} times of {int((table['target'] == t).sum())}" for (t, a), n in common]
    return f"Commonest: {', '.join(said)}."


def angle(labels: Sequence[str]) -> int:
    """Labels of a narrow axis are turned where they are longer than two letters."""
    return -45 if max(map(len, labels), default=0) > 2 else 0


def run_colour(names: Sequence[str], name: str = "run") -> Spec:
    """The colour of each run (or of what else the field `name` holds), with a legend where there are several."""
    scale: Spec = {"domain": [*names], "range": [SERIES[i % len(SERIES)] for i in range(len(names))]}
    return field(f"{name}:N", sort=[*names], scale=scale, legend=legend(names))


def legend(names: Sequence[str]) -> Spec | None:
    """The legend of runs below the figure, where there are several."""
    return {"title": None, "orient": "bottom", "columns": 1} if len(names) > 1 else None
