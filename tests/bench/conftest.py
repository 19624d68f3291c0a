"""A loopback server that speaks: it knows the truth of the pictures it is shown, and says it as well as it can."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.detections import Detections
from snellen.core.pictures import measure
from snellen.core.stages import Sample
from snellen.parsing.boxes import write_boxes
from snellen.parsing.notations import named


@dataclass
class Speaker:
    """How a model of the server sees and speaks: noise (share of a box's sides), misses, and the share of failures."""

    notation: str
    noise: float
    miss: float = 0.0
    fails: float = 0.0


@dataclass
class Loopback:
    """The running server. truth: picture hash -> boxes. answered: replies by model and picture."""

    url: str
    speakers: dict[str, Speaker]
    truth: dict[str, Detections] = field(default_factory=dict)
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    failing: set[str] = field(default_factory=set)

    def knows(self, samples: list[Sample[Detections]] | tuple[Sample[Detections], ...]) -> None:
        """Tells the server what is true on these pictures."""
        for sample in samples:
            self.truth[hashlib.sha256(sample.pictures[-1].encoded()).hexdigest()] = sample.truth

    def reply(self, body: Mapping[str, object]) -> tuple[int, dict[str, object]]:
        """Status and body of the answer to a chat completion request."""
        model = str(body["model"])
        data = _picture(body)
        name = hashlib.sha256(data).hexdigest()
        speaker = self.speakers[model]
        rng = np.random.default_rng([int(name[:8], 16), sum(map(ord, model))])
        if rng.random() < speaker.fails and (model, name) not in self.failing:
            self.failing.add((model, name))  # type: ignore[arg-type]
            return 500, {"error": {"message": "out of sorts"}}
        self.answered[model, name] += 1
        said = _perturbed(self.truth[name], speaker, rng)
        size = measure(data, name=name)
        seen = named(speaker.notation).input_of(size)
        text = write_boxes(said, notation=speaker.notation, size=size, input_size=seen)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 900, "completion_tokens": len(text) // 4, "total_tokens": 900 + len(text) // 4}
        return 200, {"id": "1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice],
                     "usage": usage}  # fmt: skip


def _picture(body: Mapping[str, object]) -> bytes:
    parts = body["messages"][-1]["content"]  # type: ignore[index]
    url = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
    return base64.b64decode(url.partition(",")[2])


def _perturbed(truth: Detections, speaker: Speaker, rng: np.random.Generator) -> Detections:
    kept = truth.take(np.flatnonzero(rng.random(len(truth)) >= speaker.miss))
    sides = np.tile(kept.boxes[:, 2:] - kept.boxes[:, :2], 2)
    moved = kept.boxes + rng.normal(0, speaker.noise, kept.boxes.shape) * sides
    corners = np.concatenate([np.minimum(moved[:, :2], moved[:, 2:] - 1), moved[:, 2:]], axis=1)
    return Detections(np.clip(corners, 0, None), kept.labels)


@pytest.fixture
def loopback() -> Iterator[Callable[[dict[str, dict[str, Any]]], Loopback]]:
    """Starts servers on free ports; all stop at the end of the test."""
    from aiohttp import web

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runners: list[web.AppRunner] = []

    async def start(server: Loopback) -> int:
        async def answer(request: web.Request) -> web.Response:
            status, body = server.reply(json.loads(await request.text()))
            return web.json_response(body, status=status)

        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        runners.append(runner)
        return int(runner.addresses[0][1])

    def make(speakers: dict[str, dict[str, Any]]) -> Loopback:
        server = Loopback("", {name: Speaker(**how) for name, how in speakers.items()})
        port = asyncio.run_coroutine_threadsafe(start(server), loop).result(10)
        server.url = f"http://127.0.0.1:{port}/v1"
        return server

    yield make
    for runner in runners:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-loopback")


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache" / "replies.sqlite"))
