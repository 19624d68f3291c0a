"""Closed answers: the outcomes table, and accuracy, F1, `other` and answer length on it. PROTOCOLS section 1, Scores.

`other` is every reply from which no offered option could be read. It is predicted only: it costs recall, and has no
F1 of its own. Macro-F1 is the plain mean over the target labels (as scikit-learn's `average="macro"` with
`labels=targets`), which reproduces the published figures of CIVET's counting answers to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.estimates import Float, Ratio
from snellen.core.stages import Choice, Reading, Sample
from snellen.core.tables import CHOICES, OUTCOMES, Table, Tables

OTHER = "other"
_TYPES: Mapping[str, type[np.generic]] = {
    "unread": np.int64, "correct": np.bool_, "words": np.float64, "options": np.int64, "place": np.int64,
    "chosen": np.int64,
}  # fmt: skip


def tabulate(pairs: Iterable[tuple[Sample[Choice], Reading[str]]]) -> Tables:
    """A row per pair with the columns OUTCOMES, CHOICES and `attr.<name>`; `classes` are the target labels in order.
    Where any reading has a confidence, a column `confidence` too, NaN where one has none.

    An answer outside the options offered is `other`; where no options are known, any answer read stands as it is.
    A sample without a cluster is its own cluster.
    """
    rows = [_row(sample, reading) for sample, reading in pairs]
    columns = Table.of_rows(rows, names=[*OUTCOMES, *CHOICES]).columns
    table = Table({**columns, **{name: columns[name].astype(dtype) for name, dtype in _TYPES.items()}})
    return Tables(table, classes=tuple(in_order(table["target"].tolist())))


def _row(sample: Sample[Choice], reading: Reading[str]) -> dict[str, Any]:
    truth = sample.truth
    answer, reason = reading.value, reading.reason
    if answer is not None and truth.options and answer not in truth.options:
        reason = reason or f"answer {answer!r} is not among the options"
        answer = None
    return {
        "sample": sample.id,
        "cluster": sample.cluster or sample.id,
        "status": reading.status,
        "salvage": reading.salvage,
        "reason": reason,
        "unread": reading.unread,
        "question": truth.question,
        "target": truth.target,
        "answer": OTHER if answer is None else answer,
        "correct": answer is not None and (answer == truth.target or answer in truth.also),
        "words": float("nan") if reading.words is None else float(reading.words),
        "options": len(truth.options),
        "place": _place(truth.target, truth.options),
        "chosen": -1 if answer is None else _place(answer, truth.options),
        **({} if reading.confidence is None else {"confidence": float(reading.confidence)}),
        **{f"attr.{name}": value for name, value in sample.attributes.items()},
    }


def _place(label: str, options: tuple[str, ...]) -> int:
    return options.index(label) if label in options else -1


def in_order(labels: Iterable[str]) -> list[str]:
    """Distinct labels: numbers by size, then words by alphabet."""

    def rank(label: str) -> tuple[bool, float, str]:
        try:
            return False, float(label), label
        except ValueError:
            return True, 0.0, label

    return sorted(set(labels), key=rank)


def is_other(table: Table) -> NDArray[np.bool_]:
    """Rows whose reply named no option: bool (samples,)."""
    return np.asarray((table["chosen"] < 0) & (table["answer"] == OTHER), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class ChoiceMeasure:
    """Accuracy, macro-F1 and their kin as functions of sample weights (a `Measure`).

    columns: float64 (samples, k), the sums that everything is made of, among them three per class.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    columns: Float
    ratios: Mapping[str, Ratio]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        sums = np.atleast_2d(np.asarray(weights, dtype=np.float64)) @ self.columns
        total, right, other, counted, words, squares = sums[:, :6].T
        hits, truths, answers = sums[:, 6:].reshape(len(sums), len(self.classes), 3).transpose(2, 0, 1)
        f1 = np.where(truths > 0, _over(2 * hits, truths + answers), np.nan)
        precision, recall = _over(hits, answers), _over(hits, truths)
        spread = np.maximum(squares - _over(words * words, counted), 0.0)
        found = {
            "accuracy": _over(right, total),
            "macro_f1": _mean_where(f1, truths > 0),
            "other_rate": _over(other, total),
            "words": _over(words, counted),
            "words_sd": np.sqrt(_over(spread, counted - 1)),
        }
        for i, label in enumerate(self.classes):
            found |= {f"f1.{label}": f1[:, i], f"precision.{label}": precision[:, i], f"recall.{label}": recall[:, i]}
        return {name: found[name] for name in self.names}


def measure(tables: Tables) -> ChoiceMeasure:
    """The metrics of closed answers on `tables`: accuracy, macro_f1, other_rate, words, words_sd (mean and standard
    deviation, ddof 1, of the answers' length), and f1.<label>, precision.<label>, recall.<label>.

    An answer that counts as right by `Choice.also` is counted as its sample's target. words are absent where no
    reading counted them. A label without truths under some weights has no F1 there and no part in the macro mean.
    """
    table = tables.outcomes
    right = np.asarray(table["correct"], dtype=np.bool_)
    answers = np.where(right, table["target"], table["answer"])
    length = np.asarray(table["words"], dtype=np.float64)
    counted = np.isfinite(length)
    other = is_other(table)
    one = np.ones(len(table))
    columns = [one, right, other, counted, np.where(counted, length, 0.0), np.where(counted, length, 0.0) ** 2]
    ratios = {"accuracy": _ratio(right, one), "other_rate": _ratio(other, one)}
    for label in tables.classes:
        true, said = table["target"] == label, (answers == label) & ~other
        columns += [true & right, true, said]
        ratios |= {f"precision.{label}": _ratio(said & right, said), f"recall.{label}": _ratio(true & right, true)}
    names = ["accuracy", "macro_f1", "other_rate", *(["words", "words_sd"] if counted.any() else [])]
    names += [f"{kind}.{label}" for kind in ("f1", "precision", "recall") for label in tables.classes]
    return ChoiceMeasure(tuple(names), tables.classes, np.column_stack(columns).astype(np.float64), ratios)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> Ratio:
    return Ratio(np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64))


def _over(above: Float, below: Float) -> Float:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))


def _mean_where(values: Float, chosen: NDArray[np.bool_]) -> Float:
    if chosen.all() and values.shape[1]:
        return np.asarray(values.mean(axis=1))
    return _over(np.where(chosen, values, 0.0).sum(axis=1), chosen.sum(axis=1).astype(np.float64))
