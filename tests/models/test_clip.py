"""Scorers of options over tiny CLIP and SigLIP models with random weights."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Turn
from snellen.models.clip import Scorer
from snellen.models.table import build
from tiny_models import folder

HEAVY = [pytest.mark.tier2, pytest.mark.filterwarnings("default"), pytest.mark.timeout(300)]
LABELS = ("star", "circle", "square")


def picture(seed=0):
    pixels = np.random.default_rng(seed).integers(0, 255, (9, 12, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((120, 90), 0).save(buffer, "PNG")
    return Picture(f"{seed}.png", buffer.getvalue)


def ask(seed=0, labels=LABELS, **options):
    turns = (Turn("user", (picture(seed), "What is the shape?")),)
    return Prompt(Key(f"s{seed}"), turns, wants="choice", labels=labels, **options)


def lengths(images, texts):
    """A comparison that likes long texts, and bright pictures more than dark ones."""
    bright = np.array([np.asarray(image).mean() for image in images])
    return bright[:, None] * np.array([len(text) for text in texts], dtype=float)


@pytest.fixture
def scorer():
    return Scorer(ModelSpec("hf", "x"), lengths, batch_size=2)


def test_the_option_with_the_highest_score_is_the_answer(scorer):
    replies = dict(scorer.answer([ask(0), ask(1, labels=("circle", "star")), ask(2)]))
    assert [reply.text for reply in replies.values()] == ["circle", "circle", "circle"]
    assert len(replies[Key("s1")].option_scores) == 2
    assert replies[Key("s0")].option_scores[1] > replies[Key("s0")].option_scores[0]


def test_of_equal_options_the_first_is_the_answer(scorer):
    (reply,) = (reply for _, reply in scorer.answer([ask(labels=("abc", "xyz"))]))
    assert reply.text == "abc"


def test_the_prompts_template_makes_the_texts_unless_the_model_has_its_own():
    seen = []
    spy = Scorer(ModelSpec("hf", "x"), lambda i, t: (seen.extend(t), lengths(i, t))[1])
    list(spy.answer([ask(template="the {label}!")]))
    own = Scorer(ModelSpec("hf", "x"), spy.compare, template="{label}?")
    list(own.answer([ask(template="the {label}!")]))
    assert seen == ["the star!", "the circle!", "the square!", "star?", "circle?", "square?"]


def test_a_picture_that_cannot_be_read_fails_alone(scorer):
    broken = Prompt(Key("broken"), (Turn("user", (Picture("x", lambda: b"no"),)),), wants="choice", labels=LABELS)
    replies = dict(scorer.answer([broken, ask(1)]))
    assert isinstance(replies[Key("broken")], Failed)
    assert isinstance(replies[Key("s1")], Reply)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (Prompt(Key("a"), (Turn("user", (picture(),)),), wants="boxes", labels=LABELS), "with options only"),
        (Prompt(Key("a"), (Turn("user", (picture(),)),), wants="choice"), "with options only"),
        (Prompt(Key("a"), (Turn("user", ("?",)),), wants="choice", labels=LABELS), "needs a picture"),
    ],
)
def test_what_a_scorer_cannot_answer_is_refused(scorer, prompt, message):
    with pytest.raises(SpecError, match=message):
        list(scorer.answer([prompt]))


@pytest.mark.parametrize("kind", [pytest.param("clip", marks=HEAVY), pytest.param("siglip", marks=HEAVY)])
def test_a_model_of_transformers_scores_options_the_same_in_any_batch(kind):
    pytest.importorskip("torch")
    prompts = [ask(0), ask(1, labels=LABELS[::-1]), ask(2, labels=("star", "circle"))]
    found = []
    for batch_size in (1, 3):
        model = build(ModelSpec("hf", str(folder(kind)), {"batch_size": batch_size}))
        replies = dict(model.answer(prompts))
        assert list(replies) == [p.key for p in prompts]
        assert all(r.text in p.labels for p, r in zip(prompts, replies.values(), strict=True))
        found.append([reply.option_scores for reply in replies.values()])
    for one, three in zip(*found, strict=True):
        assert one == pytest.approx(three, abs=1e-4)
    one = dict(zip(LABELS, found[0][0], strict=True))
    assert len(set(one.values())) == 3


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_a_template_without_a_place_for_the_label_is_refused(_):
    pytest.importorskip("torch")
    with pytest.raises(SpecError, match=r"holds \{label\}"):
        build(ModelSpec("hf", str(folder("clip")), {"template": "a photo"}))
