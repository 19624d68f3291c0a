"""Patterns across data sets by hand: categories, pairs of models, leads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from snellen.bench.across import correlation, leads, model_pairs, rollups
from snellen.bench.config import Bench
from snellen.bench.decide import Decision, Row
from snellen.bench.table import Outcome
from snellen.core.estimates import Estimate
from snellen.report.decision import by_data
from snellen.report.patterns import scatter
from vega_lite import check

SCORES = {
    "one": {"a": 0.9, "b": 0.8, "c": 0.1},
    "two": {"a": 0.7, "b": 0.6, "c": 0.2},
    "three": {"a": 0.5, "b": 0.5, "c": 0.3},
    "four": {"a": 0.3, "b": 0.1},
}


def _decisions() -> list[Decision]:
    found = []
    for data, scores in SCORES.items():
        rows = tuple(
            Row(name, Estimate(value, value - 0.1, value + 0.1), None, None, "") for name, value in scores.items()
        )
        found.append(Decision(data, "ap", rows, "", None))
    return found


def _bench(categories: dict[str, str | None]) -> Bench:
    data = {name: {"path": name, **({} if c is None else {"category": c})} for name, c in categories.items()}
    return Bench.model_validate({"data": data, "models": {"a": {"model": "random"}}})


def test_categories_are_means_over_their_data_sets_and_all_is_over_data_sets() -> None:
    found = rollups(_bench({"one": "Aerial", "two": "Medical", "three": "Medical", "four": "Medical"}), _decisions())
    assert found["a"].categories["Aerial"].value == pytest.approx(0.9)
    assert found["a"].categories["Medical"].value == pytest.approx(0.5)
    assert found["a"].all.value == pytest.approx(0.6)
    assert (found["c"].scored, found["c"].of) == (3, 4)
    assert rollups(_bench(dict.fromkeys(SCORES)), _decisions()) == {}


def test_either_every_data_set_has_a_category_or_none() -> None:
    with pytest.raises(ValueError, match="without one: four"):
        _bench({"one": "Aerial", "two": "Medical", "three": "Medical", "four": None})


def test_a_pair_of_models_is_correlated_over_the_data_sets_of_both() -> None:
    found = {(pair.a, pair.b): pair for pair in model_pairs(_decisions())}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    both = found["a", "b"]
    r = stats.pearsonr([0.9, 0.7, 0.5, 0.3], [0.8, 0.6, 0.5, 0.1])
    low, high = r.confidence_interval()
    assert (both.pearson.value, both.pearson.low, both.pearson.high) == pytest.approx((r.statistic, low, high))
    assert both.spearman == pytest.approx(1.0)
    assert (both.top, both.shared, both.by_chance) == (2, 2, 1.0)
    apart = found["a", "c"]
    assert apart.spearman == pytest.approx(-1.0)
    assert (apart.top, apart.shared) == (1, 0)
    assert apart.pearson.low is None  # three data sets have no interval


def test_a_pair_is_drawn_as_a_point_for_each_data_set() -> None:
    drawn = scatter(model_pairs(_decisions())[0])
    check(drawn.spec)
    assert drawn.alt == "one: 0.900 and 0.800; two: 0.700 and 0.600; three: 0.500 and 0.500; four: 0.300 and 0.100"


def test_where_nothing_joins_all_data_sets_those_that_share_entries_stand_side_by_side() -> None:
    alone = Decision("five", "f1", (Row("z", Estimate(1.0), None, None, ""),), "", None)
    grid = by_data(Outcome((*_decisions(), alone), None, {}, {}))
    assert [column.name.partition(":")[0] for column in grid.columns[1:]] == ["one", "two", "three", "four"]
    assert [row[0] for row in grid.rows] == ["a", "b", "c"]
    assert len(by_data(Outcome((alone, *_decisions()[:1]), None, {}, {})).columns) == 1


def test_two_data_sets_make_no_pattern() -> None:
    assert model_pairs(_decisions()[:2]) == ()
    assert leads(_decisions()[:2]) == ()


def test_leads_say_whether_a_model_is_ahead_on_the_same_data_sets() -> None:
    found = {lead.model: lead for lead in leads(_decisions()[:3])}
    assert found["a"].rivals == ("b", "c")
    assert (found["a"].top, found["a"].shared) == (1, 1)  # furthest ahead of both on `one`


def test_scores_that_do_not_vary_have_no_correlation() -> None:
    assert correlation(np.array([0.0, 0.0, 0.0]), np.array([0.1, 0.2, 0.3])).value is None
