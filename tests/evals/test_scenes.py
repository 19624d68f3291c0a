from __future__ import annotations

import pytest

from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Exchange, Failed
from snellen.evals.civet import task
from snellen.evals.measures import results_of
from snellen.models.table import build


def scored(name: str, **options: object) -> dict[str, float | None]:
    scenes = task("detection", scenes=24, **options)
    model = build(ModelSpec.parse(name), task=scenes)
    pairs = []
    samples = list(scenes.samples)
    prompts = [scenes.prompts(sample)[0] for sample in samples]
    for sample, prompt, (_, reply) in zip(samples, prompts, model.answer(prompts), strict=True):
        assert not isinstance(reply, Failed)
        pairs.append((sample, scenes.read(sample, [Exchange(prompt, reply)])))
    found = results_of(scenes.tabulate(pairs), task="civet/detection", options={}, intervals=False)
    return {key: value.value for key, value in found.metrics.items()}


@pytest.mark.parametrize("notation", ["qwen3-vl", "wade"])
def test_the_oracle_writes_boxes_that_score_one(notation: str) -> None:
    found = scored("oracle", notation=notation)
    assert found["f1"] == 1
    assert found["mean_iou"] > 0.97  # type: ignore[operator]


def test_the_observer_finds_what_is_there_and_less_of_it_with_fewer_pixels() -> None:
    sharp, coarse = scored("observer/full", label="colour shape"), scored("observer/24", label="colour shape")
    assert sharp["f1"] == 1
    assert sharp["ap"] > 0.9  # type: ignore[operator]
    assert coarse["f1"] < 0.9  # type: ignore[operator]


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(SpecError, match=r"unknown option of civet/detection 'scene'\. Did you mean 'scenes'"):
        task("detection", scene=3)
