"""The reply cache: a model made of a model. What was asked before, bit for bit, is not asked again.

A key is made of the model's identity, everything in the prompt that a model can see, the bytes of its pictures, and the
draw. Replies are kept, failures never. One SQLite file per machine; several processes may use it at once.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from weakref import finalize

import orjson

from snellen.core.errors import DataError, StoreError
from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec, canonical
from snellen.core.stages import Failed, Key, Model, Prompt, Reply
from snellen.models import records
from snellen.models.table import identity, speaks

FORMAT = 1
"""Part of every key: a change of what a key is made of makes old entries unreachable, not wrong."""


def cache_file() -> Path:
    """Where the cache lies: `$SNELLEN_CACHE`, else `snellen/replies.sqlite` in the user's cache folder."""
    named = os.environ.get("SNELLEN_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "snellen" / "replies.sqlite"


HITS_HELD = 256
"""So many answers from the cache wait in memory at most."""


class Size(NamedTuple):
    """What a cache holds."""

    replies: int
    bytes: int
    models: tuple[tuple[str, int], ...]


class ReplyCache:
    """Replies by hash in an SQLite file, which is made where there is none. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
            finalize(self, self._base.close)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=NORMAL")  # a lost reply is asked again; the file cannot break
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS replies"
                " (key BLOB PRIMARY KEY, model TEXT, reply BLOB, stored REAL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the cache of replies cannot be used ({error}): {path}") from error

    def get(self, key: bytes) -> Reply | None:
        """The reply stored under `key`, if any."""
        with self._lock:
            row = self._base.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else records.from_json(orjson.loads(row[0]))

    def put(self, key: bytes, reply: Reply, *, model: str) -> None:
        """Stores a reply; one that is there already stays."""
        row = (key, model, orjson.dumps(records.to_json(reply), option=orjson.OPT_SERIALIZE_NUMPY), time.time())
        with self._lock, self._base:
            self._base.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)", row)

    def latest(self, model: str, *, count: int) -> list[Reply]:
        """Up to `count` replies of a model, the newest first."""
        asked = "SELECT reply FROM replies WHERE model = ? ORDER BY stored DESC LIMIT ?"
        with self._lock:
            rows = self._base.execute(asked, (model, count)).fetchall()
        return [records.from_json(orjson.loads(row[0])) for row in rows]

    def size(self) -> Size:
        """How many replies of which models, and how large the file is."""
        with self._lock:
            models = self._base.execute("SELECT model, COUNT(*) FROM replies GROUP BY model ORDER BY model").fetchall()
        return Size(sum(count for _, count in models), self.path.stat().st_size, tuple(models))

    def clear(self, *, model: str | None = None) -> int:
        """Forgets everything, or the replies of one model; how many."""
        which, values = ("", ()) if model is None else (" WHERE model = ?", (model,))
        with self._lock:
            with self._base:
                gone = self._base.execute(f"DELETE FROM replies{which}", values).rowcount  # noqa: S608
            self._base.execute("VACUUM")
        return gone


@dataclass(frozen=True)
class CachedModel:
    """Answers from the cache what it holds, asks `inner` the rest, and keeps its replies."""

    inner: Model
    cache: ReplyCache = field(repr=False)

    @property
    def spec(self) -> ModelSpec:
        """That of the model inside: where an answer came from does not change what it is."""
        return self.inner.spec

    @property
    def speaks(self) -> bool:
        """As the model inside."""
        return speaks(self.inner)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Answers as each is done; those from the cache come between those of the model."""
        rest = iter(prompts)
        who = canonical([identity(self.spec), self.spec.options.get("base_url")]).encode()
        going = True
        while going:
            sieve = _Sieve(rest, self.cache, who)
            for name, answer in self.inner.answer(sieve.misses()):
                yield from sieve.taken()
                key = sieve.asked.pop(name, None)
                if key is not None and isinstance(answer, Reply):
                    self.cache.put(key, answer, model=str(self.spec))
                yield name, answer
            yield from sieve.taken()
            going = sieve.full


@dataclass
class _Sieve:
    """Parts prompts into those that the cache knows and those to ask; ends a round when many hits wait to be taken."""

    prompts: Iterator[Prompt]
    cache: ReplyCache
    who: bytes
    asked: dict[Key, bytes] = field(default_factory=dict)
    hits: deque[tuple[Key, Reply | Failed]] = field(default_factory=deque)
    full: bool = False

    def misses(self) -> Iterator[Prompt]:
        for prompt in self.prompts:
            try:
                key = key_of(prompt, self.who)
            except DataError as error:
                self.hits.append((prompt.key, Failed("picture", str(error))))
                continue
            reply = self.cache.get(key)
            if reply is None:
                self.asked[prompt.key] = key
                yield prompt
            else:
                self.hits.append((prompt.key, reply))
            if len(self.hits) >= HITS_HELD:
                self.full = True
                return

    def taken(self) -> Iterator[tuple[Key, Reply | Failed]]:
        while self.hits:
            yield self.hits.popleft()


def key_of(prompt: Prompt, who: bytes) -> bytes:
    """SHA-256 over the model's identity `who` and all that it can see of `prompt`. DataError for a lost picture."""
    digest = hashlib.sha256(f"snellen {FORMAT}\0".encode() + who)
    turns = [
        [turn.role, [part.sha256() if isinstance(part, Picture) else "t" + part for part in turn.parts]]
        for turn in prompt.turns
    ]
    rest = [prompt.wants, list(prompt.labels), prompt.template, prompt.schema, prompt.max_tokens, prompt.key.draw]
    digest.update(canonical([turns, rest]).encode("utf-8", "surrogatepass"))
    return digest.digest()
