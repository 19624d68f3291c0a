"""`embedded/NAME`: the vision-language model that travels with the package, behind a real server on this machine.

llama.cpp (in the `xllamacpp` wheel, no torch) serves it in a process of its own on a free port of the loopback; it is
driven over HTTP like any other server, by `openai`. It ends with the model, at the latest with this process. With one
slot and no prompt cache an answer depends on its prompt alone: equal prompts give equal answers.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from PIL import Image

from snellen.core.errors import DataError, NotInstalledError, SnellenError, unknown
from snellen.core.pictures import Picture, Size, decode, encode_png
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import AnyTask, Failed, Key, Model, Prompt, Reply, Turn
from snellen.models.options import Options
from snellen.models.table import build

WEIGHTS = Path(__file__).parent / "weights"
DEFAULT = "snellen-tiny"
TOKEN_PX = 32
TOKENS = 100
"""A picture becomes at most so many tokens, each a square of TOKEN_PX (320 x 320 px where it is square), unless the
model's folder says otherwise.
"""

MOST_TOKENS = 1024
"""No answer is longer; a small model that repeats itself must stop."""

CONTEXT = 2560
START_SECONDS = 60.0
ANNOUNCES = "SNELLEN-SERVER "


def embedded(spec: ModelSpec, task: AnyTask | None = None) -> EmbeddedModel:
    """`embedded/snellen-tiny`, or `embedded -M path=FOLDER` with your own `model.gguf` and `mmproj.gguf` (and a
    `processor_config.json`, where pictures have not TOKENS tokens).

    threads: of the server (1). slots: requests computed together (1); more may change an answer that hangs by a hair.
    temperature (0: greedy), seed and logprobs (true) as for any server. The canonical spec gains the SHA-256 of the
    weights; SpecError for an unknown name, DataError where the weights are not those, NotInstalledError without
    llama.cpp.
    """
    options = Options(spec)
    folder = _folder(spec.name, options.text("path", ""))
    slots, threads = options.whole("slots", 1) or 1, options.whole("threads", 1) or 1
    asked: dict[str, Json] = {
        "concurrency": 2 * slots,
        "key_env": "SNELLEN_EMBEDDED_KEY",
        "logprobs": options.flag("logprobs", True),
        "temperature": options.number("temperature", 0.0, low=0),
        "seed": options.whole("seed", 0, low=0),
        "timeout": options.number("timeout", 180.0, low=0.001),
        "extra": {"top_k": 0, "top_p": 1.0, "min_p": 0.0},
    }
    expected = options.text("sha256", "")
    options.done()
    found = _digest(folder)
    if expected not in {"", found}:
        raise DataError(f"the weights have changed: SHA-256 {expected} expected, got {found}: {folder}")
    if importlib.util.find_spec("xllamacpp") is None:
        raise NotInstalledError.of("xllamacpp", "llamacpp")
    tokens = _tokens(folder)
    server = Server(folder, slots=slots, threads=threads)
    name = spec.name or folder.name
    inner = build(ModelSpec("openai", name, {**asked, "base_url": f"{server.address}/v1"}), task=task)
    return EmbeddedModel(ModelSpec("embedded", name, {**spec.options, "sha256": found}), inner, server, tokens)


@dataclass(frozen=True)
class EmbeddedModel:
    """Prompts with their pictures at the model's own size, answered by a server."""

    spec: ModelSpec
    inner: Model = field(repr=False)
    server: Server = field(repr=False)
    tokens: int = TOKENS

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Answers as the server gives them, the pictures seen at the size sent. An unreadable picture is Failed."""
        for key, reply in self.inner.answer(_fitted(prompt, self.tokens) for prompt in prompts):
            yield key, replace(reply, seen=reply.sent) if isinstance(reply, Reply) else reply

    def close(self) -> None:
        """Ends the server."""
        self.server.close()


class Server:
    """llama.cpp's server in a child process that ends when its standard input does."""

    def __init__(self, folder: Path, *, slots: int = 1, threads: int = 1) -> None:
        command = [sys.executable, "-m", "snellen.models.embedded_server", str(folder), str(slots), str(threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        )
        self._finish = weakref.finalize(self, _end, self.process)
        self.address = self._await_address()

    def close(self) -> None:
        """Ends the server; again does nothing."""
        self._finish()

    def _await_address(self) -> str:
        lines: list[str] = []
        ready = threading.Event()
        assert self.process.stdout is not None
        reader = threading.Thread(target=_listen, args=(self.process.stdout, lines, ready), daemon=True)
        reader.start()
        ready.wait(START_SECONDS)
        for line in lines:
            if line.startswith(ANNOUNCES):
                return line.removeprefix(ANNOUNCES).strip()
        self.close()
        said = " | ".join(line.strip() for line in lines[-3:]) or "nothing"
        raise SnellenError(f"the embedded model's server did not start within {START_SECONDS:g} s; it said: {said}")


def _listen(stream: IO[bytes], lines: list[str], ready: threading.Event) -> None:
    """Keeps the last lines the server writes (its pipe must never fill up); tells when it is ready or gone."""
    with contextlib.suppress(ValueError, OSError):
        for raw in stream:
            line = raw.decode(errors="replace")
            if not ready.is_set():
                lines.append(line)
            if line.startswith(ANNOUNCES):
                ready.set()
    ready.set()


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def input_size(size: Size, tokens: int = TOKENS) -> Size:
    """The size at which a picture of `size` is looked at: about its shape, sides of whole tokens, at most `tokens`."""
    scale = (tokens * TOKEN_PX**2 / size.pixels) ** 0.5
    columns, rows = (max(1, round(side * scale / TOKEN_PX)) for side in size)
    while columns * rows > tokens:
        columns, rows = (columns - 1, rows) if columns >= rows else (columns, rows - 1)
    return Size(columns * TOKEN_PX, rows * TOKEN_PX)


def _fitted(prompt: Prompt, tokens: int) -> Prompt:
    """The prompt with its pictures at the model's size, scaled when they are looked at."""
    turns = tuple(
        Turn(turn.role, tuple(_scaled(part, tokens) if isinstance(part, Picture) else part for part in turn.parts))
        for turn in prompt.turns
    )
    return replace(prompt, turns=turns, max_tokens=min(prompt.max_tokens, MOST_TOKENS))


def _scaled(picture: Picture, tokens: int) -> Picture:
    return Picture(picture.name, partial(_scaled_bytes, picture, tokens))


def _scaled_bytes(picture: Picture, tokens: int) -> bytes:
    image = decode(picture.load(), name=picture.name)
    return encode_png(image.resize(input_size(Size(*image.size), tokens), Image.Resampling.BICUBIC))


def names() -> tuple[str, ...]:
    """The models that travel with the package."""
    return tuple(sorted(path.parent.name for path in WEIGHTS.glob("*/model.gguf")))


def _folder(name: str, path: str) -> Path:
    if not path and (name or DEFAULT) not in names():
        raise unknown("embedded model", name or DEFAULT, names())
    folder = Path(path) if path else WEIGHTS / (name or DEFAULT)
    for file in ("model.gguf", "mmproj.gguf"):
        if not (folder / file).is_file():
            raise DataError(f"an embedded model is a folder with model.gguf and mmproj.gguf; no {file}: {folder}")
    return folder


def _tokens(folder: Path) -> int:
    """The most tokens of a picture: what the folder's `processor_config.json` says, where there is one."""
    path = folder / "processor_config.json"
    if not path.is_file():
        return TOKENS
    try:
        return int(json.loads(path.read_text())["image_processor"]["size"]["longest_edge"]) // TOKEN_PX**2
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected image_processor.size.longest_edge, a number of pixels: {path}") from error


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in ("model.gguf", "mmproj.gguf"):
        digest.update((folder / file).read_bytes())
    return digest.hexdigest()
