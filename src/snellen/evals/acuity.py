"""Acuity: the object size at which a model's accuracy is half-way between chance and 1, over all and by section."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen.core.specs import Json
from snellen.core.tables import Table, Tables
from snellen.statistics.psychometrics import Psychometric, fit, fit_by

SIZE, SECTION = "attr.object_px", "attr.section"


def with_thresholds(tables: Tables) -> Tables:
    """`tables` with the fitted thresholds among its facts, where objects of at least three sizes were asked about.

    `acuity`: unit, threshold (an estimate, px), slope, lapse, chance, steps (size, n, right), reason; `acuity_by`: the
    same threshold for each section of the grid.
    """
    outcomes = tables.outcomes
    if SIZE not in outcomes or len(np.unique(outcomes[SIZE])) < 3:
        return tables
    sizes, right, clusters = outcomes[SIZE], outcomes["correct"], outcomes["cluster"]
    chance = _chance(outcomes)
    found: dict[str, object] = {"acuity": _told(fit(sizes, right, chance=chance, clusters=clusters))}
    if SECTION in outcomes:
        curves = fit_by(outcomes[SECTION], sizes, right, chance=chance, clusters=clusters)
        found["acuity_by"] = {"section": {name: _told(curve) for name, curve in curves.items()}}
    return replace(tables, facts={**tables.facts, **found})


def _chance(outcomes: Table) -> float:
    """The accuracy of guessing evenly."""
    return float(np.mean(1 / outcomes["options"]))


def _told(curve: Psychometric) -> dict[str, Json]:
    return {
        "unit": "px",
        "threshold": curve.threshold.to_json(),
        "slope": round(curve.slope, 4),
        "lapse": round(curve.lapse, 5),
        "chance": round(curve.chance, 5),
        "steps": [[step.size, step.n, step.right] for step in curve.steps],
        "reason": curve.reason,
    }
