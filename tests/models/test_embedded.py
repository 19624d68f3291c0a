"""The embedded model: its pictures, its server, its weights."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import DataError, NotInstalledError, SnellenError, SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models import embedded
from snellen.models.table import build, identity
from snellen.stimuli.render import render
from snellen.stimuli.worlds import Object, World

HEAVY = [pytest.mark.tier2, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]
PRESENT = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_a_picture_of_any_shape_gets_whole_tokens_and_not_too_many(width, height):
    size = embedded.input_size(Size(width, height))
    assert size.width % 32 == size.height % 32 == 0
    assert 1 <= size.width * size.height // 1024 <= embedded.TOKENS


@pytest.mark.parametrize(
    ("size", "seen"),
    [
        (Size(672, 672), Size(256, 256)),
        (Size(64, 64), Size(256, 256)),
        (Size(640, 480), Size(288, 224)),
        (Size(480, 640), Size(224, 288)),
        (Size(1000, 1), Size(2048, 32)),
    ],
)
def test_pictures_are_seen_at_about_their_own_shape(size, seen):
    assert embedded.input_size(size, 64) == seen


@pytest.mark.parametrize(("edge", "seen"), [(100 * 32**2, Size(320, 320)), (64 * 32**2, Size(256, 256))])
def test_a_folder_says_how_large_its_model_sees_pictures(tmp_path, edge, seen):
    config = {"image_processor": {"size": {"longest_edge": edge}}}
    (tmp_path / "processor_config.json").write_text(json.dumps(config))
    assert embedded.input_size(Size(672, 672), embedded._tokens(tmp_path)) == seen


def test_a_folder_whose_processor_cannot_be_read_is_told(tmp_path):
    _fake_weights(tmp_path)
    (tmp_path / "processor_config.json").write_text("{}")
    with pytest.raises(DataError, match=r"longest_edge.*processor_config\.json"):
        embedded._tokens(tmp_path)


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(SpecError, match=r"unknown embedded model 'snelen-tiny'.*Known"):
        build(ModelSpec.parse("embedded/snelen-tiny"))


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no model.gguf"):
        build(ModelSpec.parse("embedded", [f"path={tmp_path}"]))


def test_other_weights_than_expected_are_refused(tmp_path):
    _fake_weights(tmp_path)
    with pytest.raises(DataError, match="the weights have changed"):
        build(ModelSpec.parse("embedded", [f"path={tmp_path}", "sha256=abc"]))


def test_without_llama_cpp_the_message_names_the_line_to_type(tmp_path, monkeypatch):
    _fake_weights(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotInstalledError, match=r"pip install 'snellen\[llamacpp\]'"):
        build(ModelSpec.parse("embedded", [f"path={tmp_path}"]))


def _fake_weights(folder):
    (folder / "model.gguf").write_bytes(b"no weights")
    (folder / "mmproj.gguf").write_bytes(b"no weights")


def prompt(shape="star", text="What is the shape of the object? Choose from [star, circle].", *, key="a", most=32):
    world = World((Object(shape, "red", 2, 2),), side=336)
    picture = Picture(f"{shape}.png", lambda: render(world))
    return Prompt(
        Key(key), (Turn("user", (picture, text)),), wants="choice", labels=("star", "circle"), max_tokens=most
    )


@pytest.fixture(scope="session")
def model():
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    made = build(ModelSpec.parse("embedded/snellen-tiny"))
    yield made
    made.close()


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_a_reply_has_its_tokens_and_the_size_that_was_seen(model, _):
    ((_, reply),) = model.answer([prompt()])
    assert reply.finish == "stop"
    assert reply.seen == reply.sent == (embedded.input_size(Size(336, 336)),)
    assert "".join(token.text for token in reply.tokens) == reply.text


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_any_letters_and_a_question_without_a_picture_are_answered(model, _):
    odd = [
        Prompt(Key("blind"), (Turn("user", ("Only text.",)),), max_tokens=8),
        prompt(text="Wie hei\u00dft das? \u661f \U0001f31f", key="unicode"),
    ]
    replies = dict(model.answer(odd))
    assert all(isinstance(reply, Reply) for reply in replies.values()), replies


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_the_spec_names_the_weights_and_not_the_port(model, _):
    stored = json.dumps(identity(model.spec))
    assert '"sha256"' in stored
    assert "127.0.0.1" not in stored
    assert model.spec.provider == "embedded"


@PRESENT
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_weights_that_cannot_be_read_end_in_a_message(tmp_path, _):
    _fake_weights(tmp_path)
    with pytest.raises(SnellenError, match="did not start"):
        embedded.Server(tmp_path)


@PRESENT
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_the_server_ends_with_the_model_and_with_a_parent_that_is_killed(_):
    server = embedded.Server(embedded.WEIGHTS / embedded.DEFAULT)
    server.close()
    server.close()
    assert server.process.poll() is not None
    script = (
        "from snellen.models import embedded; import time;"
        "s = embedded.Server(embedded.WEIGHTS / embedded.DEFAULT); print(s.process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    child = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _attempt in range(100):
        if not _alive(child):
            return
        time.sleep(0.1)
    pytest.fail("the server outlived its parent")


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
