"""What is computed on tables of boxes: the measure, facts that stand beside it, and results by groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from snellen.core.estimates import Float, Measure, Ratio, Ratios
from snellen.core.tables import Tables
from snellen.scoring import average_precision, counting, grounding, hallucination, ties, visual_field
from snellen.scoring.error_costs import measure as error_measure
from snellen.scoring.operating_points import score_source
from snellen.scoring.suppression import duplicates
from snellen.scoring.tabulation import boxes_of

TIED = 20_000
"""Of more scored predictions than this, what the order of equal scores does is not worked out unless asked (`ties`)."""

FIELDS = ("size", "share", "place", "crowding")
"""The bins of the visual field on real pictures."""


class Joined:
    """Several measures of the same tables as one."""

    def __init__(self, parts: Sequence[Measure]) -> None:
        self.parts = tuple(parts)
        self.names = tuple(name for part in parts for name in part.names)
        self.ratios: Mapping[str, Ratio] = {
            name: ratio for part in parts if isinstance(part, Ratios) for name, ratio in part.ratios.items()
        }

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics of all parts under each row of `weights`."""
        return {name: values for part in self.parts for name, values in part(weights).items()}


def ap_measure(tables: Tables, options: Mapping[str, Any]) -> Measure:
    """AP in list order where every prediction is scored, else its expectation over orders (PROTOCOLS section 2)."""
    limit = int(options.get("max_dets", 500))
    truth, predicted = boxes_of(tables)
    scored = predicted.scores is not None and not np.isnan(predicted.scores).any()
    if scored or not len(predicted):
        return average_precision.measure(tables, max_dets=limit)
    return ties.expected(truth, predicted, max_dets=limit, rng=np.random.default_rng(0))


def grounded(tables: Tables, options: Mapping[str, Any], *, failures: str | None = None) -> tuple[Measure, ...]:
    """Grounding, counting and hallucination under one failure mode."""
    mode: Any = failures or options.get("failures", "count")
    return (
        grounding.measure(tables, failures=mode),
        counting.measure(tables, failures=mode),
        hallucination.measure(tables, support=options.get("chair", "class"), failures=mode),
    )


def facts_of(tables: Tables, options: Mapping[str, Any], *, measure: Measure | None = None) -> dict[str, Any]:
    """Score source, what ties do to AP, duplicates, the operating point. measure: that of these tables, which may hold
    the expectation over ties already.
    """
    parts = measure.parts if isinstance(measure, Joined) else ()
    mean = next((part for part in parts if isinstance(part, ties.ExpectedAp)), None)
    limit = int(options.get("max_dets", 500))
    _, predicted = boxes_of(tables)
    few = len(predicted) <= TIED or bool(options.get("ties"))
    point = options.get("min_score")
    return {
        "predictions_scored": 0 if predicted.scores is None else int((~np.isnan(predicted.scores)).sum()),
        "score_source": score_source(predicted.scores, options.get("scores")),
        "ap_ties": ties.of_tables(tables, max_dets=limit, mean=mean).to_json() if few else None,
        "duplicates": int(duplicates(predicted).sum()),
        "operating_point": {"name": "all" if point is None else "fixed", "min_score": point},
    }


def group_measures(tables: Tables, options: Mapping[str, Any]) -> dict[str, dict[str, Measure]]:
    """Group -> value -> measure: failure modes (where a reply failed), kinds of error, the visual field."""
    found: dict[str, dict[str, Measure]] = {}
    if not tables.outcomes["strict"].all():
        found["failures"] = {
            mode: Joined(grounded(tables, options, failures=mode)) for mode in ("count", "parsed-only", "strict")
        }
    found["errors"] = {"all": error_measure(tables)}
    sized = "width" in tables.outcomes and "height" in tables.outcomes
    for name in FIELDS:
        if sized or name in {"size", "crowding"}:
            found[f"recall by {name}"] = {"all": visual_field.measure(tables, name)}
    return found
