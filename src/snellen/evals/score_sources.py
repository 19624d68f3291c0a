"""Where the scores of a run's boxes could come from, beside each other: the same boxes, ranked and judged by each.

A reply in text may write scores (`model`), its tokens have log-probabilities (`token-logprob`), several draws vote
(`vote`), and without any of them every score is the same (`constant`): PROTOCOLS section 2. Only the ranking differs:
precision, recall and F1 at the operating point `all` are one for all. AP is the expected one over the orders of equal
scores for every source, so that none owes anything to the order in which boxes are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.core.estimates import Estimate, Float
from snellen.core.tables import Tables
from snellen.evals.measures import Narrowed, Precision
from snellen.evals.results import Results
from snellen.scoring import calibration, ties
from snellen.scoring.operating_points import score_source
from snellen.scoring.tabulation import boxes_of
from snellen.statistics.paired import difference

GROUP = "score source"
"""The group of the results that holds AP by source."""

SOURCES = ("constant", "model", "token-logprob", "vote")
FIGURES = ("ap", "ap50", "ap75")


def with_sources(results: Results, tables: Tables, others: Mapping[str, Tables], how: Precision) -> Results:
    """`results` of `tables` with AP by every source of scores (group `score source`, where there are several) and the
    calibration of each that has confidences (fact `calibration`).

    others: the tables of the same replies, read under other sources; those in which nothing but `constant` scores came
    of it play no part.
    """
    real = {name: each for name, each in others.items() if _source(each, name) == name}
    own = _own(results, tables)
    found = real | ({own: tables} if own else {})
    found = {name: found[name] for name in SOURCES if name in found}
    facts = {name: of_tables(each, how) for name, each in found.items()}
    known = {name: fact for name, fact in facts.items() if fact is not None}
    groups = {GROUP: _precision(found, results.options, how)} if len(found) > 1 else {}
    more = {"calibration": known} if known else {}
    return replace(results, groups={**results.groups, **groups}, facts={**results.facts, **more})


def of_tables(tables: Tables, how: Precision) -> dict[str, Any] | None:
    """Calibration as it stands in results: ece, excess, confidence, right, n, without, bins, tenths; None where there
    are no confidences.

    bins: ten of equal width; tenths: of about equal number. Of each that holds any prediction: its edges `from` and
    `to`, n, the mean confidence and the share right.
    """
    given = calibration.confident(tables)
    if given is None:
        return None
    whole, bins = _binned(given, calibration.widths(), tables, how)
    _, tenths = _binned(given, calibration.shares(given), tables, how)
    return {**whole, "n": len(given.confidence), "without": given.without, "bins": bins, "tenths": tenths}


def _binned(
    given: calibration.Confident, edges: Float, tables: Tables, how: Precision
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    measured = calibration.measure(given, edges)
    found = {name: estimate.to_json(intervals=how.intervals) for name, estimate in how.of(measured, tables).items()}
    bins = [
        {"from": float(edges[i]), "to": float(edges[i + 1]), "n": int(measured.counts[i]),
         "confidence": found[f"confidence.{i}"]["value"], "right": found[f"right.{i}"]}
        for i in np.flatnonzero(measured.counts).tolist()
    ]  # fmt: skip
    return {name: found[name] for name in ("ece", "excess", "confidence", "right")}, bins


def _source(tables: Tables, declared: str) -> str:
    return str(score_source(boxes_of(tables)[1].scores, declared))  # type: ignore[arg-type]


def _own(results: Results, tables: Tables) -> str:
    """The source that the run was scored with; "" for answers without confidences."""
    if tables.kind == "boxes":
        return str(results.facts["score_source"])
    return ("vote" if results.options.get("votes") else "token-logprob") if "confidence" in tables.outcomes else ""


def _precision(
    found: Mapping[str, Tables], options: Mapping[str, Any], how: Precision
) -> dict[str, dict[str, Estimate]]:
    """ap, ap50, ap75 of each source, and how much each gains on constant scores: `ap_gain` and its like."""
    limit = int(options.get("max_dets", 500))
    measures = {
        name: Narrowed(ties.expected(*boxes_of(tables), max_dets=limit, rng=np.random.default_rng(how.seed)), *FIGURES)
        for name, tables in found.items()
    }
    out = {}
    for name, measure in measures.items():
        out[name] = how.of(measure, found[name])
        if name != "constant" and "constant" in measures and how.intervals:
            pairs = difference(
                measures["constant"], measure, found[name].outcomes["cluster"], draws=how.draws,
                rng=np.random.default_rng(how.seed),
            )  # fmt: skip
            out[name] |= {f"{figure}_gain": pair.difference for figure, pair in pairs.items()}
    return out
