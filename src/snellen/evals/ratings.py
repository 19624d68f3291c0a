"""Humans as models: what people answered, from a CSV of ratings, on an exam's own stimuli or on the file's targets.

A person is a model whose replies are a file; a rater is a draw. PROTOCOLS section 1, Humans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import DataError, SpecError
from snellen.core.specs import Json
from snellen.core.stages import AnyTask, Choice, Exchange, Key, Prompt, Reading, Sample, Task, Turn
from snellen.core.tables import Tables
from snellen.datasets.ratings import Ratings, read_ratings
from snellen.evals.imported import Imported
from snellen.evals.options import checked
from snellen.parsing.choice import read_choice
from snellen.scoring.choice import is_other, tabulate
from snellen.statistics.agreement import agreement, counted


@checked("ratings")
def task(
    setting: str = "", *, file: str, exam: str | None = None, exam_options: Mapping[str, Any] | None = None
) -> Task[Choice, str]:
    """The questions that were rated: the exam's (`exam`, with its options), else those that the file itself names."""
    if setting:
        raise SpecError(f"the task ratings has no setting, got {setting!r}")
    spec: dict[str, Json] = {"task": "ratings", "file": file}
    if exam is None:
        samples = read_ratings(Path(file)).truths()
        return Task(spec, samples, _prompts, _read, lambda pairs: with_agreement(tabulate(pairs)))
    base = _exam(exam, exam_options or {})
    rated = set(read_ratings(Path(file), known={sample.id for sample in base.samples}).samples)
    chosen = [sample for sample in base.samples if sample.id in rated]
    spec |= {"exam": exam, "exam_options": dict(exam_options or {})}
    return Task(spec, chosen, base.prompts, base.read, lambda pairs: with_agreement(base.tabulate(pairs)))


def with_agreement(tables: Tables) -> Tables:
    """`tables` with the raters' agreement among its facts: question -> method, value, low, high (over samples), items,
    ratings, unread (answers that name no option: they take no part), ties (samples without a majority), reason.
    """
    found: dict[str, dict[str, Json]] = {}
    for question in dict.fromkeys(tables.outcomes["question"].tolist()):
        part = tables.outcomes.take(tables.outcomes["question"] == question)
        read = part.take(~is_other(part))
        pairs = list(zip(read["sample"].tolist(), read["answer"].tolist(), strict=True))
        counts, items, _ = counted(pairs)
        together = agreement(counts, rng=np.random.default_rng(0))
        given = together.estimate
        votes = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) if len(items) else np.zeros(0)
        found[question] = {
            "method": together.method, "value": given.value, "low": given.low, "high": given.high,
            "items": together.items, "ratings": together.ratings, "unread": len(part) - len(read),
            "ties": int((votes > 1).sum()), "reason": together.reason,
        }  # fmt: skip
    return replace(tables, facts={**tables.facts, "agreement": found})


def imported(path: Path, *, truth: str | None = None, **options: Any) -> Imported:
    """The ratings of a file; a rater is a draw."""
    found: Ratings = read_ratings(path)
    made = task(file=str(path), exam=truth, exam_options=options or None)
    facts: dict[str, Json] = {
        "raters": len(found.raters),
        "ratings": len(found.ratings),
        "empty": len(found.empty),
        "complete": found.complete,
    }
    return Imported(made, found.replies(), facts, found.draws)


def _exam(name: str, options: Mapping[str, Any]) -> AnyTask:
    from snellen.evals import civet

    family, _, setting = name.partition("/")
    if family != "civet":
        raise DataError(f"ratings belong to an exam (civet/...) or name their own targets, got {name!r}")
    return civet.task(setting, **options)


def _prompts(sample: Sample[Choice]) -> Sequence[Prompt]:
    question = (sample.truth.question,) if sample.truth.question else ()
    return (Prompt(Key(sample.id), (Turn("user", question),), wants="choice", labels=sample.truth.options),)


def _read(sample: Sample[Choice], exchanges: Sequence[Exchange]) -> Reading[str]:
    options = sample.truth.options or (sample.truth.target,)
    return read_choice(exchanges[0].reply.text, options)
