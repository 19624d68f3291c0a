"""A small OpenAI-compatible server on loopback that answers at once, late, or badly: for tests and benchmarks.

Run:  python benchmarks/loopback.py --latency 0.1 --faults '{"429": 0.02, "500": 0.02, "hang": 0.002, "cut": 0.01}'

It prints `{"port": ...}` and serves until its stdin closes. Answers are a pure function of the request; which request
meets a fault is not. `GET /counts` tells what was served. Faults: 429, 500, hang, cut, empty, null, garbage;
`refuse` is the share of requests (always the same ones) that are refused, which is an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import sys
from collections import Counter

from aiohttp import web

OPTIONS = re.compile(rb"[Cc]hoose from \[([^\]]*)\]")


class Server:
    def __init__(self, latency: float, faults: dict[str, float], seed: int, retry_after: str) -> None:
        self.latency, self.faults, self.retry_after = latency, faults, retry_after
        self.rng = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.open = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.open += 1
        self.counts["most-at-once"] = max(self.counts["most-at-once"], self.open)
        try:
            return await self.serve(request, body)
        finally:
            self.open -= 1

    async def serve(self, request: web.Request, body: bytes) -> web.StreamResponse:
        if self.latency:
            await asyncio.sleep(self.latency)
        fault = self.fault()
        self.counts[fault or "ok"] += 1
        if fault == "429":
            return web.json_response({"error": {"message": "slow down"}}, status=429,
                                     headers={"Retry-After": self.retry_after})  # fmt: skip
        if fault == "500":
            return web.json_response({"error": {"message": "a bad day"}}, status=500)
        if fault == "hang":
            await asyncio.sleep(3600)
        answer = self.answer(body)
        if fault == "cut":
            response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "5000"})
            await response.prepare(request)
            await response.write(json.dumps(answer).encode()[:40])
            assert request.transport is not None
            request.transport.close()
            return response
        if fault == "empty":
            answer["choices"] = []
        if fault == "null":
            answer["choices"][0]["message"]["content"] = None
        if fault == "garbage":
            return web.Response(text="<html>gateway</html>", content_type="text/html")
        return web.json_response(answer)

    def fault(self) -> str | None:
        draw = self.rng.random()
        for name, share in self.faults.items():
            if name != "refuse":
                if draw < share:
                    return name
                draw -= share
        return None

    def answer(self, body: bytes) -> dict:
        digest = hashlib.sha256(body).digest()
        found = OPTIONS.search(body)
        options = found.group(1).decode().split(", ") if found else [digest.hex()[:12]]
        message: dict = {"role": "assistant", "content": options[digest[0] % len(options)]}
        if int.from_bytes(digest[1:5], "big") / 2**32 < self.faults.get("refuse", 0.0):
            message = {"role": "assistant", "content": None, "refusal": "I would rather not."}
        choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}
        if b'"logprobs":true' in body:
            choice["logprobs"] = {"content": [{"token": message["content"], "logprob": -0.25, "top_logprobs": []}]}
        usage = {"prompt_tokens": len(body) // 100, "completion_tokens": 3, "total_tokens": len(body) // 100 + 3}
        return {"id": "x", "object": "chat.completion", "created": 0, "model": "loopback", "choices": [choice],
                "usage": usage}  # fmt: skip

    async def tell(self, request: web.Request) -> web.Response:
        return web.json_response(self.counts)


async def serve(options: argparse.Namespace) -> None:
    server = Server(options.latency, json.loads(options.faults), options.seed, options.retry_after)
    app = web.Application(client_max_size=2**26)
    app.add_routes([web.post("/v1/chat/completions", server.chat), web.get("/counts", server.tell)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port, backlog=1024)
    await site.start()
    port = runner.addresses[0][1]
    print(json.dumps({"port": port}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--faults", default="{}", help="JSON: fault -> share of requests")
    parser.add_argument("--retry-after", default="0", help="the header of a 429")
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
