"""Votes over draws: closed answers by majority, boxes by the draws that hold one like them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from snellen.core.detections import Detections
from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Reading, Reply, Token
from snellen.evals.score_sources import GROUP
from snellen.evals.scores import score, tabulate, task_of
from snellen.evals.tasks import open_task
from snellen.evals.votes import majority, supported
from snellen.models.fake import FakeModel
from snellen.models.table import build
from snellen.runs.loop import run
from snellen.runs.store import Run


def said(*boxes, labels="cat"):
    labels = [labels] * len(boxes) if isinstance(labels, str) else labels
    return Reading(Detections(np.array(boxes, dtype=float).reshape(-1, 4), tuple(labels)))


HERE, NEAR, THERE = (0, 0, 10, 10), (1, 0, 11, 10), (50, 50, 60, 60)


def test_a_box_has_the_votes_of_the_draws_that_hold_one_like_it():
    draws = [said(HERE, THERE), said(NEAR), said(THERE, labels="dog"), Reading(None, "malformed"), said(NEAR, HERE)]
    found = supported(draws)
    assert found[0].value.scores == pytest.approx([3 / 5, 1 / 5])  # itself and two; nobody calls the other one a cat
    assert found[1].value.scores == pytest.approx([3 / 5])
    assert found[2].value.scores == pytest.approx([1 / 5])
    assert found[3] == draws[3]
    assert found[4].value.scores == pytest.approx([2 / 5, 2 / 5])  # a box of another draw votes for one: the best pair
    assert [f.value.boxes.tolist() for f in found if f.value] == [d.value.boxes.tolist() for d in draws if d.value]


def test_a_box_said_twice_in_one_draw_has_no_second_vote():
    first, second = supported([said(HERE, HERE), said(HERE)])
    assert sorted(first.value.scores.tolist()) == [0.5, 1.0]
    assert second.value.scores.tolist() == [1.0]


def test_spelling_does_not_divide_votes_and_alone_all_have_all():
    assert supported([said(HERE, labels="Red star"), said(HERE, labels="red-star")])[0].value.scores.tolist() == [1.0]
    assert supported([said(HERE, THERE)])[0].value.scores.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("answers", "value", "confidence"),
    [
        (["red", "red", "blue"], "red", 2 / 3),
        (["red", None, None], "red", 1 / 3),
        (["red", "blue"], None, None),
        ([None, None], None, None),
        (["red"], "red", None),
    ],
)
def test_the_answer_named_most_often_wins_and_a_tie_means_none(answers, value, confidence):
    (found,) = majority([Reading(a, "ok" if a else "malformed") for a in answers])
    assert (found.value, found.confidence) == (value, pytest.approx(confidence) if confidence else None)


def test_an_exam_is_answered_by_vote(tmp_path):
    """Two of three draws are right, the third always says the same: by vote all is right, draw by draw two thirds."""
    right = {sample.id: sample.truth.target for sample in open_task({"task": "civet/single-object"}).samples}

    def moody(prompt):
        return right[prompt.key.sample] if prompt.key.draw < 2 else "purple"

    for votes, accuracy, rows in ((True, 1.0, 40), (False, 2 / 3, 120)):
        task = open_task({"task": "civet/single-object", **({"votes": True} if votes else {})})
        place = run(task, FakeModel(moody), tmp_path / str(votes), draws=3, sample=40)
        results = score(place, draws=100)
        assert results.metrics["accuracy"].value == pytest.approx(accuracy)
        assert results.facts["samples"] == rows
        assert ("draw" in results.groups) != votes
        if votes:
            assert results.facts["calibration"]["vote"]["confidence"]["value"] == pytest.approx(2 / 3)


def test_a_vote_without_a_draw_is_missing_as_a_whole():
    task = open_task({"task": "civet/single-object", "votes": True})
    sample = next(iter(task.samples))
    answers = {Key(sample.id, "", d): Reply("red") for d in (0, 2)}
    tables, missing = tabulate(task, answers, draws=3, selection=frozenset({sample.id}))
    assert len(tables.outcomes) == 0
    assert missing == [Key(sample.id, "", 1)]


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [(1, {"temperature": 1}, "--draws 5"), (3, {}, "temperature=1"), (3, {"temperature": 0}, "temperature=1")],
)
def test_a_vote_that_cannot_be_one_is_refused_before_anything_is_asked(tmp_path, draws, options, message):
    task = open_task({"task": "civet/detection", "scenes": 2, "scores": "vote"})
    model = build(ModelSpec("openai", "x", {"base_url": "http://127.0.0.1:9/v1", **options}))
    with pytest.raises(SpecError, match=message):
        run(task, model, tmp_path / "run", draws=draws)
    assert not (tmp_path / "run").exists()


# the same boxes under every source ------------------------------------------------------------------------------------

SURE, UNSURE = -0.05, -2.0


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> Run:
    """Of each scene the true boxes in every draw, written surely; and in each draw a ghost of its own, unsurely."""
    task = open_task({"task": "civet/detection", "scenes": 6, "side": 336})
    truths = {sample.id: sample.truth for sample in task.samples}

    def reply(prompt):
        truth, d = truths[prompt.key.sample], prompt.key.draw
        ghost = {"bbox_2d": [900, 10 + 40 * d, 990, 40 + 40 * d], "label": prompt.labels[0]}
        scaled = (truth.boxes / 336 * 1000).round().astype(int).tolist()
        rows = [{"bbox_2d": b, "label": n} for b, n in zip(scaled, truth.labels, strict=True)]
        parts = [(json.dumps(ghost), UNSURE), *((json.dumps(row), SURE) for row in rows)]
        tokens = [Token("[", 0.0)]
        for i, (text, logprob) in enumerate(parts):
            tokens += [Token(", " if i else "", 0.0), *(Token(letter, logprob) for letter in text)]
        return Reply("".join(t.text for t in (*tokens, Token("]", 0.0))), tokens=(*tokens, Token("]", 0.0)))

    place = run(task, FakeModel(reply), tmp_path_factory.mktemp("runs") / "drawn", draws=3)
    score(place, draws=100)
    return place


def test_the_same_boxes_are_ranked_by_every_source(drawn):
    results = drawn.results()
    group = results["groups"][GROUP]
    assert list(group) == ["constant", "token-logprob", "vote"]
    assert group["constant"]["ap50"]["value"] < 0.9
    for source in ("token-logprob", "vote"):
        assert group[source]["ap50"]["value"] == pytest.approx(1.0)
        assert group[source]["ap50_gain"]["low"] > -0.01  # a gain of a tenth and more, which few scenes nearly prove
        assert group[source]["ap50_gain"]["value"] == pytest.approx(
            group[source]["ap50"]["value"] - group["constant"]["ap50"]["value"]
        )
    assert results["facts"]["score_source"] == "constant"
    assert results["metrics"]["ap50"]["value"] == pytest.approx(group["constant"]["ap50"]["value"], abs=0.02)


def test_score_sources_are_a_group_to_ask_for_and_a_run_without_two_of_them_says_what_it_needs(drawn, tmp_path):
    assert GROUP in score(drawn, by=[GROUP], intervals=False).groups
    silent = run(task_of(drawn), FakeModel("[]"), tmp_path / "silent")
    with pytest.raises(SpecError, match=r"no two sources of scores .* -M logprobs=true, votes one with --draws 2"):
        score(silent, by=[GROUP], intervals=False)


def test_each_source_has_its_calibration(drawn):
    found = drawn.results()["facts"]["calibration"]
    assert set(found) == {"token-logprob", "vote"}
    precision = drawn.results()["metrics"]["precision"]["value"]
    for source, calibrated in found.items():
        assert calibrated["right"]["value"] == pytest.approx(precision), source
        assert sum(row["n"] for row in calibrated["bins"]) == calibrated["n"]
        assert sum(row["n"] for row in calibrated["tenths"]) == calibrated["n"]
    low, high = found["vote"]["bins"]
    assert (low["confidence"], low["right"]["value"]) == (pytest.approx(1 / 3), 0)
    assert (high["confidence"], high["right"]["value"]) == (pytest.approx(1.0), 1)


def test_a_run_may_be_scored_by_votes_itself(drawn, tmp_path):
    spec = {**drawn.manifest.task, "scores": "vote"}
    tables, missing = tabulate(open_task(spec), drawn.answers(), draws=3)
    assert not missing
    assert set(np.round(tables.instances["score"][~tables.instances["truth"]], 3)) == {0.333, 1.0}


def test_several_answers_to_a_picture_have_its_truth_once(drawn, tmp_path):
    once = run(task_of(drawn), FakeModel("[]"), tmp_path / "once")
    assert score(once, intervals=False).guard["truth"] == drawn.results()["guard"]["truth"]
