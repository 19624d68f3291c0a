"""What is computed on tables of boxes: the measure, facts that stand beside it, and results by groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from snellen.core.detections import BoxTable
from snellen.core.estimates import Estimate, Float, Measure, Ratio, Ratios
from snellen.core.tables import Tables
from snellen.scoring import average_precision, counting, error_costs, grounding, hallucination, ties, visual_field
from snellen.scoring.coco_matching import CocoMatches
from snellen.scoring.operating_points import score_source
from snellen.scoring.precision_recall import trapezoid_audit
from snellen.scoring.suppression import duplicates
from snellen.scoring.tabulation import boxes_of

TIED = 20_000
"""Of more scored predictions than this, what the order of equal scores does is not worked out unless asked (`ties`)."""

FIELDS = ("size", "share", "place", "crowding")
"""The bins of the visual field on real pictures."""
FIELD = "recall by "
"""What the names of groups of the visual field start with."""


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


def all_scored(predicted: BoxTable) -> bool:
    """Whether there are predictions, and every one has a score."""
    return len(predicted) > 0 and predicted.scores is not None and not np.isnan(predicted.scores).any()


PartT = TypeVar("PartT")


def _part(measure: Measure | None, of: type[PartT]) -> PartT | None:
    """The part of that type, where there is one."""
    parts = measure.parts if isinstance(measure, Joined) else ()
    return next((part for part in parts if isinstance(part, of)), None)


def _matches(measure: Measure | None) -> CocoMatches | None:
    """COCO's matches, where the measure is made of them."""
    listed = _part(measure, average_precision.ApMeasure)
    return None if listed is None else listed.matches


def ap_measure(tables: Tables, options: Mapping[str, Any]) -> Measure:
    """AP in list order where every prediction is scored, else its expectation over orders (PROTOCOLS section 2)."""
    limit = int(options.get("max_dets", 500))
    truth, predicted = boxes_of(tables)
    if all_scored(predicted) or not len(predicted):
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
    mean = _part(measure, ties.ExpectedAp)
    limit = int(options.get("max_dets", 500))
    truth, predicted = boxes_of(tables)
    few = len(predicted) <= TIED or bool(options.get("ties"))
    point = options.get("min_score")
    return {
        "predictions_scored": 0 if predicted.scores is None else int((~np.isnan(predicted.scores)).sum()),
        "score_source": score_source(predicted.scores, options.get("scores")),
        "ap_ties": ties.of_tables(tables, max_dets=limit, mean=mean).to_json() if few else None,
        "ap_audit": trapezoid_audit(truth, predicted, max_dets=limit, matches=_matches(measure)).to_json()
        if all_scored(predicted)
        else None,
        "duplicates": int(duplicates(predicted).sum()),
        "operating_point": {"name": "all" if point is None else "fixed", "min_score": point},
    }


def group_measures(
    tables: Tables, options: Mapping[str, Any], *, measure: Measure | None = None
) -> dict[str, dict[str, Measure]]:
    """Group -> value -> measure: failure modes (where a reply failed), kinds of error, the visual field. measure: that
    of these tables, whose matches serve again.
    """
    found: dict[str, dict[str, Measure]] = {}
    if not tables.outcomes["strict"].all():
        found["failures"] = {
            mode: Joined(grounded(tables, options, failures=mode)) for mode in ("count", "parsed-only", "strict")
        }
    found["errors"] = {"all": error_costs.measure(tables)}
    truth, predicted = boxes_of(tables)
    if all_scored(predicted):
        limit = int(options.get("max_dets", 500))
        in_ap = error_costs.ap50_costs(truth, predicted, max_dets=limit, matches=_matches(measure), pairs=tables.pairs)
        found["errors"] = {"all": Joined((found["errors"]["all"], in_ap))}
    sized = "width" in tables.outcomes and "height" in tables.outcomes
    for name in FIELDS:
        if sized or name in {"size", "crowding"}:
            found[f"{FIELD}{name}"] = {"all": visual_field.measure(tables, name)}
    return found


def per_image(tables: Tables, options: Mapping[str, Any], *, at_once: int = 256) -> dict[str, dict[str, Estimate]]:
    """Image -> metric -> value at IoU .5, without intervals: one picture tells nothing of others."""
    names, place = np.unique(tables.outcomes["sample"], return_inverse=True)
    measure = Joined(grounded(tables, options))
    found: dict[str, dict[str, Estimate]] = {}
    for start in range(0, len(names), at_once):
        chosen = names[start : start + at_once]
        values = measure((place == np.arange(start, start + len(chosen))[:, None]).astype(np.float64))
        for i, name in enumerate(chosen.tolist()):
            known = {metric: float(column[i]) for metric, column in values.items() if "." not in metric}
            found[name] = {m: Estimate(None if np.isnan(v) else v, n=1, method="point") for m, v in known.items()}
    return found
