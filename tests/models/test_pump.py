from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from snellen.core.stages import Failed, Key, Reply
from snellen.models.pump import plain, pump


def jobs(*names: str):
    return ((Key(name), name) for name in names)


async def echo(job: str) -> Reply:
    if job == "boom":
        raise ZeroDivisionError("a fault of the program")
    await asyncio.sleep(0.2 if job == "slow" else 0)
    return Reply(job)


def test_every_job_is_answered_once_the_quick_before_the_slow() -> None:
    found = list(pump(jobs("slow", *"abcdef"), lambda: plain(echo), concurrency=2))
    assert sorted(key.sample for key, _ in found) == sorted(["slow", *"abcdef"])
    assert found[-1][0] == Key("slow")


def test_no_jobs_are_no_answers() -> None:
    assert list(pump(iter(()), lambda: plain(echo), concurrency=2)) == []


def test_what_failed_before_it_was_asked_passes_through() -> None:
    found = dict(pump([(Key("a"), Failed("picture")), (Key("b"), "b")], lambda: plain(echo), concurrency=1))
    assert found == {Key("a"): Failed("picture"), Key("b"): Reply("b")}


def test_a_fault_of_the_program_is_raised_here_with_its_sample() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(pump(jobs("a", "boom", "slow"), lambda: plain(echo), concurrency=1))
    assert "sample 'boom'" in caught.value.__notes__[0]


def test_a_fault_while_opening_is_raised_here() -> None:
    @asynccontextmanager
    async def broken():
        raise OSError("no such server")
        yield echo

    with pytest.raises(OSError, match="no such server"):
        list(pump(jobs("a"), broken, concurrency=1))


def test_closing_cancels_what_is_out_and_leaves_no_thread() -> None:
    cancelled = threading.Event()

    async def forever(job: str) -> Reply:
        if job == "quick":
            return Reply(job)
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()
        raise AssertionError

    answers = pump(jobs("never", "quick", *"abcdefgh"), lambda: plain(forever), concurrency=2)
    assert next(answers) == (Key("quick"), Reply("quick"))
    answers.close()
    assert cancelled.is_set()
    assert not [t for t in threading.enumerate() if t.name == "snellen-requests"]
