from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Choice, Exchange, Reply, Sample, Task
from snellen.evals.arranged import Arranged
from snellen.evals.civet import task
from snellen.models.table import build
from snellen.runs.loop import run


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


def some(exam: AnyTask, every: int) -> list[Sample[Choice]]:
    """Every so-many-th sample of an exam; the others are not made."""
    samples = exam.samples
    assert isinstance(samples, Arranged)
    return list(samples.among({question.id for question in samples.exam.questions[::every]}))


def right(setting: str, name: str, every: int, **options: object) -> dict[str, float]:
    """Share of right answers of an observer, by kind of question, on every so-many-th question."""
    exam = task(setting, **options)
    chosen = some(exam, every)
    prompts = [exam.prompts(sample)[0] for sample in chosen]
    hits: dict[str, list[bool]] = {}
    answers = build(ModelSpec.parse(f"observer/{name}")).answer(prompts)
    for sample, prompt, (_, reply) in zip(chosen, prompts, answers, strict=True):
        assert isinstance(reply, Reply)
        value = exam.read(sample, [Exchange(prompt, reply)]).value
        hits.setdefault(sample.truth.question, []).append(value == sample.truth.target)
    return {kind: sum(values) / len(values) for kind, values in hits.items()}


@pytest.mark.parametrize(
    ("setting", "every", "options"),
    [
        ("single-object", 401, {}),
        ("single-object", 401, {"side": 336, "size": "small"}),
        ("relative-position", 401, {}),
        ("relative-size", 1601, {}),
        ("relative-distance", 401, {}),
        ("counting", 13, {"distractors": 2}),
    ],
)
def test_the_observer_at_full_resolution_answers_everything(
    setting: str, every: int, options: dict[str, object]
) -> None:
    assert set(right(setting, "full", every, **options).values()) == {1.0}


def test_the_observer_sees_less_with_fewer_pixels() -> None:
    sharp, coarse, blind = (right("single-object", name, 241) for name in ("96", "24", "12"))
    assert sharp["shape"] > coarse["shape"] > blind["shape"]
    assert coarse["position"] == 1


def test_a_run_stores_the_certificate_of_what_it_asked(tmp_path: Path) -> None:
    exam = task("relative-position")
    done = run(exam, build(ModelSpec("random", ""), task=exam), tmp_path / "run", sample=80, seed=1)
    stored = done.manifest.notes["certificate"]
    assert stored["kinds"]["relative_position"]["n"] == 80
    assert stored["kinds"]["relative_position"]["constant_answer"]["accuracy"] == 0.2


def test_thresholds_of_acuity_fall_as_resolution_rises() -> None:
    found = {}
    for name in ("96", "24"):
        exam = task("acuity", ladder=[1.0, 0.5, 0.25, 0.125])
        samples = some(exam, 7)
        prompts = [exam.prompts(sample)[0] for sample in samples]
        answers = build(ModelSpec.parse(f"observer/{name}")).answer(prompts)
        pairs = [
            (sample, exam.read(sample, [Exchange(prompt, reply)]))
            for sample, prompt, (_, reply) in zip(samples, prompts, answers, strict=True)
            if isinstance(reply, Reply)
        ]
        facts = exam.tabulate(pairs).facts
        assert facts["acuity"]["chance"] == 0.25
        assert set(facts["acuity_by"]["section"]) == {s.attributes["section"] for s in samples}
        found[name] = facts["acuity"]["threshold"]
    assert found["96"]["high"] < found["24"]["low"]
    assert found["96"]["low"] < found["96"]["value"] < found["96"]["high"]


def test_with_letters_the_letter_or_the_words_may_be_answered() -> None:
    exam = task("counting", counts=[2, 3], scenes=1, reader="lettered")
    sample = next(iter(exam.samples))
    (prompt,) = exam.prompts(sample)
    letter = "AB"[prompt.labels.index(sample.truth.target)]
    assert f"{letter}. {sample.truth.target}" in prompt.text
    for said in (letter, f"{letter}.", sample.truth.target):
        assert exam.read(sample, [Exchange(prompt, Reply(said))]).value == sample.truth.target
