"""A detector beside models without confidences: its figures where it finds as much as they do.

Such a model has one operating point, a detector as many as scores. PROTOCOLS section 2, Operating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.bench.decide import Entry
from snellen.scoring.operating_points import sweep
from snellen.scoring.tabulation import boxes_of


def with_recalls(entry: Entry, others: Sequence[Entry]) -> Entry:
    """The entry with the fact `at_recall`, where its boxes have scores: its precision and F1 at the recall of each of
    `others` whose boxes have none. min_score None: that recall is never reached.
    """
    recalls = {other.name: recall for other in others if (recall := _recall(other)) and not _sure(other)}
    if not recalls or not _sure(entry):
        return entry
    run = entry.runs[0]
    found = sweep(*boxes_of(run.tables), unread=int(np.sum(run.tables.outcomes["unread"])))
    told: list[dict[str, Any]] = []
    for name, recall in recalls.items():
        reached = np.flatnonzero((found.recall >= recall - 1e-12) & np.isfinite(found.scores))
        row: dict[str, Any] = {"beside": name, "recall": recall, "min_score": None}
        if len(reached):
            i = int(reached[0])
            row |= {
                "min_score": float(found.scores[i]),
                "precision": float(found.precision[i]),
                "f1": float(found.f1[i]),
            }
        told.append(row)
    return replace(entry, facts={**entry.facts, "at_recall": told})


def _sure(entry: Entry) -> bool:
    """Whether its boxes have scores that differ."""
    return bool(entry.runs[0].results.facts.get("score_source", "constant") != "constant")


def _recall(entry: Entry) -> float | None:
    run = entry.runs[0]
    found = run.results.metrics.get("recall") if run.tables.kind == "boxes" else None
    return None if found is None else found.value
