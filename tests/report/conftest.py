"""Scored runs for the report's tests, made by the real loop and the real scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.runs.loop import run as answer
from snellen.runs.store import Run

NASTY = '<script>alert(1)</script> & "top left" | _x_ $y$ \\z {w}'


@dataclass
class Scripted:
    """A model whose answer to a prompt is a function of it."""

    name: str
    says: Callable[[Prompt], Reply | Failed] = field(repr=False)

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec("scripted", self.name)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        for prompt in prompts:
            yield prompt.key, self.says(prompt)


MakeRun = Callable[..., Run]


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> MakeRun:
    """`make_run(name, says, sample=..., incomplete=..., **task)`: a scored run of a civet exam (or another task)."""

    def make(
        name: str,
        says: Callable[[Prompt], Reply | Failed],
        *,
        sample: int | None = 243,
        incomplete: bool = False,
        draws: int = 1,
        intervals: bool = True,
        task: str = "civet/single-object",
        **options: object,
    ) -> Run:
        place = tmp_path_factory.mktemp("runs") / name
        opened = open_task({"task": task, **options})  # type: ignore[dict-item]
        answer(opened, Scripted(name, says), place, sample=sample, draws=draws)
        run = Run.open(place)
        score(run, incomplete=incomplete, draws=100, intervals=intervals)
        return run

    return make


def first(prompt: Prompt) -> Reply:
    return Reply(prompt.labels[0])


def last(prompt: Prompt) -> Reply:
    return Reply(f"It is {prompt.labels[-1]}.")


def nasty(prompt: Prompt) -> Reply:
    return Reply(NASTY)


@pytest.fixture(scope="session")
def first_option(make_run: MakeRun) -> Run:
    """Always says the first option."""
    return make_run("first", first)


@pytest.fixture(scope="session")
def last_option(make_run: MakeRun) -> Run:
    """Always says the last option, in a sentence."""
    return make_run("last", last)


def same_words(prompt: Prompt) -> Reply:
    return Reply(next((x for x in ("star", "red", "matte", "center") if x in prompt.labels), "none"))


@pytest.fixture(scope="session")
def star(make_run: MakeRun) -> dict[str, Run]:
    """One model on pictures of two sizes, with regular and small objects; and on other samples."""
    options: dict[str, dict[str, object]] = {
        "large": {"sample": 40, "side": 672},
        "narrow": {"sample": 40, "side": 336},
        "tiny": {"sample": 40, "side": 336, "size": "small"},
        "others": {"sample": 30, "side": 672},
    }
    asked = {"questions": ["shape", "color"], "intervals": False}
    return {name: make_run("star", same_words, **some, **asked) for name, some in options.items()}


@pytest.fixture(scope="session")
def hostile(make_run: MakeRun) -> Run:
    """Answers with markup, and fails on one request of the world's doing."""

    def says(prompt: Prompt) -> Reply | Failed:
        if prompt.key.sample.endswith("shape"):
            return Failed("http-500", f"server said {NASTY}", 3)
        return nasty(prompt)

    return make_run(NASTY[:8] + "name", says, sample=60, incomplete=True)
