"""Figures of closed answers: accuracy with intervals and baselines, confusion, places of options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snellen.core.specs import Json
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
from snellen.report.figures import SERIES, Figure, figure, ink
from snellen.report.grids import percent
from snellen.report.inputs import View


def accuracy_dots(views: Sequence[View]) -> Figure:
    """Accuracy by question: a dot and its interval per run, ticks at the baselines."""
    import altair as alt

    questions = questions_of(views)
    rows: list[dict[str, Json]] = []
    ticks: list[dict[str, Json]] = []
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
    y = alt.Y("question:N", sort=[q or "all" for q in questions], title=None)
    x = alt.X("value:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"), title="accuracy")
    offset = alt.YOffset("run:N", sort=names)
    colour = alt.Color("run:N", sort=names, scale=series(names), legend=legend(names))
    base = alt.Chart(alt.Data(values=rows)).encode(y=y, yOffset=offset, color=colour, description="says:N")
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="accuracy"), x2="high:Q")
    dots = base.mark_point(filled=True, size=55, opacity=1).encode(x=x)
    marks = (
        alt.Chart(alt.Data(values=ticks))
        .mark_tick(thickness=2, color="#888888", size=max(14, 11 * len(names)))
        .encode(y=y, x=x, description="says:N", strokeDash=alt.StrokeDash("baseline:N", legend=None))
    )
    chart = alt.layer(*([marks] if ticks else []), bars, dots).properties(
        width=330, height=len(questions) * max(26, 12 * len(names) + 10)
    )
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(
        "accuracy-by-question",
        chart,
        title="Accuracy by question",
        alt=f"Accuracy by question with 95 % intervals. {words}.",
        note="Bars: 95 % intervals. Grey ticks: guessing evenly and always saying the commonest label.",
    )


def accuracy_curve(views: Sequence[View], question: str) -> Figure:
    """Accuracy by a numeric label (how many objects), a line per run."""
    import altair as alt

    rows: list[dict[str, Json]] = []
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
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=45), strokeWidth=1.5)
        .encode(
            x=alt.X(
                "label:Q",
                title="true answer",
                axis=alt.Axis(tickMinStep=1, format="d"),
                scale=alt.Scale(zero=False, nice=False),
            ),
            y=alt.Y("value:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%")),
            color=alt.Color("run:N", sort=names, scale=series(names), legend=legend(names)),
            description="says:N",
        )
        .properties(width=330, height=220)
    )
    title = f"Accuracy by true answer: {question or 'all questions'}"
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(f"accuracy-curve-{slug(question)}", chart, title=title, alt=f"{title}. {words}.")


def confusion_map(view: View, question: str, *, title: str) -> Figure:
    """Truth (rows) against answer (columns): the share of each row's answers, as colour and number."""
    import altair as alt

    table = view.asked(question)
    targets, answers = labels_of([view], question), answers_of(table)
    counts = counts_of(table, targets, answers)
    rows: list[dict[str, Json]] = []
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
    size = 26 if len(targets) > 4 else 40
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "answer:N",
            sort=answers,
            title="answer",
            axis=alt.Axis(labelAngle=angle(answers), domain=False, ticks=False),
        ),
        y=alt.Y("truth:N", sort=targets, title="truth", axis=alt.Axis(domain=False, ticks=False)),
        description="says:N",
    )
    squares = base.mark_rect().encode(
        color=alt.Color("share:Q", scale=alt.Scale(scheme="viridis", domain=[0, 1]), legend=None)
    )
    texts = base.mark_text(fontSize=10).encode(text="shown:N", color=ink())
    chart = alt.layer(squares, texts).properties(width=alt.Step(size), height=alt.Step(size))
    return figure(
        f"confusion-{slug(question)}-{view.slug}",
        chart,
        title=title,
        alt=f"Confusion of {view.name} on {question or 'all questions'}. {confused_words(table, targets)}",
    )


def place_lines(views: Sequence[View], question: str) -> Figure:
    """Which place among the options the runs choose, beside where the right option stood."""
    import altair as alt

    table = example(views, question)
    k = int(table["options"].max())
    rows: list[dict[str, Json]] = []
    lines = [("right option", "place", table)]
    lines += [(view.name, "chosen", view.asked(question)) for view in views if knows_options(view, question)]
    for name, column, found in lines:
        shares = place_shares(found, column, k)
        rows += [
            {"place": i + 1, "share": s, "run": name, "says": f"{name}, place {i + 1}: {percent(s)}"}
            for i, s in enumerate(shares)
        ]
    names = ["right option", *(view.name for view in views)]
    scale = alt.Scale(domain=names, range=["#888888", *(SERIES[i % len(SERIES)] for i in range(len(views)))])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=40), strokeWidth=1.5)
        .encode(
            x=alt.X("place:O", title="place among the options", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="share of answers", axis=alt.Axis(format=".0%"), scale=alt.Scale(zero=True)),
            color=alt.Color("run:N", sort=names, scale=scale, legend=legend(names)),
            strokeDash=alt.condition("datum.run == 'right option'", alt.value([4, 3]), alt.value([1, 0])),
            description="says:N",
        )
        .properties(width=240, height=150)
    )
    title = (question or "all questions").capitalize()
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(f"places-{slug(question)}", chart, title=title, alt=f"Places chosen. {title}: {words}.")


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


def series(names: Sequence[str]) -> object:
    """The colour scale of runs."""
    import altair as alt

    return alt.Scale(domain=list(names), range=[SERIES[i % len(SERIES)] for i in range(len(names))])


def legend(names: Sequence[str]) -> object:
    """The legend of runs below the figure, where there are several."""
    import altair as alt

    return alt.Legend(title=None, orient="bottom", columns=1) if len(names) > 1 else None
