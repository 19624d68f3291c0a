"""The pump: asks many things at once on an event loop in a thread of its own, and yields answers as each is done.

The caller's thread prepares requests and takes answers; the loop's thread does nothing but talk. So it works where a
loop runs already (a notebook), and one request that hangs holds back one place, not the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeAlias, TypeVar

from snellen.core.stages import Failed, Key, Reply

J = TypeVar("J")
Answer: TypeAlias = Reply | Failed
Ask: TypeAlias = Callable[[J], Awaitable[Answer]]
Open: TypeAlias = Callable[[], AbstractAsyncContextManager[Ask[J]]]

AHEAD = 4
"""Requests prepared beyond those that are out, so that a free place is filled at once."""


def pump(jobs: Iterable[tuple[Key, J | Failed]], opened: Open[J], *, concurrency: int) -> Iterator[tuple[Key, Answer]]:
    """Answers to `jobs` as they are done, at most `concurrency` at once; a job that is Failed already passes through.

    `opened` is entered on the loop and gives the function that answers one job. What that function raises is raised
    here. Closing the iterator cancels what is out.
    """
    loop = _Loop(opened, concurrency)
    loop.start()
    try:
        out = 0
        for key, job in jobs:
            if isinstance(job, Failed):
                yield key, job
                continue
            loop.submit(key, job)
            out += 1
            for answered in loop.ready(wait=out >= concurrency + AHEAD):
                out -= 1
                yield answered
        while out:
            for answered in loop.ready(wait=True):
                out -= 1
                yield answered
    finally:
        loop.stop()


class _Loop(Generic[J]):
    def __init__(self, opened: Open[J], concurrency: int) -> None:
        self._opened = opened
        self._concurrency = concurrency
        self._answers: SimpleQueue[tuple[Key, Answer] | BaseException] = SimpleQueue()
        self._up = Event()
        self._thread = Thread(target=self._run, name="snellen-requests", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed = False

    def start(self) -> None:
        self._thread.start()
        self._up.wait()
        if self._failed and isinstance(error := self._answers.get(), BaseException):
            raise error

    def submit(self, key: Key, job: J) -> None:
        self._loop.call_soon_threadsafe(self._begin, key, job)

    def ready(self, *, wait: bool) -> Iterator[tuple[Key, Answer]]:
        """The answers that are there; with `wait` at least one."""
        try:
            found = self._answers.get(block=wait)
            while True:
                if isinstance(found, BaseException):
                    raise found
                yield found
                found = self._answers.get(block=False)
        except Empty:
            return

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # whatever it is, the caller's thread must hear of it, not wait for ever
            self._answers.put(error)
            self._failed = True
        finally:
            self._up.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._places = asyncio.Semaphore(self._concurrency)
        async with self._opened() as ask:
            self._ask = ask
            self._up.set()
            await self._done.wait()
            await cancelled(self._tasks)

    def _begin(self, key: Key, job: J) -> None:
        task = self._loop.create_task(self._answer(key, job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, key: Key, job: J) -> None:
        try:
            async with self._places:
                self._answers.put((key, await self._ask(job)))
        except Exception as error:
            error.add_note(f"while asking about sample {key.sample!r}")
            self._answers.put(error)


async def cancelled(tasks: set[asyncio.Task[None]]) -> None:
    """Cancels all of `tasks` and waits until they are gone."""
    for task in tuple(tasks):
        task.cancel()
    await asyncio.gather(*tuple(tasks), return_exceptions=True)


@asynccontextmanager
async def plain(ask: Ask[J]) -> AsyncIterator[Ask[J]]:
    """For functions that need nothing opened."""
    yield ask
