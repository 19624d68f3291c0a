from __future__ import annotations

from collections import Counter

import pytest

from snellen.core.errors import SpecError
from snellen.core.stages import Choice, Exchange, Reply, Task
from snellen.evals.civet import task


@pytest.fixture(scope="module")
def single() -> Task[Choice, str]:
    return task("single-object")


def test_single_object_has_the_papers_counts(single: Task[Choice, str]) -> None:
    samples = list(single.samples)
    assert len({sample.cluster for sample in samples}) == 5832
    counts = Counter(sample.truth.question for sample in samples)
    assert counts == {"shape": 5832, "color": 5832, "sheen": 3888, "position": 5832}
    assert len({sample.id for sample in samples}) == len(samples)


def test_the_ideal_reply_is_read_as_the_truth(single: Task[Choice, str]) -> None:
    for i, sample in enumerate(single.samples):
        if i % 97 == 0:
            (prompt,) = single.prompts(sample)
            assert single.target is not None
            assert single.read(sample, [Exchange(prompt, single.target(sample, prompt))]).value == sample.truth.target


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        (Reply("The star!"), "star", "ok"),
        (Reply("star or circle"), None, "malformed"),
        (Reply("I cannot", finish="refused"), None, "refused"),
        (Reply(option_scores=(0.1, 0.7, 0.1, 0.1)), "SECOND", "ok"),
        (Reply(option_scores=(0.4, 0.4, 0.1, 0.1)), None, "malformed"),
    ],
)
def test_a_reply_is_read(single: Task[Choice, str], reply: Reply, value: str | None, status: str) -> None:
    sample = next(sample for sample in single.samples if sample.truth.question == "shape")
    (prompt,) = single.prompts(sample)
    reading = single.read(sample, [Exchange(prompt, reply)])
    assert reading.value == (prompt.labels[1] if value == "SECOND" else value)
    assert reading.status == status


def test_an_unknown_setting_or_option_is_refused() -> None:
    with pytest.raises(SpecError, match="Did you mean 'single-object'"):
        task("single_object")
    with pytest.raises(SpecError, match="unknown option of civet/single-object 'sizes'"):
        task("single-object", sizes="small")
