"""CIVET: exams on controlled stimuli.

Rizzoli, Alghisi, Khomyn, Roccabruna, Mousavi, Riccardi: CIVET: Systematic Evaluation of Understanding in VLMs
(2025). What is computed: PROTOCOLS section 1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.core.errors import unknown
from snellen.core.specs import Json
from snellen.core.stages import Choice, Exchange, Prompt, Reading, Reply, Sample, Task
from snellen.parsing.choice import read_choice
from snellen.prompts.choice import INSTRUCTION, closed_prompt, option_orders
from snellen.scoring.choice import tabulate
from snellen.stimuli.exams import Exam
from snellen.stimuli.single_object import single_object

SETTINGS: Mapping[str, Callable[..., Exam]] = {
    "single-object": single_object,
}
"""Setting -> builder of its exam."""

DEFAULTS: Mapping[str, Mapping[str, Json]] = {
    "single-object": {"side": 672, "size": "regular", "explain_sheen": True, "antialias": False},
}
"""Options of each setting and their defaults: a task's spec names them all."""


def task(
    setting: str = "single-object",
    *,
    short_answers: bool = True,
    seed: int = 0,
    reader: str = "options",
    **options: Any,
) -> Task[Choice, str]:
    """An exam as a task. `options` are those of the setting (`side`, `size`, ...).

    short_answers: put the paper's short-answer instruction first. seed: of the option orders. reader: how answers are
    read. SpecError for an unknown setting or option.
    """
    if setting not in SETTINGS:
        raise unknown("exam", setting, SETTINGS)
    for name in options:
        if name not in DEFAULTS[setting]:
            raise unknown(f"option of civet/{setting}", name, [*DEFAULTS[setting], "short_answers", "seed", "reader"])
    chosen = {**DEFAULTS[setting], **options}
    exam = SETTINGS[setting](**chosen)
    spec: dict[str, Json] = {
        "task": f"civet/{setting}", **chosen, "short_answers": short_answers, "seed": seed, "reader": reader,
    }  # fmt: skip
    samples = Arranged(exam, seed)
    instruction = INSTRUCTION if short_answers else ""

    def prompts(sample: Sample[Choice]) -> Sequence[Prompt]:
        return (closed_prompt(sample, str(sample.attributes["text"]), instruction=instruction),)

    def read(sample: Sample[Choice], exchanges: Sequence[Exchange]) -> Reading[str]:
        return vote([read_one(sample, exchange.prompt.labels, exchange.reply, reader) for exchange in exchanges])

    return Task(spec, samples, prompts, read, tabulate, lambda sample, _: Reply(sample.truth.target))


def read_one(sample: Sample[Choice], labels: Sequence[str], reply: Reply, reader: str) -> Reading[str]:
    """What one reply means: the best-scored option of a scorer, the refusal, or the option named in the text."""
    if reply.option_scores is not None:
        scores = list(reply.option_scores)
        best = max(scores)
        if scores.count(best) > 1:
            return Reading(None, "malformed", reason="several: options are scored alike")
        return Reading(labels[scores.index(best)])
    if reply.finish == "refused":
        return Reading(None, "refused", reason="none: the model refused")
    return read_choice(reply.text, sample.truth.options, reader=reader)


def vote(readings: Sequence[Reading[str]]) -> Reading[str]:
    """The answer named most often; a tie means none. One reading stands as it is."""
    if len(readings) == 1:
        return readings[0]
    counts = Counter(reading.value for reading in readings if reading.value is not None)
    best = [answer for answer, n in counts.items() if n == max(counts.values())]
    if len(best) == 1:
        return next(reading for reading in readings if reading.value == best[0])
    if best:
        return Reading(None, "malformed", reason=f"several: a tie between {', '.join(sorted(best))}")
    return readings[0] if readings else Reading(None, "malformed", reason="none: no reply")


@dataclass(frozen=True, eq=False)
class Arranged:
    """The samples of an exam with their options in a balanced order."""

    exam: Exam
    seed: int = 0

    def __len__(self) -> int:
        return len(self.exam)

    def __iter__(self) -> Iterator[Sample[Choice]]:
        for question, order in zip(self.exam.questions, self.orders(), strict=True):
            yield self.exam.sample(question, order)

    def orders(self) -> list[tuple[str, ...]]:
        """The order of the options of each question, balanced within each kind of question and set of options."""
        groups: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
        for i, question in enumerate(self.exam.questions):
            groups[question.kind, question.options].append(i)
        out: list[tuple[str, ...]] = [()] * len(self.exam)
        for (kind, options), rows in groups.items():
            targets = [self.exam.questions[i].target for i in rows]
            for i, order in zip(rows, option_orders(targets, options, seed=f"{self.seed} {kind}"), strict=True):
                out[i] = order
        return out
