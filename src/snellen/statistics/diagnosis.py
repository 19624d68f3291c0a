"""What a model's answers depend on that they should not: the place in the picture, the order of the options, and
which labels it takes for which.

Every kind of dependence is tested against answers that lack it, by shuffling or by the binomial, and all tests of a
diagnosis are corrected together (Holm): an unbiased model gets no finding at all, 95 times in 100. Questions about
one scene are treated as independent here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.estimates import Float
from snellen.core.tables import Table
from snellen.statistics.hypotheses import holm_adjusted
from snellen.statistics.resampling import blocks
from snellen.statistics.uniformity import standardised_p, uniformity

Kind: TypeAlias = Literal["position", "order", "confusion", "label"]

FEWEST = 5
"""Fewer wrong answers than this to a truth, or in all, are not examined."""

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_UNSEEN = ("attr.cell", "attr.section", "attr.text", "attr.draw")


@dataclass(frozen=True)
class Finding:
    """One dependence, tested.

    kind: `position` (right answers by section), `order` (answers by the option's place), `confusion` (a truth taken
    for a label), `label` (wrong answers lean to a label whatever the truth). subject: the section, the place (0-based),
    `truth -> label`, the label. rate: seen; expected: without the dependence, in the same unit. p: corrected by Holm.
    """

    kind: Kind
    question: str
    subject: str
    rate: float
    expected: float
    answers: int
    p: float
    text: str


def diagnose(
    outcomes: Table, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.05, section: str = "attr.section"
) -> tuple[Finding, ...]:
    """What is found at `level` in the outcomes of closed questions, question by question, the strongest first.

    `section` is the column of what is taken as the place in the picture; without it positions are not examined.
    """
    tested: list[Finding] = []
    for question in dict.fromkeys(outcomes["question"].tolist()):
        table = outcomes.take(outcomes["question"] == question)
        tested += positions(table, question, section=section, draws=draws, rng=rng)
        tested += orders(table, question, draws=draws, rng=rng)
        tested += confusions(table, question)
        tested += leanings(table, question)
    adjusted = holm_adjusted([found.p for found in tested])
    kept = [replace(found, p=p) for found, p in zip(tested, adjusted, strict=True) if p is not None and p <= level]
    return tuple(sorted(kept, key=lambda found: -abs(found.rate - found.expected)))


def positions(
    table: Table, question: str, *, section: str = "attr.section", draws: int = 1000, rng: np.random.Generator
) -> Iterator[Finding]:
    """Every section of the picture: accuracy beside what its objects get elsewhere. p not yet corrected."""
    if section not in table or len(np.unique(table[section])) < 2:
        return
    found = uniformity(table["correct"], table[section], _objects(table), draws=draws, rng=rng)
    for name, excess in found.excess.items():
        p, here = found.p[name], table[section].astype(str) == name
        if p is None:
            continue
        rate = float(table["correct"][here].mean())
        more = "more" if excess > 0 else "fewer"
        text = (
            f"{_of(question)}{100 * abs(excess):.1f} points {more} right answers in {name} than the same objects get "
            f"elsewhere ({100 * rate:.1f} % of {int(here.sum()):,})"
        )
        yield Finding("position", question, name, rate, rate - excess, int(here.sum()), p, text)


def orders(table: Table, question: str, *, draws: int = 1000, rng: np.random.Generator) -> Iterator[Finding]:
    """Every place in the list of options: how often the option there is chosen. p not yet corrected.

    Under no dependence being right is shuffled among the answers of a target, and a wrong answer stands at any other
    place alike. Only answers whose options and places are known take part, of the commonest number of options.
    """
    known = (table["chosen"] >= 0) & (table["place"] >= 0) & (table["options"] > 1)
    if not known.any():
        return
    sizes, counts = np.unique(table["options"][known], return_counts=True)
    size = int(sizes[counts.argmax()])
    part = table.take(known & (table["options"] == size))
    seen = np.bincount(part["chosen"], minlength=size).astype(np.float64)
    _, block = np.unique(part["target"], return_inverse=True)
    right = (part["chosen"] == part["place"]).astype(np.float64)
    drawn = _chosen(right, part["place"].astype(np.int64), block, size, draws, rng)
    n, even = len(part), drawn.mean(axis=0)
    for place, p in enumerate(standardised_p(seen, drawn)):
        if p is not None:
            name = _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"
            text = (
                f"{_of(question)}the option shown {name} is chosen in {100 * seen[place] / n:.1f} % of {n:,} answers; "
                f"{100 * even[place] / n:.1f} % without regard to order"
            )
            yield Finding("order", question, str(place), seen[place] / n, even[place] / n, n, p, text)


def confusions(table: Table, question: str) -> Iterator[Finding]:
    """Every truth and label that it is taken for more often than other options, and than other truths are: p by the
    binomial, not yet corrected.
    """
    counts, labels, wrong, even = _wrong(table)
    for i, j in zip(*np.nonzero(counts), strict=True):
        if wrong[i] < FEWEST or labels[i] == labels[j]:
            continue
        others = [k for k in range(len(labels)) if k not in (i, j)]
        elsewhere = (float(counts[others, j].sum()) + 1) / (float(wrong[others].sum()) + 1 / even)
        expected = max(even, elsewhere)
        n = int((table["target"] == labels[i]).sum())
        rate = float(counts[i, j]) / n
        against = "as for other truths" if elsewhere > even else "would be even"
        text = (
            f"{_of(question)}{labels[i]} is taken for {labels[j]} in {100 * rate:.1f} % of {n:,} answers, "
            f"{100 * counts[i, j] / wrong[i]:.0f} % of the wrong ones; {100 * expected:.0f} % {against}"
        )
        yield Finding("confusion", question, f"{labels[i]} -> {labels[j]}", rate, float(expected * wrong[i]) / n, n,
                      _at_least(counts[i, j], wrong[i], expected), text)  # fmt: skip


def leanings(table: Table, question: str) -> Iterator[Finding]:
    """Every label that wrong answers lean to, whatever the truth: the truth taken for it most often is left out, so
    that one confusion is no leaning. p by the binomial, not yet corrected.
    """
    counts, labels, wrong, even = _wrong(table)
    for j, label in enumerate(labels):
        others = [i for i in range(len(labels)) if i != j]
        if len(others) < 3:
            continue
        others.remove(max(others, key=lambda i: float(counts[i, j]) - even * float(wrong[i])))
        n, k = float(wrong[others].sum()), float(counts[others, j].sum())
        if n >= FEWEST:
            text = (
                f"{_of(question)}wrong answers lean to {label}: {100 * k / n:.0f} % of {int(n):,}, "
                f"{100 * even:.0f} % would be even"
            )
            yield Finding("label", question, label, k / n, even, int(n), _at_least(k, n, even), text)


def _objects(table: Table) -> NDArray[np.int64]:
    """What was shown and asked, apart from where it stood: a number per answer."""
    names = [name for name in table.names if name.startswith("attr.") and not name.startswith(_UNSEEN)]
    keys = list(zip(*(table[name].tolist() for name in names), strict=True)) if names else [()] * len(table)
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([number[key] for key in keys], dtype=np.int64)


def _chosen(
    right: Float, place: NDArray[np.int64], block: NDArray[np.int64], size: int, draws: int, rng: np.random.Generator
) -> Float:
    """How often each place is chosen without regard to order: (draws, size)."""
    order = np.argsort(block, kind="stable")
    right, place, block = right[order], place[order], block[order]
    parts = []
    for rows in blocks(draws, len(right)):
        flags = right[np.argsort(block + rng.random((rows, len(right))), axis=1)] > 0
        other = rng.integers(0, size - 1, flags.shape)
        chosen = np.where(flags, place, other + (other >= place)) + size * np.arange(rows)[:, None]
        parts.append(np.bincount(chosen.ravel(), minlength=rows * size).reshape(rows, size))
    return np.concatenate(parts).astype(np.float64)


def _wrong(table: Table) -> tuple[Float, Sequence[str], Float, float]:
    """Wrong answers by truth and label said (labels, labels), the labels, wrong answers per truth, and the share that
    each other option would have if they were even.
    """
    part = table.take((table["answer"] != "other") & ~table["correct"].astype(np.bool_))
    labels = sorted(set(table["target"].tolist()) | set(part["answer"].tolist()))
    place = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)))
    pairs = zip(part["target"].tolist(), part["answer"].tolist(), strict=True)
    for target, answer in pairs:
        counts[place[target], place[answer]] += 1
    offered = table["options"][table["options"] > 1]
    options = float(np.mean(offered)) if len(offered) else float(max(len(labels), 2))
    return counts, labels, counts.sum(axis=1), 1 / (options - 1)


def _at_least(k: float, n: float, p: float) -> float:
    """P(X >= k) of the binomial."""
    from scipy.special import bdtrc

    return 1.0 if k <= 0 or p >= 1 else float(bdtrc(int(k) - 1, int(n), p))


def _of(question: str) -> str:
    return f"{question}: " if question else ""
