"""`transformers serve` with the embedded model's folder, driven over HTTP by `openai/...`.

What this server silently ignores is noticed: asked for log-probabilities it gives none, and the reply says so.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models import embedded
from snellen.models.table import build
from snellen.stimuli.render import render
from snellen.stimuli.worlds import Object, World

pytestmark = [
    pytest.mark.tier2,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        not all(importlib.util.find_spec(name) for name in ("torch", "transformers", "fastapi", "uvicorn")),
        reason="transformers serve needs torch, transformers, fastapi and uvicorn",
    ),
]

SERVE = """
import importlib.util
import sys
from transformers.models.qwen3_vl import processing_qwen3_vl as stock
from snellen.models.hf_processors import without_video
if importlib.util.find_spec("torchvision") is None:
    stock.Qwen3VLProcessor = without_video(stock.Qwen3VLProcessor)
from transformers.cli.transformers import main
sys.argv = ["transformers", "serve", "--host", "127.0.0.1", "--port", sys.argv[1]]
main()
"""
"""The stock server; without torchvision, with a processor that has no video part."""


@pytest.fixture(scope="module")
def address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", SERVE, str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if process.poll() is not None:
                pytest.fail(f"transformers serve ended with {process.returncode}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def prompt(shape):
    world = World((Object(shape, "red", 2, 2),), side=256)
    text = "Answer with as few words as possible. What is the color of the object? Choose from [red, green, blue]."
    turns = (Turn("user", (Picture(f"{shape}.png", lambda: render(world)), text)),)
    return Prompt(Key(shape), turns, wants="choice", labels=("red", "green", "blue"), max_tokens=8)


def test_another_server_gives_the_same_answers_and_says_what_it_leaves_out(address):
    folder = str(embedded.WEIGHTS / embedded.DEFAULT)
    options = {"base_url": address, "logprobs": True, "concurrency": 1}
    served = dict(build(ModelSpec("openai", folder, options)).answer([prompt("star"), prompt("circle")]))
    here = dict(build(ModelSpec("hf", folder)).answer([prompt("star"), prompt("circle")]))
    for key, reply in served.items():
        assert isinstance(reply, Reply), reply
        assert reply.text.removesuffix("<|im_end|>") == here[key].text
        assert not reply.tokens
