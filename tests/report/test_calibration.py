"""The section on confidences: what it shows of which runs, and that its figures are those of the results."""

from __future__ import annotations

import json

from snellen.core.stages import Reply, Token
from snellen.report.answers import sections
from snellen.report.calibration import section, shown_bins
from snellen.report.inputs import views_of
from vega_lite import check


def surely(prompt):
    """The first option; its tokens are surer the shorter it is."""
    text = prompt.labels[0]
    return Reply(text, tokens=tuple(Token(letter, -0.1) for letter in text))


def boxes(prompt):
    """A box that stays where it is from draw to draw in every other scene, and moves in the others."""
    moved = 400 * prompt.key.draw * (sum(map(ord, prompt.key.sample)) % 2)
    text = json.dumps([{"bbox_2d": [100 + moved, 100, 300 + moved, 300], "label": prompt.labels[0]}])
    return Reply(text, tokens=tuple(Token(letter, -0.1 * (1 + prompt.key.draw)) for letter in text))


def test_a_run_without_confidences_has_no_such_section(first_option):
    assert not section(views_of([first_option])).blocks


def test_answers_have_calibration_and_no_ap(make_run):
    run = make_run("sure", surely)
    found = section(views_of([run]))
    grid, row = found.blocks
    (cells,) = grid.rows
    fact = run.results()["facts"]["calibration"]["token-logprob"]
    assert cells[1:3] == ("token log-probabilities", 243)
    assert [cell.value for cell in cells[3:]] == [
        fact[name]["value"] for name in ("confidence", "right", "excess", "ece")
    ]
    (figure,) = row.figures
    check(figure.spec)
    points = figure.spec["data"]["values"]
    assert [(p["confidence"], p["right"], p["n"]) for p in points] == [
        (b["confidence"], b["right"]["value"], b["n"]) for b in shown_bins(fact)
    ]
    assert sum(p["n"] for p in points) == 243
    assert (grid.id, grid.title) == ("calibration", "Whether the sure are right")
    assert "scores" in [section.id for section in sections(views_of([run]))]


def test_boxes_have_ap_by_source(make_run):
    run = make_run("boxes", boxes, task="civet/detection", scenes=12, sample=None, draws=2)
    sources, calibration, row = section(views_of([run])).blocks
    assert [cells[1] for cells in sources.rows] == [
        "nowhere: all alike",
        "token log-probabilities",
        "votes of the draws",
    ]
    assert sources.rows[0][5:] == (None, None)
    assert [cells[1] for cells in calibration.rows] == ["token log-probabilities", "votes of the draws"]
    assert len(row.figures) == 1
