"""Whether the place of an option, or its length, sways a model's answers to closed questions.

Each question about a plain shape is asked in as many orders as it has options, every option once at every place; and
again with one option, the right one, then a wrong one, written at length. Who looks gives one answer to all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from snellen.core.estimates import Estimate, Float, Ratio
from snellen.core.stages import Choice, Failed, Key, Model, Prompt, Reading, Reply, Sample
from snellen.core.tables import Table
from snellen.parsing.choice import read_choice
from snellen.prompts.choice import closed_prompt
from snellen.scoring.choice import tabulate
from snellen.statistics.diagnosis import orders
from snellen.statistics.hypotheses import holm_adjusted
from snellen.statistics.intervals import bootstrap, wilson
from snellen.statistics.paired import Difference, difference
from snellen.stimuli.exams import Exam
from snellen.stimuli.table import build

KINDS = ("shape", "color")
LONG = "{option} (as it is usually called in plain English)"
"""An option written at length, saying nothing more."""
ALPHA = 0.05


@dataclass(frozen=True)
class Asked:
    """One question in one form. order: number of the rotation of its options. long: the option written at length."""

    sample: Sample[Choice]
    order: int
    long: str = ""

    @property
    def key(self) -> Key:
        """`order-2`, or `long-red` in the first order."""
        return Key(self.sample.id, f"long-{self.long}" if self.long else f"order-{self.order}")

    @property
    def prompt(self) -> Prompt:
        """The question as it is put; labels stay as they are."""
        options = tuple(LONG.format(option=o) if o == self.long else o for o in self.sample.truth.options)
        shown = replace(self.sample, truth=replace(self.sample.truth, options=options))
        made = closed_prompt(shown, str(self.sample.attributes["text"]))
        return replace(made, key=self.key, labels=self.sample.truth.options)


@dataclass(frozen=True)
class Sway:
    """What the probe of closed questions found.

    steady: share of questions with one answer in all orders. places: kind of question -> share of answers that name the
    option at each place (even: 1 over their number), with the p of each (Holm over all). long: how much oftener an
    option is chosen that is written at length. words: mean length of replies.
    """

    model: str
    questions: int
    answered: int
    failed: int
    accuracy: Estimate
    unread: Estimate
    steady: Estimate
    places: Mapping[str, tuple[Estimate, ...]]
    p: Mapping[str, tuple[float | None, ...]]
    long: Difference | None
    words: float

    @property
    def by_place(self) -> bool:
        """Whether some place is chosen more or less often than without regard to order."""
        return any(p is not None and p < ALPHA for each in self.p.values() for p in each)

    @property
    def by_length(self) -> bool:
        """Whether writing an option at length changes how often it is chosen."""
        return self.long is not None and self.long.p is not None and self.long.p < ALPHA

    def sentences(self) -> tuple[str, ...]:
        """What was found, in words."""
        return (
            f"{_share(self.accuracy)} of {self.accuracy.n:,} answers are right, {_share(self.unread)} name no option "
            f"or several; a reply has {self.words:.1f} words",
            f"{_share(self.steady)} of {self.steady.n:,} questions get one answer in all orders of their options",
            *self._place(),
            self._length(),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "model": self.model, "questions": self.questions, "answered": self.answered, "failed": self.failed,
            "accuracy": self.accuracy.to_json(), "unread": self.unread.to_json(), "steady": self.steady.to_json(),
            "places": {kind: [each.to_json() for each in found] for kind, found in self.places.items()},
            "p": {kind: list(found) for kind, found in self.p.items()},
            "long": None if self.long is None else self.long.to_json(), "words": self.words,
            "by_place": self.by_place, "by_length": self.by_length, "sentences": list(self.sentences()),
        }  # fmt: skip

    def _place(self) -> list[str]:
        said = []
        for kind, found in self.places.items():
            even = 1 / len(found)
            far = max(range(len(found)), key=lambda i: abs((found[i].value or 0.0) - even))
            p = self.p[kind][far]
            seen = f"the option shown {_ORDINALS[far]} is chosen in {_share(found[far])} of answers, evenly {even:.1%}"
            swayed = any(q is not None and q < ALPHA for q in self.p[kind])
            head = f"{kind}: the place of an option sways the answer" if swayed else f"{kind}: no place is preferred"
            said.append(f"{head}: {seen}" + ("" if p is None else f" (p = {p:.2g})"))
        return said

    def _length(self) -> str:
        found = Estimate(None) if self.long is None else self.long.difference
        value = found.value
        if value is None:
            return "what the length of an option does cannot be told: too few answers"
        head = "the length of an option sways the answer" if self.by_length else "no sway by the length of an option"
        ends = ""
        if found.low is not None and found.high is not None:
            ends = f" [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
        return f"{head}: written at length it is chosen {100 * value:+.1f}{ends} points oftener"


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def probe_questions(model: Model, *, scenes: int = 36, seed: int = 0, draws: int = 1000) -> Sway:
    """Asks `model` about `scenes` plain objects, as many of each kind and right answer as can be."""
    asked = list(questions(scenes, seed=seed))
    prompts = {each.key: each.prompt for each in asked}
    answers = dict(model.answer(iter(prompts.values())))
    readings = {key: _read(prompts[key], answer) for key, answer in answers.items() if isinstance(answer, Reply)}
    failed = sum(isinstance(answer, Failed) for answer in answers.values())
    return judged(str(model.spec), asked, readings, failed=failed, seed=seed, draws=draws)


def questions(scenes: int = 36, *, seed: int = 0, side: int = 336) -> Iterator[Asked]:
    """Every form of every question: all rotations of its options, then one option at length: right, wrong."""
    exam = build("single-object", side=side)
    assert isinstance(exam, Exam)
    rng = np.random.default_rng(seed)
    for number, kind in enumerate(KINDS):
        count = (scenes + len(KINDS) - 1 - number) // len(KINDS)
        pool = [q for q in exam.questions if q.kind == kind]
        targets = sorted({q.target for q in pool})
        for i in range(count):
            mine = [q for q in pool if q.target == targets[i % len(targets)]]
            question = mine[int(rng.integers(len(mine)))]
            start = int(rng.integers(len(question.options)))
            turned = [_turned(question.options, start + turn) for turn in range(len(question.options))]
            for order, options in enumerate(turned):
                yield Asked(exam.sample(question, options), order)
            wrong = [option for option in turned[0] if option != question.target]
            for long in (question.target, wrong[i % len(wrong)]):
                yield Asked(exam.sample(question, turned[0]), 0, long)


def judged(
    model: str, asked: Sequence[Asked], readings: Mapping[Key, Reading[str]], *, failed: int = 0, seed: int = 0,
    draws: int = 1000,
) -> Sway:  # fmt: skip
    """What the readings of the answers say."""
    plain = [each for each in asked if not each.long and each.key in readings]
    table = tabulate((each.sample, readings[each.key]) for each in plain).outcomes
    values = [readings[each.key].value for each in plain]
    places, p = _places(table, seed=seed, draws=draws)
    return Sway(
        model,
        len({each.sample.id for each in asked}),
        len(readings),
        failed,
        _estimate(table["correct"].astype(np.float64), table, draws=draws, seed=seed),
        _estimate(np.array([value is None for value in values], dtype=np.float64), table, draws=draws, seed=seed),
        _steady(plain, readings),
        places,
        p,
        _long(asked, readings, draws=draws, seed=seed),
        float(np.mean([reading.words or 0 for reading in readings.values()])) if readings else 0.0,
    )


def _read(prompt: Prompt, reply: Reply) -> Reading[str]:
    if reply.option_scores is not None:
        scores = list(reply.option_scores)
        return Reading(prompt.labels[scores.index(max(scores))])
    return read_choice(reply.text, prompt.labels)


def _turned(options: tuple[str, ...], turn: int) -> tuple[str, ...]:
    turn %= len(options)
    return options[turn:] + options[:turn]


def _places(
    table: Table, *, seed: int, draws: int
) -> tuple[dict[str, tuple[Estimate, ...]], dict[str, tuple[float | None, ...]]]:
    """Kind -> share chosen at each place, with intervals over questions, and its p, Holm's over all places."""
    shares: dict[str, tuple[Estimate, ...]] = {}
    raw: dict[tuple[str, int], float] = {}
    for kind in dict.fromkeys(table["question"].tolist()):
        part = table.take(table["question"] == kind)
        size = int(part["options"].max())
        shares[kind] = tuple(
            _estimate((part["chosen"] == place).astype(np.float64), part, draws=draws, seed=seed)
            for place in range(size)
        )
        for found in orders(part, "", draws=draws, rng=np.random.default_rng(seed)):
            raw[kind, int(found.subject)] = found.p
    adjusted = dict(zip(raw, holm_adjusted(list(raw.values())), strict=True))
    return shares, {kind: tuple(adjusted.get((kind, i)) for i in range(len(f))) for kind, f in shares.items()}


def _steady(asked: Sequence[Asked], readings: Mapping[Key, Reading[str]]) -> Estimate:
    """Share of questions, asked in all their orders, whose answer is one option each time."""
    said: dict[str, list[str | None]] = {}
    for each in asked:
        said.setdefault(each.sample.id, []).append(readings[each.key].value)
    whole = {each.sample.id: len(each.sample.truth.options) for each in asked}
    full = [values for name, values in said.items() if len(values) == whole[name]]
    return wilson(sum(len(set(values)) == 1 and values[0] is not None for values in full), len(full))


def _long(asked: Sequence[Asked], readings: Mapping[Key, Reading[str]], *, draws: int, seed: int) -> Difference | None:
    """How often an option is chosen when written at length, minus how often the same one is in the same order."""
    with_, without, clusters = [], [], []
    for each in asked:
        before = Key(each.sample.id, "order-0")
        if each.long and each.key in readings and before in readings:
            with_.append(readings[each.key].value == each.long)
            without.append(readings[before].value == each.long)
            clusters.append(each.sample.id)
    if len(set(clusters)) < 2:
        return None
    one, two = (_Share(np.array(flags, dtype=np.float64)) for flags in (without, with_))
    return difference(one, two, clusters, draws=draws, rng=np.random.default_rng(seed))["share"]


class _Share:
    """The share of samples with a flag, as a measure."""

    names = ("share",)

    def __init__(self, flags: Float) -> None:
        self.ratios: Mapping[str, Ratio] = {"share": Ratio(flags, np.ones_like(flags))}

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """The share under each row of `weights`."""
        above, below = self.ratios["share"]
        return {"share": (weights @ above) / (weights @ below)}


def _estimate(flags: Float, table: Table, *, draws: int, seed: int) -> Estimate:
    if not len(flags):
        return Estimate(None, n=0)
    found = bootstrap(_Share(flags), table["sample"], draws=draws, rng=np.random.default_rng(seed))["share"]
    return replace(found, n=len(flags))


def _share(found: Estimate) -> str:
    if found.value is None:
        return "none"
    ends = "" if found.low is None or found.high is None else f" [{100 * found.low:.1f}, {100 * found.high:.1f}]"
    return f"{100 * found.value:.1f} %{ends}"
