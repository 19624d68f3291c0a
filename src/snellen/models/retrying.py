"""Trying again: which troubles pass, how long to wait, how fast to go. For any model that is reached over a network."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from snellen.core.stages import Failed, Reply

LONGEST_WAIT = 300.0
"""A server that asks for a longer pause than this (s) has told us to come another day."""


@dataclass
class AttemptError(Exception):
    """One attempt failed. `passing`: another may succeed. `wait`: seconds the server asked for."""

    cause: str
    message: str = ""
    passing: bool = True
    wait: float | None = None

    def __post_init__(self) -> None:
        super().__init__(f"{self.cause}: {self.message}")


class Gate:
    """Lets requests pass at no more than a given rate, and holds all of them while the server asks for a pause."""

    def __init__(self, requests_per_second: float | None = None) -> None:
        self._step = 0.0 if requests_per_second is None else 1.0 / requests_per_second
        self._next = 0.0

    async def enter(self) -> None:
        """Waits until a request may go."""
        while (delay := self._next - time.monotonic()) > 0:
            if self._step:
                self._next += self._step
                await asyncio.sleep(delay)
                return
            await asyncio.sleep(delay)
        if self._step:
            self._next = time.monotonic() + self._step

    def pause(self, seconds: float) -> None:
        """Nothing goes for so long."""
        self._next = max(self._next, time.monotonic() + seconds)


async def persist(
    once: Callable[[], Awaitable[Reply]], gate: Gate, *, attempts: int, first_wait: float = 0.5, most_wait: float = 60.0
) -> Reply | Failed:
    """`once`, tried up to `attempts` times while it raises a passing AttemptError; else a Failed naming the last.

    Waits: as the server asked, all requests alike; else doubling from `first_wait` to `most_wait` (s), times .5 to 1.
    """
    started = time.monotonic()
    for attempt in range(1, attempts + 1):
        await gate.enter()
        try:
            return await once()
        except AttemptError as trouble:
            too_long = trouble.wait is not None and trouble.wait > LONGEST_WAIT
            if attempt == attempts or not trouble.passing or too_long:
                return Failed(trouble.cause, trouble.message, attempt, round(time.monotonic() - started, 3))
            if trouble.wait is not None:
                gate.pause(trouble.wait)
            else:
                await asyncio.sleep(min(most_wait, first_wait * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0))
    raise AssertionError("attempts is at least 1")


def retry_after(milliseconds: str | None, seconds_or_date: str | None) -> float | None:
    """The pause that `retry-after-ms` or `Retry-After` (seconds or a date) ask for, s; None where none is readable."""
    for text, unit in ((milliseconds, 1000.0), (seconds_or_date, 1.0)):
        try:
            if text is not None and (wait := float(text) / unit) >= 0:
                return wait
        except ValueError:
            continue
    try:
        return max(0.0, parsedate_to_datetime(seconds_or_date or "").timestamp() - time.time())
    except ValueError:
        return None
