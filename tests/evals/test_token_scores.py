"""`scores=token-logprob`: boxes in text are scored by the log-probabilities of their tokens."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from snellen.core.stages import Exchange, Token
from snellen.evals.tasks import open_task

CONSTANT = math.log(0.25)


@pytest.mark.parametrize("scores", ["model", "token-logprob"])
def test_boxes_get_the_confidence_of_their_tokens_where_asked_for(scores):
    task = open_task({"task": "civet/detection", "scenes": 3, "scores": scores})
    assert task.spec["scores"] == scores
    for sample in task.samples:
        (prompt,) = task.prompts(sample)
        ideal = task.target(sample, prompt)
        reply = replace(ideal, tokens=tuple(Token(letter, CONSTANT) for letter in ideal.text))
        found = task.read(sample, [Exchange(prompt, reply)]).value
        assert len(found) == len(sample.truth)
        if scores == "model":
            assert found.scores is None
        else:
            assert found.scores == pytest.approx([0.25] * len(found))
        silent = task.read(sample, [Exchange(prompt, ideal)]).value
        assert silent.scores is None
