"""The only loop: a task's prompts go to a model, its answers go to the store as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from snellen.core.errors import SpecError, StoreError
from snellen.core.specs import canonical
from snellen.core.stages import AnyTask, Failed, Key, Model, Prompt, Reply, Usage
from snellen.models.table import SPEAKING, identity
from snellen.runs.manifest import Manifest, Selection
from snellen.runs.parts import Limits
from snellen.runs.selection import Survey, survey, walk
from snellen.runs.store import Run, exists

GIVE_UP = 50
"""So many failures in a row, without one reply between, end a run: the server is down, or the key is wrong."""


class Progress(NamedTuple):
    """How far a run is. `requests` is all there is to do, `done` those with a reply, before and now; `failed` without.

    `asked` counts the answers of this invocation, failures too; `seconds` is its age, `usage` its tokens; `waiting`
    are the requests that are out.
    """

    requests: int
    done: int
    failed: int
    asked: int
    seconds: float
    usage: Usage
    waiting: int = 0
    stopped: str = ""

    @property
    def rate(self) -> float:
        """Answers per second, of this invocation."""
        return self.asked / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds to go at this rate; None while there is none."""
        return (self.requests - self.done) / self.rate if self.rate else None


Watch = Callable[[Progress], None]
Stop = Callable[[Progress], str]


@dataclass(frozen=True)
class Choices:
    """How a run is gone about: which samples, how often each, and when to stop.

    `stop` looks at the progress after each answer and gives a reason to end cleanly, or "". `only_failed` asks again
    what failed and nothing else.
    """

    draws: int = 1
    selection: Selection = field(default_factory=Selection)
    max_requests: int | None = None
    stop: Stop | None = None
    only_failed: bool = False
    give_up: int = GIVE_UP
    limits: Limits | None = None


def run(
    task: AnyTask,
    model: Model,
    out: str | Path,
    *,
    draws: int = 1,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    by: tuple[str, ...] | None = None,
    max_requests: int | None = None,
    stop: Stop | None = None,
    progress: Watch | None = None,
) -> Run:
    """Asks `model` everything in `task` that has no reply yet, and stores the answers at `out`.

    A new run is made there, or the one that is there goes on: what has a reply is not asked again, what failed is.
    limit: the first N samples. sample: N drawn with `seed`, in strata of the attributes `by` (default: question and
    target). max_requests: so many requests in this invocation, then a clean end. stop: see `Choices`.
    StoreError where the run at `out` is another one (task, model, samples or truth differ).
    """
    selection = Selection(limit=limit, sample=sample, seed=seed if sample is not None else 0, by=by)
    choices = Choices(draws=draws, selection=selection, max_requests=max_requests, stop=stop)
    here = open_or_create(task, model, out, choices)
    work(here, task, model, choices, progress=progress)
    return here


def open_or_create(task: AnyTask, model: Model, out: str | Path, choices: Choices) -> Run:
    """The run at `out`, checked to be this one; or a new one. SpecError where draws shall vote that cannot differ."""
    if task.pool is not None:
        _check_votes(model, choices.draws)
    if exists(out):
        here = Run.open(out)
        check_same(here, task, model, choices)
        return here
    found = survey(task, choices.selection, draws=choices.draws)
    manifest = Manifest(
        task=dict(task.spec),
        model=model.spec.to_json(),
        draws=choices.draws,
        selection=choices.selection,
        samples=found.samples,
        requests=found.requests,
        data={"truth": found.truth},
        notes={} if task.certificate is None else {"certificate": dict(task.certificate(found.ids))},
    )
    return Run.create(out, manifest, ids=found.ids)


def _check_votes(model: Model, draws: int) -> None:
    if draws < 2:
        raise SpecError(f"a vote needs several draws, got {draws}:  --draws 5")
    if model.spec.provider in SPEAKING and model.spec.options.get("temperature", 0) == 0:
        raise SpecError(f"draws of {model.spec} at temperature 0 are all alike, and cannot vote:  -M temperature=1")


def check_same(here: Run, task: AnyTask, model: Model, choices: Choices) -> None:
    """StoreError that says what differs between the stored run and what is asked now."""
    manifest = here.manifest
    asked: dict[str, tuple[Any, Any]] = {
        "task": (manifest.task, dict(task.spec)),
        "model": (identity(manifest.model_spec), identity(model.spec)),
        "draws": (manifest.draws, choices.draws),
        "selection": (manifest.selection.model_dump(mode="json"), choices.selection.model_dump(mode="json")),
    }
    for name, (stored, now) in asked.items():
        if canonical(stored) != canonical(now):
            raise StoreError(f"this run has another {name} ({_difference(stored, now)}): {here.path}")
    found: Survey = survey(task, choices.selection, draws=choices.draws)
    if found.truth != manifest.data.get("truth", found.truth):
        raise StoreError(
            f"the data behind this run have changed (samples or truth differ): {here.path}. Put them back, ask anew in "
            f"another folder, or score its replies against the truth as it is now:  snellen score {here.path}"
        )


def _difference(stored: Any, now: Any) -> str:
    if not (isinstance(stored, dict) and isinstance(now, dict)):
        return f"stored {stored!r}, asked {now!r}"
    names = [name for name in {**stored, **now} if stored.get(name) != now.get(name)]
    inner = [n for n in names if isinstance(stored.get(n), dict) and isinstance(now.get(n), dict)]
    plain = [f"{name}: stored {stored.get(name)!r}, asked {now.get(name)!r}" for name in names if name not in inner]
    return "; ".join([*plain, *(_difference(stored[name], now[name]) for name in inner)])


def work(here: Run, task: AnyTask, model: Model, choices: Choices, *, progress: Watch | None = None) -> Progress:
    """Asks what `here` lacks. The state at the end; `stopped` says why it ended early, if it did.

    An interrupt (Ctrl-C) leaves a run that can go on.
    """
    with here.writing(limits=choices.limits) as writer:
        done, failed = here.answered()
        queue = _Queue(here, task, choices, done, failed)
        state = Progress(here.manifest.requests, len(done), len(failed), 0, 0.0, Usage())
        state = state._replace(stopped=_reason(state, choices, 0, None))
        queue.closed = bool(state.stopped)
        started, row = time.monotonic(), 0
        answers = model.answer(iter(queue))
        try:
            for key, answer in answers:
                queue.answered(key)
                if not state.asked:
                    here.forget_results()
                writer.append(key, answer)
                row = row + 1 if isinstance(answer, Failed) else 0
                state = _counted(state, key, answer, failed, time.monotonic() - started)
                state = state._replace(waiting=len(queue.waiting))
                reason = _reason(state, choices, row, answer)
                if reason and not queue.closed:
                    state = state._replace(stopped=reason)
                    queue.closed = True
                if progress is not None:
                    progress(state)
        finally:
            close = getattr(answers, "close", None)
            if close is not None:
                close()
        for key in queue.waiting:
            writer.append(key, Failed("unanswered", f"{model.spec} ended without answering"))
            state = _counted(state, key, Failed("unanswered"), failed, time.monotonic() - started)
    return state._replace(stopped=state.stopped or queue.reason)


class _Queue:
    """The prompts still to ask, made one by one; remembers which are out and refuses a key asked twice."""

    def __init__(self, here: Run, task: AnyTask, choices: Choices, done: set[Key], failed: set[Key]) -> None:
        self.closed = False
        self.waiting: set[Key] = set()
        self.reason = ""
        self._here, self._task, self._choices = here, task, choices
        self._done, self._failed = done, frozenset(failed)

    def __iter__(self) -> Iterator[Prompt]:
        most = self._choices.max_requests
        for asked, prompt in enumerate(self._pending()):
            if self.closed:
                return
            if most is not None and asked >= most:
                self.reason = f"{most} requests were allowed"
                return
            if prompt.key in self._done or prompt.key in self.waiting:
                raise SpecError(f"the task asks twice under one key: {prompt.key}")
            self.waiting.add(prompt.key)
            yield prompt

    def answered(self, key: Key) -> None:
        """Takes a key off the list of those that are out."""
        if key not in self.waiting:
            raise SpecError(f"the model answered what it was not asked, or twice: {key}")
        self.waiting.discard(key)
        self._done.add(key)

    def _pending(self) -> Iterator[Prompt]:
        before = frozenset(self._done)
        for sample in walk(self._task, self._here.selected()):
            for prompt in self._task.prompts(sample):
                for draw in range(self._here.manifest.draws):
                    drawn = prompt.drawn(draw)
                    if drawn.key in before or (self._choices.only_failed and drawn.key not in self._failed):
                        continue
                    yield drawn


def _counted(state: Progress, key: Key, answer: Reply | Failed, failed: set[Key], seconds: float) -> Progress:
    if isinstance(answer, Failed):
        failed.add(key)
        return state._replace(failed=len(failed), asked=state.asked + 1, seconds=seconds)
    failed.discard(key)
    usage = state.usage + (answer.usage or Usage())
    return state._replace(done=state.done + 1, failed=len(failed), asked=state.asked + 1, seconds=seconds, usage=usage)


def _reason(state: Progress, choices: Choices, row: int, answer: Reply | Failed | None) -> str:
    if row >= choices.give_up and isinstance(answer, Failed):
        return f"{row} requests failed one after the other, the last by {answer.cause}: {answer.message}".rstrip(": ")
    return choices.stop(state) if choices.stop is not None else ""


def retry_choices(here: Run, choices: Choices) -> Choices:
    """`choices` for asking again what failed in `here`."""
    return replace(choices, draws=here.manifest.draws, selection=here.manifest.selection, only_failed=True)
