"""Sections about closed answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from snellen.core.tables import Table
from snellen.report import acuity, calibration, findings
from snellen.report import answer_figures as figures
from snellen.report import answer_tables as tables
from snellen.report.blocks import Block, Row, Section, Text
from snellen.report.cells import cells, has_cells
from snellen.report.comparisons import ablation, varied
from snellen.report.figures import NINE, Figure
from snellen.report.inputs import View
from snellen.report.maps import abbreviations, accuracy_map, range_of, response_map

STRATA_SKIPPED = frozenset({"question", "text", "cell_row", "cell_col", "draw", "entity"})
CENSUS = (
    "These settings were answered whole: for a model that always answers alike the figures are a census, "
    "and the intervals speak of further scenes of the same kind."
)


def sections(views: Sequence[View]) -> list[Section]:
    """All sections that these runs of closed questions have something for."""
    makers = (
        accuracy,
        acuity.section,
        findings.section,
        classes,
        field,
        responses,
        confusions,
        calibration.section,
        order,
        style,
        strata,
        ablations,
    )
    made = (make(views) for make in makers)
    return [section for section in made if section.blocks]


def accuracy(views: Sequence[View]) -> Section:
    """Accuracy by question beside the baselines (Tables 2, 3, 5), and by the number asked for."""
    blocks: list[Block] = [Row((figures.accuracy_dots(views),)), tables.by_question(views)]
    if len(tables.questions_of(views)) > 1:
        blocks.append(tables.by_question(views, metric="macro_f1", title="Macro-F1 by question, %"))
    numeric = [q for q in tables.questions_of(views) if _numeric(tables.labels_of(views, q))]
    blocks += [Row((figures.accuracy_curve(views, question),)) for question in numeric]
    if all(view.run.manifest.selection.everything and "on_common" not in view.results.facts for view in views):
        blocks.append(Text(CENSUS, "note"))
    return Section("accuracy", "How much is answered right", tuple(blocks))


def classes(views: Sequence[View]) -> Section:
    """F1 of every label of every question (Tables 4, 6, 7, 13 to 16, 18)."""
    lead = "F1 of each answer: it falls when the answer is missed, and when it is given where another was right."
    grids = tuple(tables.f1_by_class(views, question) for question in tables.questions_of(views))
    return Section("classes", "F1 by class", tuple(g for g in grids if len(g.columns) > 1), lead)


def field(views: Sequence[View]) -> Section:
    """Accuracy in each cell (Figures 2, 4 to 6); maps of one question share their colours."""
    made: dict[str, list[Figure]] = {}
    for question in tables.questions_of(views):
        asked = [view for view in views if question in view.questions and has_cells(view.asked(question))]
        found = [cells(view.asked(question)) for view in asked]
        span = range_of(found)
        for view, here in zip(asked, found, strict=True):
            title = _name(question) if len(views) == 1 else view.name
            figure = accuracy_map(f"cells-{tables.slug(question)}-{view.slug}", here, title=title, span=span)
            made.setdefault(question, []).append(figure)
    lead = (
        "Per cent right by the cell in which the object asked about stands (for counts: the distractor), from dark "
        "(low) to bright (high). Maps of one question share their range of colours."
    )
    return Section("field", "The visual field", beside(views, made), lead)


def responses(views: Sequence[View]) -> Section:
    """The commonest answer in each cell, for questions whose truth is the place (Figure 3)."""
    together = tables.agreement(views)
    blocks: list[Block] = [] if together is None else [together]
    for question in tables.questions_of(views):
        asked = [view for view in views if question in view.questions and _about_place(view.asked(question))]
        labels = tables.labels_of(asked, question)
        if not asked or len(labels) > len(NINE):
            continue
        colours = dict(zip(labels, NINE, strict=False))
        short = abbreviations(labels)
        maps = tuple(
            response_map(f"answers-{tables.slug(question)}-{view.slug}", cells(view.asked(question)),
                         title=view.name, colours=colours, short=short)
            for view in asked
        )  # fmt: skip
        key = ", ".join(f"{short[label]} {label}" for label in labels)
        note = f"{key}; · outside the options, = a tie."
        blocks += [Text(_name(question), "heading"), Row(maps), Text(note, "note")]
    lead = (
        "The commonest answer in each cell. Colours fade towards white as fewer answers agree; "
        "dashed lines stand between the true sections."
    )
    return Section("responses", "Where each answer is given", tuple(blocks), lead)


def confusions(views: Sequence[View]) -> Section:
    """Truth against answer for each question."""
    made: dict[str, list[Figure]] = {}
    for question in tables.questions_of(views):
        for view in (view for view in views if question in view.questions):
            title = _name(question) if len(views) == 1 else view.name
            made.setdefault(question, []).append(figures.confusion_map(view, question, title=title))
    lead = "Rows are the truth, columns the answer; each row adds up to 100 %."
    return Section("confusion", "What is taken for what", beside(views, made), lead)


def beside(views: Sequence[View], made: Mapping[str, Sequence[Figure]]) -> tuple[Block, ...]:
    """Figures by question: of one run all in a row, of several a row of runs under each question's heading."""
    if not made:
        return ()
    if len(views) == 1:
        return (Row(tuple(figure for some in made.values() for figure in some)),)
    return tuple(
        block for question, some in made.items() for block in (Text(_name(question), "heading"), Row(tuple(some)))
    )


def order(views: Sequence[View]) -> Section:
    """Whether the place of an option among those offered draws answers."""
    known = [q for q in tables.questions_of(views) if any(figures.knows_options(view, q) for view in views)]
    maps = tuple(figures.place_lines(views, question) for question in known)
    lead = "A model that looks at the picture chooses each place as often as the right option stands there."
    return Section("order", "The order of the options", (Row(maps),) if maps else (), lead)


def style(views: Sequence[View]) -> Section:
    """Answer lengths and `other` rates (Tables 10 and 11)."""
    title = "Replies that name no single option, by question, %"
    other = tables.by_question(views, metric="other_rate", title=title)
    lengths = tables.lengths(views)
    return Section("style", "How it answers", (*([lengths] if lengths.rows else []), other))


def strata(views: Sequence[View]) -> Section:
    """Accuracy by each attribute of few values."""
    names = dict.fromkeys(name for view in views for name in view.results.groups if name not in STRATA_SKIPPED)
    grids = tuple(tables.by_attribute(views, name) for name in names)
    return Section("strata", "By what is shown", grids, "Accuracy over all questions, by a factor of the scene.")


def ablations(views: Sequence[View]) -> Section:
    """Differences between runs of one model whose stimuli differ in one option (Tables 8, 9, 12)."""
    questions = tables.questions_of(views)
    found = (ablation(views, option, a, b, questions=questions) for option, a, b in varied(views))
    return Section("ablations", "What a change of the stimuli does", tuple(grid for grid in found if grid is not None))


def _numeric(labels: Sequence[str]) -> bool:
    return len(labels) > 2 and all(label.isdecimal() for label in labels)


def _about_place(table: Table) -> bool:
    """Whether the truth follows from the cell, and differs between cells."""
    if not has_cells(table) or len(np.unique(table["target"])) < 2:
        return False
    truths = set(
        zip(table["attr.cell_row"].tolist(), table["attr.cell_col"].tolist(), table["target"].tolist(), strict=True)
    )
    return len(truths) == len({(row, column) for row, column, _ in truths})


def _name(question: str) -> str:
    return question.replace("_", " ").capitalize() if question else "All questions"
