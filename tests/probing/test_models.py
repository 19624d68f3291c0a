"""Real models under the probe, through transformers: the one that travels with the package, and random weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.models import embedded
from snellen.stimuli.scenes import detection

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.tier2,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(600),
]

WEIGHTS = embedded.WEIGHTS / embedded.DEFAULT


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache" / "replies.sqlite"))


def probed(*arguments: str) -> tuple[dict, int]:
    result = CliRunner().invoke(app, ["probe", *arguments, "-M", "batch_size=20", "--json"])
    assert result.exit_code in {0, 6}, result.output
    return json.loads(result.stdout), result.exit_code


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures with one large object: what even a model of coarse boxes can point at."""
    folder = tmp_path_factory.mktemp("large") / "one"
    detection(scenes=60, objects=[1], grid=3, sizes=["regular"], seed=5).write(folder)
    return folder


def test_a_trained_model_is_never_said_to_speak_another_notation_than_it_was_trained_on() -> None:
    found, code = probed(f"hf/{WEIGHTS}", "--scenes", "18")
    assert code == 0
    assert found["answered"] == 18
    assert not found["contradicted"]
    assert found["boxes"] >= 18
    assert found["verdict"] == "cannot tell" or found["best"] == "xyxy 0..1000", found["reason"]
    assert next(iter(found["agreement"])).startswith("xyxy"), found["agreement"]


def test_on_large_objects_its_notation_is_named_and_a_wrong_one_contradicted(large: Path) -> None:
    found, code = probed(f"hf/{WEIGHTS}", "--on", str(large), "--scenes", "60")
    assert (found["verdict"], found["best"], code) == ("named", "xyxy 0..1000", 0), found["reason"]
    found, code = probed(f"hf/{WEIGHTS}", "--on", str(large), "--scenes", "60", "--notation", "wade")
    assert (found["contradicted"], code) == (True, 6), found["reason"]
    assert "declares wade (yxyx 0..1000) but speaks xyxy 0..1000" in found["reason"]


def test_of_a_model_with_random_weights_the_probe_cannot_tell(tmp_path: Path) -> None:
    folder = tmp_path / "random"
    _shaken(folder)
    found, code = probed(f"hf/{folder}", "--scenes", "18", "-M", "max_tokens=40")
    assert (found["verdict"], found["contradicted"], code) == ("cannot tell", False, 0), found["reason"]
    assert found["answered"] == 18


def _shaken(folder: Path) -> None:
    """The same architecture, tokenizer and processor, its weights drawn anew."""
    import shutil

    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    shutil.copytree(WEIGHTS, folder, ignore=shutil.ignore_patterns("*.gguf", "*.safetensors"))
    torch.manual_seed(0)
    AutoModelForImageTextToText.from_config(AutoConfig.from_pretrained(WEIGHTS)).save_pretrained(folder)
