"""What every model of the table must keep to. A new model adds a row."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec, canonical
from snellen.core.stages import Choice, Failed, Key, Model, Prompt, Reply, Sample, Task, Turn
from snellen.models.table import MODELS, build

COLOURS = ("red", "green", "blue")


def picture(name: str) -> Picture:
    buffer = io.BytesIO()
    Image.new("RGB", (32, 24), name).save(buffer, "PNG")
    return Picture(f"{name}.png", buffer.getvalue, None)


def closed() -> Task[Any, Any]:
    samples = [Sample(f"{c}{i}", Choice(c, COLOURS, "color"), (picture(c),)) for i in range(3) for c in COLOURS]

    def prompts(sample: Sample[Choice]) -> list[Prompt]:
        text = "What is the color of the object? Choose from [red, green, blue]."
        return [Prompt(Key(sample.id), (Turn("user", (*sample.pictures, text)),), "choice", COLOURS)]

    return Task({"task": "toy"}, samples, prompts, None, None)  # type: ignore[arg-type]


def boxes() -> Task[Any, Any]:
    truth = Detections(np.array([[1.0, 2, 10, 12], [3, 3, 9, 9]]), ("cat", "dog"))
    samples = [Sample(c, truth, (picture(c),)) for c in COLOURS]

    def prompts(sample: Sample[Detections]) -> list[Prompt]:
        turns = (Turn("user", (*sample.pictures, "Detect.")),)
        return [Prompt(Key(sample.id, label), turns, "boxes", (label,)) for label in ("cat", "dog")]

    return Task({"task": "toy-boxes"}, samples, prompts, None, None)  # type: ignore[arg-type]


TASKS = {"closed": closed, "boxes": boxes}


def spec_of(provider: str, tmp_path: Path, url: Callable[[], str]) -> ModelSpec:
    """A small model of each provider. Those whose weights must be made first are tested beside their own code."""
    if provider == "replay":
        path = tmp_path / "answers.jsonl"
        keys = [prompt.key for task in (closed(), boxes()) for prompt in task.requests()]
        path.write_text("".join(f'{{"sample": "{k.sample}", "call": "{k.call}", "text": "red"}}\n' for k in keys))
        return ModelSpec("replay", str(path))
    specs = {
        "fake": lambda: ModelSpec("fake", "", {"texts": ["red", "blue"], "fail": 0.3}),
        "random": lambda: ModelSpec("random", "", {"seed": 3}),
        "majority": lambda: ModelSpec("majority", ""),
        "oracle": lambda: ModelSpec("oracle", ""),
        "observer": lambda: ModelSpec("observer", "24px", {"noise": 5}),
        "openai": lambda: ModelSpec("openai", "x", {"base_url": url(), "concurrency": 4}),
    }
    if provider not in specs:
        pytest.skip(f"{provider} needs weights; see tests/models")
    return specs[provider]()


CASES = [(name, kind) for name in MODELS for kind in TASKS if (name, kind) != ("majority", "boxes")]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def made(request, tmp_path, loopback) -> tuple[Callable[[], Model], Task[Any, Any]]:
    provider, kind = request.param
    task = TASKS[kind]()
    spec = spec_of(provider, tmp_path, loopback)
    return (lambda: build(spec, task=task)), task


def answers(model: Model, prompts: Iterator[Prompt] | list[Prompt]) -> dict[Key, Reply | Failed]:
    found = list(model.answer(prompts))
    assert len({key for key, _ in found}) == len(found), "a key was answered twice"
    return dict(found)


def content(found: dict[Key, Reply | Failed]) -> dict[Key, object]:
    return {
        key: (a.text, a.detections, a.option_scores) if isinstance(a, Reply) else a.cause for key, a in found.items()
    }


def test_each_key_is_answered_once(made) -> None:
    make, task = made
    assert set(answers(make(), list(task.requests(2)))) == {prompt.key for prompt in task.requests(2)}


def test_no_prompts_are_no_answers(made) -> None:
    make, _ = made
    assert answers(make(), []) == {}


def test_the_same_question_gets_the_same_answer_whatever_the_order_and_company(made) -> None:
    make, task = made
    prompts = list(task.requests())
    whole = content(answers(make(), prompts))
    assert content(answers(make(), prompts[::-1])) == whole
    last = prompts[-1]
    assert content(answers(make(), [last])) == {last.key: whole[last.key]}


def test_one_model_can_be_asked_again(made) -> None:
    make, task = made
    model = make()
    assert content(answers(model, task.requests())) == content(answers(model, task.requests()))


def test_prompts_are_taken_as_they_come_not_all_at_once(made) -> None:
    make, task = made
    pulled = 0

    def source() -> Iterator[Prompt]:
        nonlocal pulled
        for _ in range(500):
            for prompt in task.requests():
                pulled += 1
                yield Prompt(prompt.key._replace(draw=pulled), prompt.turns, prompt.wants, prompt.labels)

    asked = iter(make().answer(source()))
    next(asked)
    getattr(asked, "close", lambda: None)()
    assert pulled <= 100


def test_the_canonical_spec_builds_the_model_again(made) -> None:
    make, task = made
    model = make()
    stored = model.spec.to_json()
    canonical(stored)
    again = build(ModelSpec(stored["provider"], stored["name"], stored["options"]), task=task)
    assert again.spec == model.spec
    assert content(answers(again, task.requests())) == content(answers(model, task.requests()))


def test_a_picture_that_cannot_be_read_spoils_its_own_answer_alone(made) -> None:
    make, task = made
    prompts = list(task.requests())
    bad = Picture("bad.png", lambda: b"no picture")
    spoilt = Prompt(prompts[0].key, (Turn("user", (bad, "What?")),), prompts[0].wants, prompts[0].labels)
    found = answers(make(), [spoilt, *prompts[1:]])
    assert len(found) == len(prompts)
    if isinstance(found[spoilt.key], Failed):
        assert found[spoilt.key].cause in {"picture", "scripted"}
