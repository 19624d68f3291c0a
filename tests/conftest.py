"""Fixtures shared by all tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


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
