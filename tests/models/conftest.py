"""A server on loopback, in this process, that says what a test tells it to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from snellen.core.specs import ModelSpec
from snellen.models.openai import OpenAIModel
from snellen.models.table import build


def completion(content: str | None = "red", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return {"choices": [{"index": 0, "message": message, "finish_reason": more.pop("finish", "stop"), **more}],
            "model": "served", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}  # fmt: skip


class Scripted:
    """`respond` is called with the request and its JSON; `bodies` and `headers` are what came."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.headers: list[Any] = []
        self.at_once = self.most_at_once = 0
        self.respond: Callable[[web.Request, Any], Awaitable[web.StreamResponse]] = self.always(completion())
        self.loop = asyncio.new_event_loop()
        up = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(up,))
        self.thread.start()
        up.wait()

    completion = staticmethod(completion)

    @staticmethod
    def always(
        body: Any, status: int = 200, **headers: str
    ) -> Callable[[web.Request, Any], Awaitable[web.StreamResponse]]:
        async def respond(request: web.Request, asked: Any) -> web.StreamResponse:
            text = body if isinstance(body, str) else json.dumps(body)
            return web.Response(text=text, status=status, headers=headers, content_type="application/json")

        return respond

    def one_after_the_other(self, *responses: Any) -> None:
        """The first request meets the first, and so on; the last one stays."""
        left = list(responses)

        async def respond(request: web.Request, asked: Any) -> web.StreamResponse:
            return await (left.pop(0) if len(left) > 1 else left[0])(request, asked)

        self.respond = respond

    def model(self, **options: Any) -> OpenAIModel:
        return build(ModelSpec("openai", "vlm", {"base_url": self.url, "timeout": 5, "attempts": 3, **options}))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.bodies.append(asked)
        self.headers.append(request.headers)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self.respond(request, asked)
        finally:
            self.at_once -= 1

    def _run(self, up: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        app = web.Application(client_max_size=2**26)
        app.add_routes([web.post("/v1/chat/completions", self._handle)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)

        async def start() -> None:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

        self.loop.run_until_complete(start())
        up.set()
        self.loop.run_forever()
        self.loop.run_until_complete(runner.cleanup())
        self.loop.close()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Scripted]:
    scripted = Scripted()
    yield scripted
    scripted.close()
