"""What closed questions give to who does not look: an even guess, and always the same answer. PROTOCOLS section 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from snellen.core.tables import Table, Tables
from snellen.scoring.choice import in_order, measure


@dataclass(frozen=True)
class Baseline:
    """Accuracy and macro-F1 of a way of answering without looking; None where undefined."""

    accuracy: float | None
    macro_f1: float | None
    answer: str = ""


def uniform(tables: Tables) -> Baseline:
    """Guessing evenly among the options offered: the expected accuracy, and the F1 of the expected counts.

    Undefined where the options of some sample are not known.
    """
    table = tables.outcomes
    offered = table["options"].astype(np.float64)
    if not len(table) or (offered < 1).any():
        return Baseline(None, None)
    scores = []
    for label in tables.classes:
        true = table["target"] == label
        hits = float((1 / offered[true]).sum())
        said = hits + float((1 / offered[~true & _offers(table, label)]).sum())
        scores.append(2 * hits / (float(true.sum()) + said))
    return Baseline(float(np.mean(1 / offered)), float(np.mean(scores)))


def constant(tables: Tables, answer: str) -> Baseline:
    """Always giving `answer`: exact."""
    table = tables.outcomes
    if not len(table):
        return Baseline(None, None, answer)
    said = np.full(len(table), answer)
    columns = {**table.columns, "answer": said, "correct": table["target"] == said, "chosen": np.zeros(len(table), int)}
    found = measure(Tables(Table(columns), None, tables.classes))(np.ones((1, len(table))))
    return Baseline(float(found["accuracy"][0]), float(found["macro_f1"][0]), answer)


def majority(tables: Tables) -> Baseline:
    """Always giving the commonest label (of equally common ones the first in order)."""
    table = tables.outcomes
    if not len(table):
        return Baseline(None, None)
    labels = in_order(table["target"].tolist())
    counts = [int((table["target"] == label).sum()) for label in labels]
    return constant(tables, labels[int(np.argmax(counts))])


def by_question(tables: Tables) -> Mapping[str, Mapping[str, Baseline]]:
    """`uniform` and `majority` of each kind of question."""
    out: dict[str, Mapping[str, Baseline]] = {}
    for question in dict.fromkeys(tables.outcomes["question"].tolist()):
        part = tables.outcomes.take(tables.outcomes["question"] == question)
        own = Tables(part, None, tuple(in_order(part["target"].tolist())))
        out[question] = {"uniform": uniform(own), "majority": majority(own)}
    return out


def _offers(table: Table, label: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Samples whose question offers `label`: all of a question of which some sample has it as its target."""
    questions = set(table["question"][table["target"] == label].tolist())
    return np.isin(table["question"], sorted(questions))
