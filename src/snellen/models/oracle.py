"""`oracle`: answers with the truth. It shows that an exam can be passed and its replies read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from snellen.core.detections import Detections
from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Choice, Failed, Key, Prompt, Reply, Sample
from snellen.models.table import check_options


@dataclass(frozen=True)
class OracleModel:
    """The task's own ideal replies (`task.target`), else the truth of the sample."""

    spec: ModelSpec
    task: AnyTask = field(repr=False)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """One reply per prompt, in order; a sample that the task does not hold is Failed."""
        walk = _Walk(self.task)
        for prompt in prompts:
            sample = walk.find(prompt.key.sample)
            if sample is None:
                yield prompt.key, Failed("missing", "the task has no such sample")
            else:
                yield prompt.key, (self.task.target or truthful)(sample, prompt)


def truthful(sample: Sample[object], prompt: Prompt) -> Reply:
    """The truth as a reply: the right option, the boxes of the labels asked for, or a text."""
    truth = sample.truth
    if isinstance(truth, Choice):
        return Reply(truth.target)
    if isinstance(truth, Detections):
        asked = set(prompt.labels)
        kept = [not asked or label in asked for label in truth.labels]
        return Reply(detections=truth.take(kept) if len(truth) else truth)
    if isinstance(truth, str):
        return Reply(truth)
    raise SpecError(f"the oracle knows no reply for a truth of type {type(truth).__name__}; give the task a target")


class _Walk:
    """Finds samples by id; prompts come in the task's order, so that nothing need be held."""

    def __init__(self, task: AnyTask) -> None:
        self._task = task
        self._ahead = iter(task.samples)
        self._here: Sample[object] | None = None

    def find(self, name: str) -> Sample[object] | None:
        if self._here is not None and self._here.id == name:
            return self._here
        for _ in range(2):
            for sample in self._ahead:
                if sample.id == name:
                    self._here = sample
                    return sample
            self._ahead = iter(self._task.samples)
        return None


def oracle(spec: ModelSpec, task: AnyTask | None = None) -> OracleModel:
    """`oracle`. SpecError without a task."""
    check_options(spec, known=frozenset())
    if task is None:
        raise SpecError("the oracle needs the task whose truth it tells")
    return OracleModel(spec, task)
