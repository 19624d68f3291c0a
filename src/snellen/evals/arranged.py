"""The samples of an exam with their options in a balanced order, and the certificate of what is balanced."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from snellen.core.specs import Json
from snellen.core.stages import Choice, Sample
from snellen.prompts.choice import option_orders
from snellen.stimuli.exams import Exam
from snellen.stimuli.layout import Asked, read_layout, sample_of, write_layout


@dataclass(frozen=True, eq=False)
class Arranged:
    """The samples of an exam, each kind of question and set of options in orders balanced by `seed`."""

    exam: Exam
    seed: int = 0

    def __len__(self) -> int:
        return len(self.exam)

    def __iter__(self) -> Iterator[Sample[Choice]]:
        for question, order in zip(self.exam.questions, self.orders, strict=True):
            yield self.exam.sample(question, order)

    def among(self, ids: Collection[str]) -> Iterator[Sample[Choice]]:
        """The samples of these ids, in order; the others are not made."""
        for row in sorted(self._rows[id] for id in set(ids) if id in self._rows):
            yield self.exam.sample(self.exam.questions[row], self.orders[row])

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {question.id: row for row, question in enumerate(self.exam.questions)}

    @cached_property
    def orders(self) -> list[tuple[str, ...]]:
        """The order of the options of each question."""
        groups: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
        for i, question in enumerate(self.exam.questions):
            groups[question.kind, question.options].append(i)
        out: list[tuple[str, ...]] = [()] * len(self.exam)
        for (kind, options), rows in groups.items():
            targets = [self.exam.questions[i].target for i in rows]
            seed = f"{self.seed} {kind} {' '.join(options)}"
            for i, order in zip(rows, option_orders(targets, options, seed=seed), strict=True):
                out[i] = order
        return out

    def write(self, folder: Path) -> int:
        """Writes the exam in the authors' layout; the number of pictures."""
        asked = (
            Asked(str(q.scene), q.entity, q.kind, q.text, order, q.target, q.also)
            for q, order in zip(self.exam.questions, self.orders, strict=True)
        )
        return write_layout(folder, self.exam.worlds, asked)


@dataclass(frozen=True, eq=False)
class InFolder:
    """The samples of a folder in the authors' layout, in the order of its files."""

    folder: Path

    @cached_property
    def asked(self) -> list[Asked]:
        """The questions, read when they are first needed."""
        return read_layout(self.folder)

    def __len__(self) -> int:
        return len(self.asked)

    def __iter__(self) -> Iterator[Sample[Choice]]:
        for question in self.asked:
            yield sample_of(question, self.folder)


def certificate(samples: Iterable[Sample[Choice]]) -> dict[str, Json]:
    """What is balanced in an exam, by kind of question, and what is not: counted, nothing assumed.

    For each of labels, cells, factors, option orders and places of the true option: the number of values, the least
    and the greatest count, and `balanced`: whether these differ by at most 1. Orders and places are given within labels
    too; `orders` counts only where all k! fit into the questions. `not_balanced` names in words what a constant answer
    or a place could gain from.
    """
    kinds: dict[str, list[Sample[Choice]]] = defaultdict(list)
    for sample in samples:
        kinds[sample.truth.question].append(replace(sample, pictures=()))
    found: dict[str, Json] = {kind: _kind(rows) for kind, rows in kinds.items()}
    return {"questions": sum(len(rows) for rows in kinds.values()), "kinds": found}


FACTORS = ("shape", "colour", "sheen", "size", "section", "object_px", "count")
_SKIPPED = 5040  # more orders than these are not listed one by one


def _kind(rows: Sequence[Sample[Choice]]) -> dict[str, Json]:
    labels = [sample.truth.target for sample in rows]
    cells = [
        (sample.attributes["cell_row"], sample.attributes["cell_col"])
        for sample in rows
        if "cell_row" in sample.attributes
    ]
    sets = Counter(tuple(sorted(sample.truth.options)) for sample in rows)
    options = sorted({option for known in sets for option in known})
    parts: dict[str, Json] = {"labels": _spread(labels, options), "cells": _spread(cells, ()) if cells else None}
    for name in FACTORS:
        values = [sample.attributes[name] for sample in rows if name in sample.attributes]
        if len(set(values)) > 1:
            parts[name] = _spread(values, ())
    k = max(len(known) for known in sets)
    if all(known for known in sets):
        places = [sample.truth.options.index(sample.truth.target) for sample in rows]
        parts["places"] = _spread(places, range(k))
        parts["places_within_labels"] = _within(rows, places, range(k))
        fits = math.factorial(k) <= min(_SKIPPED, len(rows) // len(sets))
        parts["orders"] = _orders(rows, fits)
    counts = Counter(labels)
    top, most = counts.most_common(1)[0]
    return {
        "n": len(rows),
        "options": k,
        "constant_answer": {"label": top, "accuracy": most / len(rows), "f1": 2 * most / (most + len(rows))},
        "uniform_guess": round(math.fsum(1 / len(s.truth.options) for s in rows if s.truth.options) / len(rows), 12),
        **{name: value for name, value in parts.items() if value is not None},
        "not_balanced": [name for name, value in parts.items() if isinstance(value, dict) and not value["balanced"]],
    }


def _spread(values: Sequence[Hashable], known: Iterable[Hashable]) -> dict[str, Json]:
    counts = Counter(dict.fromkeys(known, 0))
    counts.update(values)
    least, most = min(counts.values()), max(counts.values())
    listed = {_name(value): n for value, n in sorted(counts.items(), key=lambda item: str(item[0]))}
    small: dict[str, Json] = {"counts": listed} if len(counts) <= 24 else {}
    return {"values": len(counts), "least": least, "most": most, "balanced": most - least <= 1, **small}


def _within(rows: Sequence[Sample[Choice]], values: Sequence[Hashable], known: Iterable[Hashable]) -> dict[str, Json]:
    """The widest spread of `values` within any label (of one set of options)."""
    every = tuple(known)
    groups: dict[object, Counter[Hashable]] = defaultdict(lambda: Counter(dict.fromkeys(every, 0)))
    for sample, value in zip(rows, values, strict=True):
        groups[sample.truth.target, frozenset(sample.truth.options)][value] += 1
    widest = max(max(counts.values()) - min(counts.values()) for counts in groups.values())
    return {"widest": widest, "balanced": widest <= 1}


def _orders(rows: Sequence[Sample[Choice]], fits: bool) -> dict[str, Json] | None:
    if not fits:
        return None
    spreads, widest = [], 0
    groups: dict[tuple[str, ...], list[Sample[Choice]]] = defaultdict(list)
    for sample in rows:
        groups[tuple(sorted(sample.truth.options))].append(sample)
    for options, members in groups.items():
        spread = _spread([sample.truth.options for sample in members], ())
        full = math.factorial(len(options))
        spreads.append((0 if spread["values"] != full else spread["least"], spread["most"]))
        by_label: dict[str, Counter[Hashable]] = defaultdict(Counter)
        for sample in members:
            by_label[sample.truth.target][sample.truth.options] += 1
        for counts in by_label.values():
            widest = max(widest, max(counts.values()) - (min(counts.values()) if len(counts) == full else 0))
    apart = max(int(str(most)) - int(str(least)) for least, most in spreads)
    return {
        "sets": len(groups),
        "most_apart": apart,
        "widest_within_labels": widest,
        "balanced": max(apart, widest) <= 1,
    }


def _name(value: Hashable) -> str:
    return " ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
