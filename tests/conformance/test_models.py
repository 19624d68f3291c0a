"""What every registered model must keep to. A new provider adds a row to the cases beside this file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from conformance.cases import CASES, STRANGE, USUAL, Case, of_cases
from snellen.core.errors import SpecError
from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec, canonical
from snellen.core.stages import Failed, Key, Model, Prompt, Reply, Turn
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.table import MODELS
from snellen.runs.loop import run

each_model = pytest.mark.parametrize(("case", "kind"), of_cases())


def test_every_registered_provider_has_a_case() -> None:
    assert {case.provider for case in CASES} == set(MODELS)


def answers(model: Model, prompts: Iterable[Prompt]) -> dict[Key, Reply | Failed]:
    found = list(model.answer(prompts))
    assert len({key for key, _ in found}) == len(found), "a key was answered twice"
    return dict(found)


def assert_same(one: dict[Key, Reply | Failed], two: dict[Key, Reply | Failed]) -> None:
    """The same answers: texts, labels and their order to the letter, numbers to what float32 gives them."""
    assert set(one) == set(two)
    for key, a in one.items():
        b = two[key]
        assert type(a) is type(b), key
        if isinstance(a, Failed) or isinstance(b, Failed):
            assert a.cause == b.cause, key  # type: ignore[union-attr]
            continue
        assert (a.text, a.finish) == (b.text, b.finish), key
        assert (a.option_scores is None) == (b.option_scores is None)
        if a.option_scores is not None:
            np.testing.assert_allclose(a.option_scores, b.option_scores, atol=1e-4)
        assert (a.detections is None) == (b.detections is None)
        if a.detections is not None and b.detections is not None:
            assert a.detections.labels == b.detections.labels, key
            np.testing.assert_allclose(a.detections.boxes, b.detections.boxes, atol=1e-2)  # px
            if a.detections.scores is not None:
                np.testing.assert_allclose(a.detections.scores, b.detections.scores, atol=1e-4)


@each_model
def test_each_key_is_answered_once(case: Case, kind: str, model_of) -> None:
    asked = list(USUAL[kind].requests(2))
    assert set(answers(model_of(case, USUAL[kind]), asked)) == {prompt.key for prompt in asked}


@each_model
def test_no_prompts_are_no_answers(case: Case, kind: str, model_of) -> None:
    assert answers(model_of(case, USUAL[kind]), []) == {}


@each_model
def test_the_same_question_gets_the_same_answer_whatever_the_order_and_company(case: Case, kind: str, model_of) -> None:
    model = model_of(case, USUAL[kind])
    prompts = list(USUAL[kind].requests())
    whole = answers(model, prompts)
    assert_same(answers(model, prompts), whole)
    assert_same(answers(model, prompts[::-1]), whole)
    last = prompts[-1]
    assert_same(answers(model, [last]), {last.key: whole[last.key]})


@pytest.mark.parametrize(("case", "kind"), of_cases(where=lambda case: case.batch))
def test_no_answer_changes_with_how_many_are_asked_together(case: Case, kind: str, model_of) -> None:
    """In float32 on a CPU; how often one changes elsewhere is measured by `benchmarks/batching.py`."""
    prompts = list(USUAL[kind].requests())
    alone = answers(model_of(case, USUAL[kind], **{case.batch: 1}), prompts)
    for together in (3, len(prompts)):
        assert_same(answers(model_of(case, USUAL[kind], **{case.batch: together}), prompts), alone)


@each_model
def test_one_pixel_twelve_megapixels_and_two_hundred_options_are_answered(case: Case, kind: str, model_of) -> None:
    found = answers(model_of(case, STRANGE[kind]), STRANGE[kind].requests())
    assert set(found) == {prompt.key for prompt in STRANGE[kind].requests()}
    for key, answer in found.items():
        assert isinstance(answer, Reply) or answer.cause == "scripted", (key, answer)


@each_model
def test_prompts_are_taken_as_they_come_not_all_at_once(case: Case, kind: str, model_of) -> None:
    pulled = itertools.count()

    def source() -> Iterator[Prompt]:
        for prompt in itertools.chain.from_iterable(itertools.repeat(list(USUAL[kind].requests()), 50)):
            yield Prompt(prompt.key._replace(draw=next(pulled)), prompt.turns, prompt.wants, prompt.labels)

    asked = iter(model_of(case, USUAL[kind]).answer(source()))
    next(asked)
    getattr(asked, "close", lambda: None)()
    assert next(pulled) <= 100


@each_model
def test_the_canonical_spec_builds_the_model_again(case: Case, kind: str, model_of) -> None:
    model, task = model_of(case, USUAL[kind]), USUAL[kind]
    stored = model.spec.to_json()
    canonical(stored)
    spec = ModelSpec(stored["provider"], stored["name"], stored["options"])
    again = model_of(case, task, fresh=True, spec=spec)
    assert again.spec == model.spec
    assert_same(answers(again, task.requests()), answers(model, task.requests()))


@each_model
def test_a_picture_that_cannot_be_read_spoils_its_own_answer_alone(case: Case, kind: str, model_of) -> None:
    model = model_of(case, USUAL[kind])
    prompts = list(USUAL[kind].requests())
    whole = answers(model, prompts)
    bad = Picture("bad.png", lambda: b"no picture")
    spoilt = Prompt(prompts[0].key, (Turn("user", (bad, "What?")),), prompts[0].wants, prompts[0].labels)
    found = answers(model, [spoilt, *prompts[1:]])
    own = found.pop(spoilt.key)
    if isinstance(own, Failed):
        assert own.cause in {"picture", "scripted"}
    assert_same(found, {key: whole[key] for key in found})


@pytest.mark.parametrize(("case", "kind"), of_cases(kinds=False))
def test_what_a_model_cannot_answer_is_refused_in_words(case: Case, kind: str, model_of) -> None:
    with pytest.raises(SpecError, match=r"answers prompts for boxes|answers closed questions"):
        answers(model_of(case, USUAL[kind]), USUAL[kind].requests())


@pytest.mark.parametrize(("case", "kind"), of_cases(where=lambda case: case.refuses))
def test_a_refusal_is_an_answer(case: Case, kind: str, model_of) -> None:
    task = USUAL[kind]
    found = answers(model_of(case, task, refusing=True), task.requests())
    assert set(found) == {prompt.key for prompt in task.requests()}
    assert all(isinstance(answer, Reply) and answer.finish == "refused" for answer in found.values())


@pytest.mark.parametrize("spec", [{"task": "civet/single-object"}, {"task": "civet/detection", "scenes": 6}])
def test_refusals_are_scored_as_nothing_found(spec, model_of, tmp_path) -> None:
    task = open_task(spec)
    model = model_of(next(case for case in CASES if case.provider == "openai"), USUAL["closed"], refusing=True)
    results = score(run(task, model, tmp_path / "run", limit=6), intervals=False)
    assert results.facts["status"] == {"refused": 6}
    zero = ("accuracy",) if "accuracy" in results.metrics else ("recall", "parse_rate")
    assert [results.metrics[name].value for name in zero] == [0] * len(zero)
