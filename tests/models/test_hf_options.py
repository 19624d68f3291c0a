"""Options of `hf/...` speakers: what a model can take, bounds of pictures that leave nothing, weights in four bits."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.evals.tasks import open_task
from snellen.models import embedded
from snellen.models.table import build
from snellen.runs.capacity import check_capacity

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.tier2, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]
WEIGHTS = str(embedded.WEIGHTS / embedded.DEFAULT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_pixels": 3}, r"max_pixels=3 of qwen3_vl is below its min_pixels=\d+"),
        ({"max_pixels": 1000, "min_pixels": 1}, r"one vision token of 32 x 32 px \(1024\)"),
        ({"max_pixels": 4096, "min_pixels": 5000}, "below its min_pixels=5000"),
        ({"context": "big"}, "context"),
        ({"single_picture": "yes"}, "single_picture"),
    ],
)
def test_what_no_picture_fits_and_what_is_no_number_is_refused(options, message):
    with pytest.raises(SpecError, match=message):
        build(ModelSpec("hf", WEIGHTS, options))


def test_a_declared_context_refuses_prompts_before_the_first_one():
    model = build(ModelSpec("hf", WEIGHTS, {"context": 300}))
    exam = open_task({"task": "civet/single-object", "side": 672})
    with pytest.raises(SpecError, match=r"the context of hf/.* holds 300"):
        check_capacity(exam, model.spec)
    check_capacity(exam, ModelSpec("hf", WEIGHTS, {"context": 3000}))


def test_in_four_bits_the_speaking_part_shrinks_the_seeing_part_stays_and_the_answers_too():
    pytest.importorskip("bitsandbytes")
    model = build(ModelSpec("hf", WEIGHTS, {"four_bit": True, "batch_size": 8}))
    kinds = Counter(
        (type(part).__name__, "visual" in name)
        for name, part in model.model.named_modules()
        if "Linear" in type(part).__name__ and "lm_head" not in name
    )
    assert set(kinds) == {("Linear4bit", False), ("Linear", True)}
    exam = open_task({"task": "civet/single-object", "side": 336})
    prompts = [prompt for sample in list(exam.samples)[::1700] for prompt in exam.prompts(sample)]
    small, whole = (dict(m.answer(prompts)) for m in (model, build(ModelSpec("hf", WEIGHTS, {"batch_size": 8}))))
    assert sum(small[key].text == whole[key].text for key in whole) >= 0.8 * len(prompts) > 8
    assert any(small[key].tokens != whole[key].tokens for key in whole), "in four bits not one probability changed"
