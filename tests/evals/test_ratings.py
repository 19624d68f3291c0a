"""People as models: their ratings become a scored run with their agreement."""

from __future__ import annotations

import pytest

from snellen.evals.ratings import imported
from snellen.evals.scores import tabulate
from snellen.scoring.choice import measure

HEADER = "sample,rater,answer,target,options\n"
OPTIONS = "left|center|right"


@pytest.fixture
def scored(tmp_path):
    def score(*rows):
        place = tmp_path / "ratings.csv"
        place.write_text(HEADER + "".join(f"{s},{r},{a},{t},{OPTIONS}\n" for s, r, a, t in rows), encoding="utf-8")
        task, replies, facts, draws = imported(place)
        return tabulate(task, dict(replies), draws=draws), facts

    return score


FOUR = [
    ("s1", "ann", "left", "left"), ("s1", "bob", "Left.", "left"), ("s1", "cy", "left", "left"),
    ("s2", "ann", "center", "left"), ("s2", "bob", "left", "left"), ("s2", "cy", "right", "left"),
    ("s3", "ann", "right", "right"), ("s3", "bob", "right", "right"), ("s3", "cy", "center", "right"),
]  # fmt: skip


def test_every_rating_is_an_observation_and_their_agreement_is_told(scored):
    (tables, missing), facts = scored(*FOUR)
    assert (len(tables.outcomes), missing) == (9, [])
    assert tables.outcomes["correct"].sum() == 6
    assert "accuracy" in measure(tables).names
    found = tables.facts["agreement"][""]
    # by hand: P = (1 + 0 + 1/3) / 3, Pe = (16 + 4 + 9) / 81
    assert found["method"] == "fleiss-kappa"
    assert found["value"] == pytest.approx((4 / 9 - 29 / 81) / (1 - 29 / 81))
    assert (found["items"], found["ratings"], found["ties"], found["unread"]) == (3, 9, 1, 0)
    assert facts["complete"] is True


def test_an_answer_that_names_no_option_takes_no_part_in_agreement(scored):
    rows = [*FOUR[:2], ("s1", "cy", "no idea", "left"), *FOUR[3:]]
    (tables, _), _ = scored(*rows)
    found = tables.facts["agreement"][""]
    assert (found["method"], found["unread"], found["ratings"]) == ("krippendorff-alpha", 1, 8)


def test_one_rating_a_sample_has_a_reason_and_no_agreement(scored):
    (tables, _), _ = scored(("s1", "ann", "left", "left"), ("s2", "ann", "right", "left"))
    found = tables.facts["agreement"][""]
    assert found["value"] is None
    assert "at least 2 ratings" in found["reason"]
