"""A small task, the same for all tests of runs."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.core.stages import Choice, Key, Prompt, Sample, Task, Turn

OPTIONS = ("red", "green", "blue")


def toy(count: int = 30, *, calls: int = 1) -> Task[Any, Any]:
    """`count` closed questions in two kinds, `calls` prompts each."""
    samples = [
        Sample(
            f"s{i:04}", Choice(OPTIONS[i % 3], OPTIONS, "ab"[i % 2]), attributes={"row": i % 5}, cluster=f"c{i // 2}"
        )
        for i in range(count)
    ]

    def prompts(sample: Sample[Choice]) -> list[Prompt]:
        turns = (Turn("user", (f"Colour of {sample.id}? Choose from [red, green, blue].",)),)
        names = [""] if calls == 1 else [f"call{i}" for i in range(calls)]
        return [Prompt(Key(sample.id, name), turns, "choice", OPTIONS, max_tokens=5) for name in names]

    return Task({"task": "toy", "count": count}, samples, prompts, None, None)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def make_toy():
    return toy
