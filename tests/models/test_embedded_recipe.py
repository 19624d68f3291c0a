"""The recipe of the embedded model: its lean forward pass is transformers' own; it runs from nothing to a server."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.pictures import Picture, Size, encode_png
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models.table import build

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.tier2, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def recipe():
    sys.path.insert(0, str(RECIPES))
    yield importlib.import_module("train_embedded_vlm")
    sys.path.remove(str(RECIPES))


@pytest.mark.parametrize("size", [(320, 320), (384, 256)])
def test_the_lean_pass_gives_the_logits_of_transformers_own(recipe, tmp_path, size):
    import torch

    from snellen.models.hf_processors import load_processor

    learner = recipe.Learner(0, 1e-3)
    recipe.embedded_model.save(learner.model, learner.words, tmp_path, tokens=(4, 100), dtype=torch.float32)
    processor = load_processor(str(tmp_path), "qwen3_vl")
    rng = random.Random(0)
    made = [recipe.embedded_questions.made(rng, kind, size) for kind in ("single", "several")]
    with torch.no_grad():
        out = learner.forward([scene for scene, _ in made], [questions for _, questions in made])
    pictures = [recipe.embedded_scenes.draw(scene) for scene, _ in made]
    for bucket in out["buckets"]:
        for i, question in enumerate(bucket["questions"]):
            mine = bucket["logits"][bucket["row"] == i]
            where = next(k for k, (_, asked) in enumerate(made) if any(q is question for q in asked))
            content = [{"type": "image", "image": pictures[where]}, {"type": "text", "text": question.text}]
            turns = [{"role": "user", "content": content}, {"role": "assistant", "content": question.answer}]
            inputs = processor.apply_chat_template(turns, tokenize=True, return_dict=True, return_tensors="pt")
            with torch.no_grad():
                logits = learner.model(**inputs).logits[0]
            end = len(logits) - 2  # the template's line end follows the end token
            assert torch.allclose(logits[end - len(mine) : end], mine, atol=1e-3), question


@pytest.mark.parametrize("shape", [(128, 128), (64, 128), (384, 128)])
def test_a_step_is_the_gradient_made_orthogonal(recipe, shape):
    """Against the singular value decomposition: the same singular vectors, singular values brought to about 1."""
    import torch

    gradient = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    u, s, vt = torch.linalg.svd(gradient, full_matrices=False)
    among = u.mT @ recipe.embedded_training.orthogonal(gradient) @ vt.mT
    values = torch.diagonal(among, dim1=1, dim2=2)
    large = s > 0.05 * s.max()
    assert large.float().mean() > 0.9
    assert values[large].min() > 0.6
    assert values.max() < 1.3
    assert (among - torch.diag_embed(values)).abs().max() < 1e-3


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_the_recipe_runs_resumes_and_writes_a_model_that_is_served(tmp_path):
    model = tmp_path / "model"
    command = [sys.executable, str(RECIPES / "train_embedded_vlm.py"), str(tmp_path / "out"), "--tell", "1"]
    command += ["--seeing", "1", "--pictures", "2", "--asked", "2"]
    subprocess.run([*command, "--steps", "2"], check=True, capture_output=True)
    subprocess.run([*command, "--steps", "4", "--export", str(model)], check=True, capture_output=True)
    steps = [json.loads(line)["step"] for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 4]
    made = build(ModelSpec("embedded", "", {"path": str(model)}))
    try:
        picture = Picture("a.png", lambda: encode_png(Image.new("RGB", (64, 64), "red")))
        prompt = Prompt(Key("a"), (Turn("user", (picture, "What is this?")),), max_tokens=4)
        (reply,) = (reply for _, reply in made.answer([prompt]))
        assert isinstance(reply, Reply), reply
        assert reply.seen == (Size(320, 320),)
    finally:
        made.close()
