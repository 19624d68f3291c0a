"""The decision: ranking, what the data can tell, several data sets, the guard."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.bench.decide import Entry, decide, overall
from snellen.core.estimates import Estimate
from snellen.core.tables import Table, Tables
from snellen.evals.comparison import Scored
from snellen.evals.measures import results_of
from snellen.statistics.datasets import mean_difference, mean_estimate
from snellen.statistics.paired import Difference


def _run(name: str, right: np.ndarray, **options: str) -> Scored:
    n = len(right)
    columns = {
        "sample": np.array([f"s{i}" for i in range(n)]),
        "cluster": np.array([f"s{i}" for i in range(n)]),
        "status": np.full(n, "ok"), "salvage": np.full(n, "intact"), "reason": np.full(n, ""),
        "unread": np.zeros(n, dtype=int), "question": np.full(n, "q"), "target": np.full(n, "a"),
        "answer": np.where(right, "a", "b"), "correct": right, "words": np.full(n, np.nan),
        "options": np.full(n, 2), "place": np.zeros(n, dtype=int), "chosen": np.where(right, 0, 1),
    }  # fmt: skip
    tables = Tables(Table(columns), None, ("a",))
    return Scored(name, results_of(tables, task="t", options=options, intervals=False), tables)


def _entries(shares: dict[str, float], *, n: int = 400, seed: int = 0, data: str = "d") -> list[Entry]:
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    return [Entry(name, data, (_run(name, hard + 0.1 * rng.random(n) < share),)) for name, share in shares.items()]


def test_a_clear_winner_is_named_with_its_lead() -> None:
    found = decide("d", _entries({"poor": 0.3, "good": 0.9, "fair": 0.6}))
    assert [row.name for row in found.rows] == ["good", "fair", "poor"]
    assert [row.verdict for row in found.rows] == ["best", "worse", "worse"]
    assert found.sentence.startswith("good is best: accuracy 0.8")
    assert "ahead of fair" in found.sentence


def test_where_the_data_cannot_tell_it_says_so_with_the_smallest_gap() -> None:
    found = decide("d", _entries({"a": 0.6, "b": 0.605, "c": 0.2}))
    assert [row.verdict for row in found.rows] == ["best", "not distinguishable", "worse"]
    assert "these data cannot tell it from" in found.sentence
    assert found.smallest_gap is not None
    assert 0 < found.smallest_gap < 0.2


def test_the_highest_score_is_called_best_only_where_the_data_tell() -> None:
    clear = decide("d", _entries({"poor": 0.3, "good": 0.9}))
    assert clear.decided
    assert [clear.verdict(row) for row in clear.rows] == ["best", "worse"]
    level = decide("d", _entries({"a": 0.6, "b": 0.605, "c": 0.2}))
    assert level.to_json()["decided"] is False
    assert [level.verdict(row) for row in level.rows] == ["highest score", "cannot be told from the best", "worse"]
    alone = decide("d", _entries({"a": 0.6}))
    assert not alone.decided


def test_equal_models_are_called_different_in_at_most_five_percent_of_benches() -> None:
    rng = np.random.default_rng(7)
    false = 0
    for _ in range(200):
        runs = {name: rng.random(120) < 0.5 for name in "abc"}
        found = decide("d", [Entry(n, "d", (_run(n, right),)) for n, right in runs.items()], draws=200)
        false += any(row.verdict == "worse" for row in found.rows)
    assert false / 200 <= 0.08  # 5 % and three standard errors of 200 trials is .096; Holm is conservative


def test_an_entry_with_another_truth_or_option_is_refused_with_the_reason() -> None:
    entries = _entries({"a": 0.9, "b": 0.5})
    odd = Entry("odd", "d", (_run("odd", np.ones(400, dtype=bool), reader="lettered"),))
    found = decide("d", [*entries, odd])
    assert [row.name for row in found.rows] == ["a", "b"]
    assert "how answers were read" in found.refused["odd"]


def test_several_data_sets_are_averaged_unweighted_and_their_errors_add_up() -> None:
    groups = {d: _entries({"good": 0.8, "poor": 0.5}, seed=i, data=d) for i, d in enumerate(("one", "two"))}
    decisions = [decide(d, entries) for d, entries in groups.items()]
    both = overall(decisions, groups)
    assert both.rows[0].name == "good"
    assert both.rows[0].score.value == pytest.approx(np.mean([d.rows[0].score.value for d in decisions]))
    assert both.rows[1].verdict == "worse"


def test_the_mean_of_two_independent_differences_by_hand() -> None:
    one = Difference(0.5, 0.6, Estimate(0.1, 0.0, 0.2), error=0.03)
    two = Difference(0.5, 0.8, Estimate(0.3, 0.2, 0.4), error=0.04)
    found = mean_difference([one, two])
    assert found.difference.value == pytest.approx(0.2)
    assert found.error == pytest.approx(0.025)


def test_a_data_set_without_a_score_counts_zero() -> None:
    assert mean_estimate([Estimate(None), Estimate(0.5, 0.4, 0.6)]).value == pytest.approx(0.25)
