from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from snellen.core.detections import Detections
from snellen.core.errors import SpecError
from snellen.core.stages import Sample, Task
from snellen.runs.manifest import Selection
from snellen.runs.selection import chosen, survey, walk


def test_the_first_n_are_the_first_n(make_toy) -> None:
    assert sorted(chosen(make_toy(30).samples, Selection(limit=4))) == ["s0000", "s0001", "s0002", "s0003"]
    assert len(chosen(make_toy(30).samples, Selection(limit=400))) == 30


def test_all_is_none(make_toy) -> None:
    assert chosen(make_toy().samples, Selection()) is None


@given(st.integers(1, 130), st.integers(0, 5), st.integers(1, 130))
def test_strata_are_drawn_in_proportion(make_toy, count, seed, size) -> None:
    samples = make_toy(size).samples
    found = chosen(samples, Selection(sample=count, seed=seed))
    assert len(found) == min(count, size)
    sizes = Counter((s.truth.question, s.truth.target) for s in samples)
    got = Counter((s.truth.question, s.truth.target) for s in samples if s.id in found)
    for stratum, total in sizes.items():
        assert abs(got[stratum] - min(1, count / size) * total) < 1


def test_a_seed_draws_the_same_and_another_draws_others(make_toy) -> None:
    samples = make_toy(300).samples
    assert chosen(samples, Selection(sample=30, seed=1)) == chosen(samples, Selection(sample=30, seed=1))
    assert chosen(samples, Selection(sample=30, seed=1)) != chosen(samples, Selection(sample=30, seed=2))


def test_strata_may_be_made_of_any_attribute(make_toy) -> None:
    samples = make_toy(100).samples
    found = chosen(samples, Selection(sample=20, by=("row",)))
    assert set(Counter(s.attributes["row"] for s in samples if s.id in found).values()) == {4}


def test_an_unknown_attribute_lists_those_there_are(make_toy) -> None:
    with pytest.raises(SpecError, match="no attribute 'light'; there are: row"):
        chosen(make_toy().samples, Selection(sample=3, by=("light",)))


def test_limit_and_sample_exclude_each_other(make_toy) -> None:
    with pytest.raises(SpecError, match="exclude"):
        chosen(make_toy().samples, Selection(limit=3, sample=3))


@pytest.mark.parametrize("fields", [{"limit": 0}, {"sample": -1}])
def test_less_than_one_sample_is_no_selection(fields) -> None:
    with pytest.raises(ValidationError):
        Selection(**fields)


def test_a_survey_counts_samples_and_requests(make_toy) -> None:
    found = survey(make_toy(10, calls=3), Selection(limit=4), draws=2)
    assert (found.samples, found.requests) == (4, 24)
    assert [s.id for s in walk(make_toy(10), found.ids)] == ["s0000", "s0001", "s0002", "s0003"]


def boxes(shift: float = 0.0, label: str = "cat") -> Task:
    truth = Detections(np.array([[0, 0, 5 + shift, 5]]), (label,), notes=({"chain": "x"},))
    return Task({"task": "b"}, [Sample("a", truth)], lambda sample: [], None, None)


def test_the_hash_of_the_truth_sees_every_part_of_it() -> None:
    def digest(task: Task) -> str:
        return survey(task, Selection()).truth

    assert digest(boxes()) == digest(boxes())
    assert len({digest(boxes()), digest(boxes(1e-9)), digest(boxes(label="dog"))}) == 3


def test_a_task_without_samples_is_refused() -> None:
    with pytest.raises(SpecError, match="no samples"):
        survey(Task({"task": "b"}, [], lambda sample: [], None, None), Selection())
