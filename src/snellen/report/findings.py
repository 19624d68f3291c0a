"""What stands out in a run of closed questions, in sentences: biases of place, order and label, and confusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np

from snellen.report.blocks import Block, Findings, Section
from snellen.report.inputs import View
from snellen.statistics.diagnosis import Finding, diagnose

MOST = 8
"""Findings of a run that are shown; the rest are counted."""

ORDER = ("position", "order", "label", "confusion")


def section(views: Sequence[View]) -> Section:
    """Findings of each run, each tested and corrected together with the run's others."""
    items = tuple((view.name, sentences(view)) for view in views)
    lead = (
        "Dependences that a model which only looks at the picture would not have. All tests of a run are corrected "
        "together (Holm, 5 %): a run without such biases shows none, 19 times in 20."
    )
    blocks: tuple[Block, ...] = (Findings(items),)
    return Section("findings", "What stands out", blocks, lead)


def sentences(view: View) -> tuple[str, ...]:
    """The findings of a run in words, the strongest of each kind first, at most `MOST`."""
    found = diagnose(view.outcomes, rng=np.random.default_rng(0), section="attr.section")
    if not found:
        return ("Nothing: no bias of place, order or label, and no confusion beyond chance.",)
    shown = chosen(found)
    said = tuple(f"{finding.text}." for finding in shown)
    rest = len(found) - len(shown)
    return (*said, f"And {rest} more like these; the maps and tables below show them.") if rest else said


def chosen(found: Sequence[Finding]) -> list[Finding]:
    """At most `MOST`: in turn one of each kind, so that no kind hides the others; of a kind in turn the strongest of
    each question.
    """
    piles = [_in_turn([finding for finding in found if finding.kind == kind]) for kind in ORDER]
    rounds = (pile[i] for i in range(len(found)) for pile in piles if i < len(pile))
    return sorted(islice(rounds, MOST), key=lambda f: (ORDER.index(f.kind), -abs(f.rate - f.expected)))


def _in_turn(found: Sequence[Finding]) -> list[Finding]:
    """Findings of one kind: the first of each question, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    ranked = []
    for finding in found:
        ranked.append((seen[finding.question], finding))
        seen[finding.question] += 1
    return [finding for _, finding in sorted(ranked, key=lambda pair: pair[0])]
