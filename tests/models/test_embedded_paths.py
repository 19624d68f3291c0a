"""The same weights through llama.cpp (over HTTP) and through transformers (in process): the same answers."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from snellen.core.specs import ModelSpec
from snellen.core.stages import Reply
from snellen.evals.tasks import open_task
from snellen.models import embedded
from snellen.models.table import build

pytestmark = [
    pytest.mark.tier2,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        not all(importlib.util.find_spec(name) for name in ("xllamacpp", "torch", "transformers")),
        reason="xllamacpp, torch and transformers are needed",
    ),
]


def prompts_of(spec, *, every, most):
    task = open_task(spec)
    found = []
    for i, sample in enumerate(task.samples):
        if i % every == 0:
            found += task.prompts(sample)
        if len(found) >= most:
            break
    return found[:most]


@pytest.fixture(scope="module")
def both():
    """Prompt -> (reply of llama.cpp, reply of transformers)."""
    prompts = prompts_of({"task": "civet/single-object"}, every=211, most=80)
    prompts += prompts_of({"task": "civet/relative-position"}, every=601, most=20)
    boxes = prompts_of({"task": "civet/detection", "scenes": 12}, every=1, most=12)
    server = build(ModelSpec.parse("embedded/snellen-tiny"))
    here = build(ModelSpec("hf", str(embedded.WEIGHTS / embedded.DEFAULT), {"batch_size": 4, "max_tokens": 400}))
    asked = [*prompts, *boxes]
    first, second = dict(server.answer(asked)), dict(here.answer(asked))
    server.close()
    return [(p, first[p.key], second[p.key]) for p in asked]


def test_nearly_all_answers_are_equal(both):
    closed = [(a, b) for p, a, b in both if p.wants == "choice"]
    assert all(isinstance(r, Reply) for pair in closed for r in pair)
    equal = np.mean([a.text == b.text for a, b in closed])
    assert equal >= 0.97, f"{equal:.3f} of the closed answers are equal"
    boxes = [(a, b) for p, a, b in both if p.wants == "boxes"]
    parts = np.mean([a.text[:40] == b.text[:40] for a, b in boxes])
    assert parts >= 0.7, f"{parts:.3f} of the answers in boxes begin equally"


def test_where_answers_differ_the_model_hung_by_a_hair(both):
    """llama.cpp rounds activations to float16 in its products with float16 weights, transformers works in float32."""
    for prompt, a, b in both:
        if prompt.wants == "choice" and a.text != b.text:
            k = next(i for i, (s, t) in enumerate(zip(a.tokens, b.tokens, strict=False)) if s.text != t.text)
            assert abs(a.tokens[k].logprob - b.tokens[k].logprob) < 0.1, (prompt.text, a.text, b.text)


def test_the_log_probabilities_are_equal_to_float16(both):
    gaps = [
        abs(s.logprob - t.logprob)
        for _, a, b in both
        if a.text == b.text
        for s, t in zip(a.tokens, b.tokens, strict=False)
        if s.text == t.text
    ]
    assert len(gaps) > 100
    assert np.median(gaps) < 0.01
    assert np.quantile(gaps, 0.99) < 0.2


def test_both_see_the_picture_at_the_same_size(both):
    assert all(a.seen == b.seen for _, a, b in both)
