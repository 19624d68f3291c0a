"""`hf/...` detectors over tiny models with random weights, against transformers' own post-processing."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models.hf_detectors import Found, best
from snellen.models.hf_phrases import caption, chunks_of
from snellen.models.table import build, speaks
from tiny_models import folder as tiny
from tiny_models.detectors import CLOSED, OPEN, words

HEAVY = [pytest.mark.tier2, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]
LABELS = ("red star", "plastic bottle", "circle")


def picture(seed=0, size=(120, 90)):
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 255, (9, 12, 3), dtype=np.uint8)).resize(size, 0)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Picture(f"{seed}.png", buffer.getvalue)


def ask(seed=0, labels=LABELS, size=(120, 90)):
    return Prompt(Key(f"s{seed}"), (Turn("user", (picture(seed, size), "?")),), wants="boxes", labels=labels)


@pytest.mark.parametrize("name", CLOSED, ids=list(CLOSED))
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_a_closed_detector_finds_what_transformers_own_post_processing_finds(name, _):
    import torch

    model = build(ModelSpec("hf", str(tiny(name)), {"min_score": 0, "most": 20, "batch_size": 2}))
    prompts = [ask(1), ask(2, size=(60, 150)), ask(3)]
    replies = dict(model.answer(prompts))
    assert list(replies) == [p.key for p in prompts]
    cells = dict(zip(model.look.__code__.co_freevars, model.look.__closure__, strict=True))
    network, shown = cells["model"].cell_contents, cells["shown"].cell_contents
    for prompt in prompts:
        image = prompt.pictures[0].image()
        with torch.inference_mode():
            said = network(**shown(images=[image], return_tensors="pt"))
        own = shown.post_process_object_detection(said, threshold=0.0, target_sizes=[image.size[::-1]])[0]
        order = torch.argsort(-own["scores"], stable=True)[:20]
        found = replies[prompt.key].detections
        assert found.scores == pytest.approx(own["scores"][order].double().numpy(), abs=1e-5)
        if name not in {"yolos", "detr"}:  # those keep one class per query, we the best pairs
            assert found.boxes == pytest.approx(own["boxes"][order].double().numpy(), abs=1e-2)
            assert found.labels == tuple(network.config.id2label[i] for i in own["labels"][order].tolist())


@pytest.mark.parametrize("name", OPEN, ids=list(OPEN))
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_an_open_detector_scores_every_class_that_is_asked_for(name, _):
    model = build(ModelSpec("hf", str(tiny(name)), {"min_score": 0}))
    prompts = [ask(1), ask(2, labels=LABELS[:1]), ask(3, size=(60, 150))]
    replies = dict(model.answer(prompts))
    for prompt in prompts:
        reply = replies[prompt.key]
        assert isinstance(reply, Reply), reply
        assert set(reply.detections.labels) == set(prompt.labels)
        assert (np.diff(reply.detections.scores) <= 0).all()
        assert len(reply.detections) % len(prompt.labels) == 0
    again = dict(model.answer(prompts[:1]))[prompts[0].key]
    assert again.detections == replies[prompts[0].key].detections


@pytest.mark.parametrize("name", ["owlv2"])
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_boxes_of_a_padded_square_come_back_to_the_picture(name, _):
    import torch

    model = build(ModelSpec("hf", str(tiny(name)), {"min_score": 0}))
    prompt = ask(1, labels=("circle",))
    reply = dict(model.answer([prompt]))[prompt.key]
    cells = dict(zip(model.look.__code__.co_freevars, model.look.__closure__, strict=True))
    inner = cells["_one"].cell_contents
    cells = dict(zip(inner.__code__.co_freevars, inner.__closure__, strict=True))
    network, processor = cells["model"].cell_contents, cells["processor"].cell_contents
    image = prompt.pictures[0].image()
    with torch.inference_mode():
        said = network(**processor(images=image, text=[["circle"]], return_tensors="pt"))
    own = processor.post_process_grounded_object_detection(said, threshold=0.0, target_sizes=[(90, 120)])[0]
    order = torch.argsort(-own["scores"], stable=True)
    assert reply.detections.scores == pytest.approx(own["scores"][order].double().numpy(), abs=1e-5)
    assert reply.detections.boxes == pytest.approx(own["boxes"][order].double().numpy(), abs=1e-2)


SEEN = {
    "rt_detr_v2": ((96, 96), (96, 96)), "d_fine": ((96, 96), (96, 96)), "rf_detr": ((96, 96), (96, 96)),
    "yolos": ((96, 96), (96, 96)), "detr": ((96, 96), (96, 96)), "grounding-dino": ((96, 72), (38, 96)),
    "mm-grounding-dino": ((96, 72), (38, 96)), "owlv2": ((96, 72), (38, 96)),
}  # fmt: skip
"""Detector -> the sizes at which it looks at pictures of 120 x 90 and 60 x 150 px: stretched, or of their own shape."""


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_the_size_that_a_picture_has_in_the_input_is_told_without_the_padding(name, _):
    model = build(ModelSpec("hf", str(tiny(name)), {"batch_size": 2}))
    replies = dict(model.answer([ask(1), ask(2, size=(60, 150))]))
    for key, seen in zip(("s1", "s2"), SEEN[name], strict=True):
        assert replies[Key(key)].seen == (Size(*seen),)
    assert not speaks(model)


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_two_hundred_classes_are_asked_in_chunks(_):
    labels = (*(f"kind{i}" for i in range(60)), "red star")
    model = build(ModelSpec("hf", str(tiny("grounding-dino")), {"min_score": 0, "most": 100_000}))
    reply = dict(model.answer([ask(1, labels=labels)]))[Key("s1")]
    assert set(reply.detections.labels) == set(labels)
    chunks = list(chunks_of(labels, words(), limit=24))
    assert len(chunks) > 3
    assert sum(len(chunk.tokens) for chunk in chunks) == len(labels)
    positive = reply.detections.scores > 0
    assert positive.sum() == 20 * len(labels)


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_the_tokens_of_a_class_are_its_own(_):
    tokenizer = words()
    (chunk,) = chunks_of(["red star", "Circle", "plastic bottle"], tokenizer, limit=24)
    assert chunk.text == "red star. circle. plastic bottle."
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(chunk.text)["input_ids"])
    assert [[pieces[i] for i in places] for places in chunk.tokens] == [
        ["red", "star"],
        ["circle"],
        ["plastic", "bottle"],
    ]
    with pytest.raises(SpecError, match="more tokens than the model can read"):
        list(chunks_of(["red " * 40], tokenizer, limit=24))


def test_the_best_pairs_of_query_and_class_are_kept():
    found = Found(np.array([[0.5, 0.5, 0.2, 0.4], [0.1, 0.1, 0.2, 0.2]]), np.array([[0.9, 0.2], [0.3, 0.8]]))
    said = best(found, ("cat", "dog"), size=Size(100, 50), most=3, min_score=0.25)
    assert said.labels == ("cat", "dog", "cat")
    assert said.scores.tolist() == [0.9, 0.8, 0.3]
    assert said.boxes == pytest.approx(np.array([[40, 15, 60, 35], [0, 0, 20, 10], [0, 0, 20, 10]]))


def test_a_full_stop_inside_a_name_does_not_end_it():
    assert caption(["No. 5 Bottle", "cup"]) == "no 5 bottle. cup."
