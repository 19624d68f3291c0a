from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import pytest

from snellen.core.stages import Failed, Reply
from snellen.models.retrying import AttemptError, Gate, persist, retry_after


def attempt(*outcomes):
    left = list(outcomes)

    async def once() -> Reply:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return once


def tried(*outcomes, attempts: int = 3) -> Reply | Failed:
    return asyncio.run(persist(attempt(*outcomes), Gate(), attempts=attempts, first_wait=0.001))


def test_a_passing_trouble_is_outlived() -> None:
    assert tried(AttemptError("a"), AttemptError("b"), Reply("c")) == Reply("c")


def test_the_last_trouble_is_named() -> None:
    found = tried(AttemptError("a"), AttemptError("b", "why"), attempts=2)
    assert (found.cause, found.message, found.attempts) == ("b", "why", 2)


def test_a_lasting_trouble_is_not_tried_again() -> None:
    assert tried(AttemptError("a", passing=False), Reply("never")).attempts == 1


def test_a_fault_of_the_program_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        tried(ZeroDivisionError())


def test_a_pause_that_one_request_was_told_holds_the_others_too() -> None:
    async def both() -> float:
        gate = Gate()
        started = time.monotonic()
        slow = asyncio.create_task(persist(attempt(AttemptError("429", wait=0.3), Reply("x")), gate, attempts=2))
        await asyncio.sleep(0.01)
        await persist(attempt(Reply("y")), gate, attempts=1)
        waited = time.monotonic() - started
        await slow
        return waited

    assert asyncio.run(both()) >= 0.29


def test_a_gate_lets_pass_no_more_than_its_rate() -> None:
    async def pass_all() -> float:
        gate = Gate(50)
        started = time.monotonic()
        await asyncio.gather(*(gate.enter() for _ in range(11)))
        return time.monotonic() - started

    assert 0.19 <= asyncio.run(pass_all()) < 1


@pytest.mark.parametrize(
    ("milliseconds", "text", "wait"),
    [
        (None, "3", 3.0), (None, "0.5", 0.5), ("250", "3", 0.25), (None, None, None), (None, "soon", None),
        ("x", "2", 2.0), (None, "-1", None), (None, formatdate(0, usegmt=True), 0.0),
    ],
)  # fmt: skip
def test_the_pause_a_server_asks_for_is_read(milliseconds, text, wait) -> None:
    assert retry_after(milliseconds, text) == wait


def test_a_date_is_a_pause_until_then() -> None:
    assert 50 < retry_after(None, formatdate(time.time() + 60, usegmt=True)) <= 61
