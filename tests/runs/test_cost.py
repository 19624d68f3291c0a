from __future__ import annotations

import io

import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Sample, Task, Turn, Usage
from snellen.models.fake import FakeModel
from snellen.runs.cost import Price, budget, picture_tokens, plan, price_of
from snellen.runs.loop import Choices, open_or_create, run, work

PRICED = ModelSpec("openai", "my-vlm", {"base_url": "http://h/v1", "price": [10, 20]})
DEAR = FakeModel(lambda prompt: Reply("x", usage=Usage(100_000, 0)))


def test_a_price_that_is_given_is_taken() -> None:
    assert price_of(PRICED) == Price(10, 20, "given")
    assert price_of(PRICED).of(Usage(1_000_000, 500_000)) == 20


def test_a_known_model_has_a_published_price_and_an_unknown_one_has_none() -> None:
    known = price_of(ModelSpec("openai", "gpt-4o"))
    assert known.source == "genai-prices"
    assert 0 < known.input < known.output < 100
    assert price_of(ModelSpec("openai", "my-vlm")) is None
    assert price_of(ModelSpec("random", "")) is None


@pytest.mark.parametrize("price", [5, [1], ["a", "b"]])
def test_a_price_of_another_form_is_refused(price) -> None:
    with pytest.raises(SpecError, match="USD per million tokens"):
        price_of(ModelSpec("openai", "x", {"price": price}))


@pytest.mark.parametrize(
    ("name", "size", "tokens"),
    [
        ("gpt-4o", Size(1024, 1024), 765),
        ("gpt-4o", Size(2048, 4096), 1105),
        ("gemini-3-pro", Size(384, 384), 258),
        ("gemini-3-pro", Size(1000, 700), 516),
        ("qwen3-vl-8b", Size(640, 320), 200),
        ("snellen-tiny", Size(320, 320), 100),
        ("qwen2.5-vl-7b", Size(560, 280), 200),
        ("claude-x", Size(750, 100), 100),
    ],
)
def test_the_tokens_of_a_picture_follow_the_published_rules(name, size, tokens) -> None:
    assert picture_tokens(ModelSpec("openai", name))(size) == tokens


def test_a_plan_counts_text_and_pictures_as_they_will_be_sent() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (560, 280)).save(buffer, "PNG")
    picture = Picture("p", buffer.getvalue)
    samples = [Sample(str(i), None, (picture,)) for i in range(1000)]

    def prompts(sample):
        return [Prompt(Key(sample.id), (Turn("user", (picture, "x" * 400)),), "boxes", max_tokens=1000)]

    task = Task({"task": "t"}, samples, prompts, None, None)
    found = plan(task, PRICED, ids=None, requests=2000, draws=2)
    assert found.usage == Usage(2000 * (200 + 100), 2000 * 400)
    assert found.most.output_tokens == 2000 * 1000
    assert found.dollars == pytest.approx((600_000 * 10 + 800_000 * 20) / 1e6)
    assert found.to_json()["price"] == [10.0, 20.0, "given"]
    small = ModelSpec("openai", "x", {"max_pixels": 560 * 280 // 4})
    assert plan(task, small, ids=None, requests=2000, draws=2).usage.input_tokens == 2000 * (50 + 100)


def test_a_budget_stops_before_it_is_overdrawn_and_the_run_goes_on_with_a_larger_one(make_toy, tmp_path) -> None:
    task, price = make_toy(30), Price(10, 0, "given")  # a dollar a request
    for dollars, done in ((5, 5), (5, 5), (12.5, 12)):
        here = open_or_create(task, DEAR, tmp_path / "r", Choices())
        state = work(here, task, DEAR, Choices(stop=budget(here, price, dollars)))
        assert len(here.answered()[0]) == done
        assert f"budget of {dollars} USD" in state.stopped


def test_a_budget_without_a_price_is_refused(make_toy, tmp_path) -> None:
    here = run(make_toy(), DEAR, tmp_path / "r", max_requests=1)
    with pytest.raises(SpecError, match="needs the model's price"):
        budget(here, None, 5)
