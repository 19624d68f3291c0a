"""`hf/...` over tiny models with random weights, built on the spot in the stock architectures."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models.table import build
from tiny_models import folder as tiny
from tiny_models.speakers import FAMILIES

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.tier2,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]


def picture(seed=0, size=(120, 90)):
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 255, (9, 12, 3), dtype=np.uint8)).resize(size, 0)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Picture(f"{seed}.png", buffer.getvalue)


def ask(seed=0, *, text="What is the shape of the object?", most=6, size=(120, 90)):
    return Prompt(Key(f"s{seed}"), (Turn("user", (picture(seed, size), text)),), max_tokens=most)


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_answers_once_and_the_same_in_any_batch(name):
    prompts = [ask(seed, text="Where?" if seed == 1 else "What is the shape of the object?") for seed in range(3)]
    answers = []
    for batch_size in (1, 3):
        model = build(ModelSpec("hf", str(tiny(name)), {"batch_size": batch_size}))
        replies = dict(model.answer(prompts))
        assert list(replies) == [p.key for p in prompts]
        answers.append([replies[p.key].text for p in prompts])
        for reply in replies.values():
            assert isinstance(reply, Reply), reply
            assert reply.sent == (Size(120, 90),)
            expected = FAMILIES[name][1]
            assert reply.seen == (() if expected is None else (expected,))
            assert "".join(token.text for token in reply.tokens) == reply.text
            assert all(token.logprob <= 0 for token in reply.tokens)
            assert reply.finish == "length" or len(reply.tokens) < 6
    assert answers[0] == answers[1]
    assert len(set(answers[0])) > 1, "a model with random weights should not say the same of different pictures"


@pytest.fixture(scope="session")
def qwen3():
    return build(ModelSpec("hf", str(tiny("qwen3_vl")), {"batch_size": 2}))


def test_examples_and_a_question_without_a_picture_are_answered_and_the_sizes_seen_are_told(qwen3):
    example = (Turn("user", (picture(5), "And here?")), Turn("assistant", ("a star",)))
    prompts = [
        ask(2, size=(4000, 3000)),
        Prompt(Key("few"), (Turn("system", ("You see well.",)), *example, *ask(4).turns), max_tokens=4),
        Prompt(Key("blind"), (Turn("user", ("No picture here.",)),), max_tokens=4),
    ]
    replies = dict(qwen3.answer(prompts))
    assert all(isinstance(reply, Reply) for reply in replies.values()), replies
    assert [len(replies[p.key].seen) for p in prompts] == [1, 2, 0]
    assert replies[Key("s2")].sent == (Size(4000, 3000),)
    assert replies[Key("s2")].seen[0].pixels <= 16 * 32 * 32


def test_an_answer_ends_where_its_own_prompt_says(qwen3):
    short, long = ask(1, most=2), ask(2, most=9)
    replies = dict(qwen3.answer([short, long]))
    assert len(replies[short.key].tokens) <= 2
    assert replies[short.key].text == dict(qwen3.answer([short]))[short.key].text
    assert replies[long.key].usage.output_tokens <= 9


def test_log_probabilities_are_those_of_a_plain_forward_pass(qwen3):
    import torch

    prompt = ask(1, most=5)
    reply = dict(qwen3.answer([prompt]))[prompt.key]
    inputs = qwen3.asker.inputs([prompt], [[p.image() for p in prompt.pictures]])
    start = inputs["input_ids"].shape[1]
    with torch.inference_mode():
        whole = qwen3.model.generate(**inputs, max_new_tokens=5, do_sample=False)
        tokens = {k: v for k, v in inputs.items() if k not in {"input_ids", "attention_mask", "mm_token_type_ids"}}
        logits = qwen3.model(input_ids=whole, **tokens, mm_token_type_ids=_padded(inputs, whole)).logits[0]
    expected = logits[start - 1 : -1].log_softmax(-1).gather(1, whole[0, start:, None])[:, 0]
    assert [token.logprob for token in reply.tokens] == pytest.approx(expected.tolist()[: len(reply.tokens)], abs=1e-3)


def _padded(inputs, whole):
    import torch

    kinds = inputs["mm_token_type_ids"]
    return torch.nn.functional.pad(kinds, (0, whole.shape[1] - kinds.shape[1]))


def test_draws_at_a_temperature_differ_and_repeat():
    model = build(ModelSpec("hf", str(tiny("qwen3_vl")), {"temperature": 1.5}))
    prompts = [ask(1, most=8).drawn(draw) for draw in range(4)]
    first, again = (dict(model.answer(prompts)) for _ in range(2))
    texts = [first[p.key].text for p in prompts]
    assert len(set(texts)) > 1
    assert texts == [again[p.key].text for p in prompts]


def test_pixel_bounds_change_what_is_seen():
    model = build(ModelSpec("hf", str(tiny("qwen3_vl")), {"max_pixels": 4 * 32 * 32, "min_pixels": 4 * 32 * 32}))
    prompt = ask(1)
    assert dict(model.answer([prompt]))[prompt.key].seen[0].pixels <= 4 * 32 * 32
    with pytest.raises(SpecError, match="scales by area"):
        build(ModelSpec("hf", str(tiny("llava")), {"max_pixels": 1000}))


def test_an_adapter_changes_the_answers(tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model

    base = build(ModelSpec("hf", str(tiny("qwen3_vl")), {}))
    prompt = ask(1)
    before = dict(base.answer([prompt]))[prompt.key].text
    torch.manual_seed(1)
    wanted = r".*language_model\.layers\.\d+\.mlp\.down_proj"
    adapted = get_peft_model(base.model, LoraConfig(r=4, target_modules=wanted, init_lora_weights=False))
    adapted.save_pretrained(tmp_path)
    model = build(ModelSpec("hf", str(tiny("qwen3_vl")), {"adapter": str(tmp_path)}))
    assert dict(model.answer([prompt]))[prompt.key].text != before


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("", {}, "named hf/"),
        ("no/such/folder-at-all", {}, "no model of transformers can be read"),
        ("QWEN", {"dtpye": "float32"}, "Did you mean 'dtype'"),
        ("QWEN", {"dtype": "float17"}, "unknown dtype"),
        ("QWEN", {"kind": "poet"}, "unknown kind of model"),
        ("QWEN", {"batch_size": 0}, "batch_size"),
        ("QWEN", {"adapter": "no/such/adapter"}, "no LoRA adapter"),
    ],
)
def test_wrong_names_and_options_say_what_is_wrong(name, options, message):
    place = str(tiny("qwen3_vl")) if name == "QWEN" else name
    with pytest.raises(SpecError, match=message):
        build(ModelSpec("hf", place, options))
