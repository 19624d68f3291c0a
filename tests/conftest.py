"""Fixtures shared by all tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests keep on the machine is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLEN_CACHE", str(tmp_path_factory.mktemp("cache") / "replies.sqlite"))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real pictures, answers and cases that lies outside the repository; skips where it is absent."""
    place = os.environ.get("SNELLEN_SHARED") or str(Path(__file__).parents[2] / "shared")
    folder = Path(place)
    if not (folder / "PROTOCOLS.md").is_file():
        pytest.skip(f"SNELLEN_SHARED names no folder of shared data: {folder}")
    return folder


@pytest.fixture(scope="session")
def loopback() -> Iterator[Callable[..., str]]:
    """Starts `benchmarks/loopback.py` with the given options and gives its base URL."""
    script = Path(__file__).parents[1] / "benchmarks" / "loopback.py"
    running: dict[tuple[str, ...], tuple[subprocess.Popen[str], str]] = {}

    def start(*options: str) -> str:
        if options not in running:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            server = subprocess.Popen([sys.executable, str(script), *options], **pipes)
            assert server.stdout is not None
            running[options] = server, f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/v1"
        return running[options][1]

    yield start
    for server, _ in running.values():
        server.communicate()


FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
)  # fmt: skip


class Chromium:
    """Opens a page and evaluates expressions in it, through the DevTools protocol."""

    def __init__(self, profile: Path) -> None:
        name = shutil.which("chromium") or shutil.which("google-chrome")
        if name is None:
            pytest.skip("no chromium here")
        self.process = subprocess.Popen(
            [name, *FLAGS, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "DevTools listening on" in line:
                self.port = int(line.rpartition("127.0.0.1:")[2].partition("/")[0])
                break
        threading.Thread(target=lambda: list(self.process.stderr or ()), daemon=True).start()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        if self.process.stderr is not None:
            self.process.stderr.close()

    def look(
        self, page: Path | str, *steps: str, width: int = 1400, dark: bool = False, ready: str = "window.snellenGallery"
    ) -> tuple[list[Any], list[str]]:
        """The values of the steps, and what went wrong or was asked of the network beyond the page's own server.

        A step is an expression (its value may be a promise), or `press x`: the key x is pressed (its value: None).
        ready: an expression that is true once the page may be used.
        """
        url = page if isinstance(page, str) else page.as_uri()
        return asyncio.run(self._look(url, (LOADED.replace("READY", ready), *steps), width, dark))

    async def _look(self, url: str, steps: tuple[str, ...], width: int, dark: bool) -> tuple[list[Any], list[str]]:
        import aiohttp

        events: list[dict[str, Any]] = []
        async with aiohttp.ClientSession() as session:
            async with session.put(f"http://127.0.0.1:{self.port}/json/new?about:blank") as answer:
                target = await answer.json()
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                numbers = iter(range(1, 1000))

                async def call(method: str, **params: Any) -> Any:
                    number = next(numbers)
                    await socket.send_json({"id": number, "method": method, "params": params})
                    while (data := await socket.receive_json()).get("id") != number:
                        events.append(data)
                    assert "error" not in data, data
                    return data["result"]

                async def press(key: str) -> None:
                    text = {"text": key} if len(key) == 1 else {}
                    await call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
                    await call("Input.dispatchKeyEvent", type="keyUp", key=key)

                for domain in ("Page", "Runtime", "Log", "Network"):
                    await call(f"{domain}.enable")
                await call(
                    "Emulation.setDeviceMetricsOverride",
                    width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
                )  # fmt: skip
                scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
                await call("Emulation.setEmulatedMedia", features=[scheme])
                await call("Page.navigate", url=url)
                values = []
                for step in steps:
                    if step.startswith("press "):
                        await press(step.removeprefix("press "))
                        values.append(None)
                        continue
                    found = await call("Runtime.evaluate", expression=step, awaitPromise=True, returnByValue=True)
                    assert "exceptionDetails" not in found, found["exceptionDetails"]
                    values.append(found["result"].get("value"))
        own = "/".join(url.split("/")[:3]) if url.startswith("http") else "file:"
        return values[1:], [line for event in events for line in _trouble(event, own)]


LOADED = "new Promise(done => { const look = () => document.readyState === 'complete' && READY ? done() : setTimeout(look, 50); look(); })"  # noqa: E501


def _trouble(event: dict[str, Any], own: str) -> list[str]:
    kind, params = event.get("method", ""), event.get("params", {})
    if kind == "Runtime.exceptionThrown":
        return [json.dumps(params["exceptionDetails"])[:300]]
    if kind == "Log.entryAdded" and params["entry"]["level"] == "error":
        return [params["entry"]["text"]]
    if kind == "Network.requestWillBeSent" and not params["request"]["url"].startswith((own, "data:", "about:")):
        return [params["request"]["url"]]
    return []


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A real browser; skips where there is none."""
    with contextlib.closing(Chromium(tmp_path_factory.mktemp("profile"))) as opened:
        yield opened
