"""The decision: who is best, by how much, at what cost, and where these pictures cannot tell.

Per data set, every two entries are compared on the same pictures under the same resamples; p values are Holm's over
all pairs of the table, so that choosing the best afterwards costs nothing. Over several data sets the score is the
unweighted mean (PROTOCOLS section 2); data sets are independent, so that the squared standard errors of paired
differences add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from snellen.core.errors import GuardError, unknown
from snellen.core.estimates import Estimate, Measure
from snellen.evals.averaged import Averaged
from snellen.evals.comparison import Scored, check_guard
from snellen.evals.measures import narrowed
from snellen.statistics.datasets import mean_difference, mean_estimate
from snellen.statistics.hypotheses import holm_adjusted
from snellen.statistics.intervals import bootstrap
from snellen.statistics.paired import Difference, difference

ALPHA = 0.05


@dataclass(frozen=True)
class Entry:
    """A model under a regime on one data set: its scored runs, one per seed."""

    name: str
    data: str
    runs: tuple[Scored, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of the decision table. gap: this minus the best, paired. verdict: best | worse | not distinguishable."""

    name: str
    score: Estimate
    gap: Difference | None
    p_holm: float | None
    verdict: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "name": self.name,
            "score": self.score.to_json(),
            "gap": None if self.gap is None else {**self.gap.to_json(), "p_holm": self.p_holm},
            "verdict": self.verdict,
            "seeds": list(self.seeds),
            **self.facts,
        }


@dataclass(frozen=True)
class Decision:
    """The table of one data set (or of all together), best first, and what it says in a sentence."""

    data: str
    metric: str
    rows: tuple[Row, ...]
    sentence: str
    smallest_gap: float | None
    refused: Mapping[str, str] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Difference] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether these data tell the best from every other entry."""
        return len(self.rows) > 1 and all(row.verdict == "worse" for row in self.rows[1:])

    def verdict(self, row: Row) -> str:
        """A row's verdict in words: the one with the highest score is called best only where that is decided."""
        if row.verdict == "best":
            return "best" if self.decided else "highest score"
        return {"worse": "worse", "not distinguishable": "cannot be told from the best"}[row.verdict]

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "data": self.data,
            "metric": self.metric,
            "sentence": self.sentence,
            "decided": self.decided,
            "smallest_gap": self.smallest_gap,
            "rows": [row.to_json() for row in self.rows],
            "refused": dict(self.refused),
        }


def decide(
    data: str, entries: Sequence[Entry], *, metric: str | None = None, higher: bool = True, draws: int = 1000,
    seed: int = 0,
) -> Decision:  # fmt: skip
    """The decision on one data set. Entries that must not be compared with the others are refused, with the reason."""
    kept, refused = _comparable(entries)
    chosen = metric or headline(kept)
    known = set.intersection(*(_metrics(run) for entry in kept for run in entry.runs))
    if chosen not in known:
        raise unknown("metric", chosen, sorted(name for name in known if "." not in name))
    measures = {e.name: averaged([narrowed(run.tables, run.results.options, chosen) for run in e.runs]) for e in kept}
    clusters = kept[0].runs[0].tables.outcomes["cluster"]
    scores = {
        name: bootstrap(m, clusters, draws=draws, rng=np.random.default_rng(seed))[chosen]
        for name, m in measures.items()
    }
    pairs: dict[tuple[str, str], Difference] = {}
    for a, b in combinations(measures, 2):
        rng = np.random.default_rng(seed)
        pairs[a, b] = difference(measures[a], measures[b], clusters, draws=draws, rng=rng)[chosen]
    return table(data, chosen, kept, scores, pairs, higher=higher, refused=refused)


def table(
    data: str,
    metric: str,
    entries: Sequence[Entry],
    scores: Mapping[str, Estimate],
    pairs: Mapping[tuple[str, str], Difference],
    *,
    higher: bool = True,
    refused: Mapping[str, str] | None = None,
) -> Decision:
    """Ranks the entries and says what the pairwise tests allow to say."""
    sign = 1.0 if higher else -1.0
    value = {e.name: scores[e.name].value if scores[e.name].value is not None else -math.inf * sign for e in entries}
    order = sorted(entries, key=lambda entry: -sign * float(value[entry.name] or 0.0))
    adjusted = dict(zip(pairs, holm_adjusted([pair.p for pair in pairs.values()]), strict=True))
    best = order[0]
    rows = []
    for entry in order:
        gap, p = _gap(best.name, entry.name, pairs, adjusted)
        verdict = "best" if entry is best else "worse" if p is not None and p < ALPHA else "not distinguishable"
        seeds = tuple(float(run.results.metrics[metric].value or 0.0) for run in entry.runs)
        rows.append(Row(entry.name, scores[entry.name], gap, p, verdict, entry.facts, seeds))
    ties = [row.name for row in rows if row.verdict == "not distinguishable"]
    smallest = _telling(rows)
    return Decision(data, metric, tuple(rows), sentence(rows, ties, metric, smallest), smallest, refused or {}, pairs)


def _telling(rows: Sequence[Row]) -> float | None:
    """The smallest gap that the samples could show where it matters: between the best and those that are level with
    it (the widest of these), else between the best and the second.
    """
    level = [row for row in rows if row.verdict == "not distinguishable"] or list(rows[1:2])
    gaps = [row.gap.gap for row in level if row.gap is not None and row.gap.gap is not None]
    return max(gaps) if gaps else None


def sentence(rows: Sequence[Row], ties: Sequence[str], metric: str, smallest: float | None) -> str:
    """The decision in words."""
    best = rows[0]
    score = f"{metric} {_number(best.score.value)}"
    if best.score.low is not None:
        score += f" [{_number(best.score.low)}, {_number(best.score.high)}]"
    if len(rows) == 1:
        return f"{best.name}: {score}. Nothing to compare it with."
    hint = "" if not smallest else f" The smallest gap that these samples can show here is about {smallest:.3f}."
    if ties:
        others = ", ".join(ties)
        return f"{best.name} has the highest {score}, but these data cannot tell it from {others}.{hint}"
    second = rows[1]
    lead = second.gap.difference if second.gap is not None else None
    if lead is None or lead.value is None:
        return f"{best.name} is best: {score}."
    low, high = sorted((abs(lead.low or 0.0), abs(lead.high or 0.0)))
    return f"{best.name} is best: {score}, {abs(lead.value):.3f} ({low:.3f} to {high:.3f}) ahead of {second.name}."


def overall(decisions: Sequence[Decision], entries: Mapping[str, Sequence[Entry]], *, higher: bool = True) -> Decision:
    """All data sets together: unweighted means of scores and of paired differences. Needs one metric throughout."""
    names = [row.name for row in decisions[0].rows if all(any(r.name == row.name for r in d.rows) for d in decisions)]
    scores: dict[str, Estimate] = {}
    for name in names:
        found = [next(row.score for row in d.rows if row.name == name) for d in decisions]
        scores[name] = mean_estimate(found)
    pairs = {}
    for a, b in combinations(names, 2):
        pairs[a, b] = mean_difference([_oriented(d.pairs, a, b) for d in decisions])
    kept = [Entry(name, "all", _runs(entries, name), _together(entries, name)) for name in names]
    left = {row.name for d in decisions for row in d.rows} - set(names)
    refused = dict.fromkeys(sorted(left), "not scored on every data set")
    return table("all", decisions[0].metric, kept, scores, pairs, higher=higher, refused=refused)


def _together(entries: Mapping[str, Sequence[Entry]], name: str) -> dict[str, Any]:
    """Costs per 1,000 averaged over data sets, counts added up; None where one data set does not know."""
    each = [entry.facts for found in entries.values() for entry in found if entry.name == name]
    whole: dict[str, Any] = {key: each[0].get(key) for key in ("model", "regime", "classes", "parameters", "released")}
    for key in ("dollars_per_1000", "price", "seconds_per_1000"):
        values = [facts.get(key) for facts in each]
        whole[key] = (
            None if any(value is None for value in values) else float(np.mean(np.array(values, dtype=np.float64)))
        )
    for key in ("samples", "input_tokens", "output_tokens", "unreadable"):
        whole[key] = sum(int(facts.get(key) or 0) for facts in each)
    return whole


def averaged(parts: Sequence[Measure]) -> Measure:
    """The mean over an entry's seeds, on the same samples; of one seed: its measure."""
    return parts[0] if len(parts) == 1 else Averaged(parts)


def headline(entries: Sequence[Entry]) -> str:
    """accuracy for exams; AP where every entry has confidences, else F1 (AP without them is no ranking)."""
    names = set.intersection(*(_metrics(run) for entry in entries for run in entry.runs))
    if "accuracy" in names:
        return "accuracy"
    sources = {run.results.facts.get("score_source") for entry in entries for run in entry.runs}
    return "ap" if "ap" in names and sources <= {"model", "token-logprob", "vote"} else "f1"


def _metrics(run: Scored) -> set[str]:
    """The metrics of a run, those of its classes as `f1.<class>`."""
    of_classes = (f"{name}.{label}" for label, found in run.results.per_class.items() for name in found)
    return {*run.results.metrics, *of_classes}


def _comparable(entries: Sequence[Entry]) -> tuple[list[Entry], dict[str, str]]:
    """The entries that agree with the first of the largest group, and why the others do not."""
    groups: list[list[Entry]] = []
    reasons: dict[str, str] = {}
    for entry in entries:
        for group in groups:
            try:
                for run in entry.runs:
                    check_guard(group[0].runs[0].results, run.results)
            except GuardError as error:
                reasons[entry.name] = str(error)
                continue
            group.append(entry)
            break
        else:
            groups.append([entry])
    kept = max(groups, key=len)
    return kept, {e.name: reasons.get(e.name, "differs from the others") for g in groups if g is not kept for e in g}


def _gap(
    best: str, name: str, pairs: Mapping[tuple[str, str], Difference], adjusted: Mapping[tuple[str, str], float | None]
) -> tuple[Difference | None, float | None]:
    if name == best:
        return None, None
    key = (best, name) if (best, name) in pairs else (name, best)
    return _oriented(pairs, best, name), adjusted[key]


def _oriented(pairs: Mapping[tuple[str, str], Difference], a: str, b: str) -> Difference:
    """B minus A, whichever way round it was computed."""
    if (a, b) in pairs:
        return pairs[a, b]
    found = pairs[b, a]
    d = found.difference
    turned = Estimate(
        None if d.value is None else -d.value,
        None if d.high is None else -d.high,
        None if d.low is None else -d.low,
        d.n,
        d.method,
    )
    return Difference(found.b, found.a, turned, found.p, found.test, found.p_holm, found.error, found.gap)


def _runs(entries: Mapping[str, Sequence[Entry]], name: str) -> tuple[Scored, ...]:
    return next(entry.runs for each in entries.values() for entry in each if entry.name == name)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
