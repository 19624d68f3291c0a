"""From scored runs to the decision: entries, what they cost, the decisions of each data set and of all together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from snellen.bench.across import Lead, ModelPair, leads, model_pairs, rollups
from snellen.bench.config import Bench, ModelEntry
from snellen.bench.contrasts import Contrast, contrasts
from snellen.bench.decide import Decision, Entry, decide, overall
from snellen.bench.execute import Done, usage_of
from snellen.bench.plan import EXAM, IMPORTED
from snellen.bench.recalls import with_recalls
from snellen.core.stages import Reply
from snellen.evals.comparison import scored
from snellen.evals.rollup import Rollup
from snellen.runs import cost
from snellen.runs.store import Run

PROTOCOLS = ("all", "present")
"""What a prompt asks for: all classes (detection), or those in the picture (referential); never ranked together."""


@dataclass(frozen=True)
class Outcome:
    """What a bench found: a decision per data set, one over all (where there are several), and what is missing.

    referential: the decisions of regimes that ask for the classes present only, where others ask for all. categories:
    entry -> category scores. pairs, leads: models against each other over data sets. contrasts: ways of asking.
    """

    decisions: tuple[Decision, ...]
    overall: Decision | None
    missing: Mapping[str, str]
    variance: Mapping[str, Mapping[str, float | None]]
    referential: tuple[Decision, ...] = ()
    categories: Mapping[str, Rollup] = field(default_factory=dict)
    pairs: tuple[ModelPair, ...] = ()
    leads: tuple[Lead, ...] = ()
    contrasts: tuple[Contrast, ...] = ()

    @property
    def every(self) -> tuple[Decision, ...]:
        """All decisions in the order in which they are told: overall first, the referential ones last."""
        return (*([] if self.overall is None else [self.overall]), *self.decisions, *self.referential)

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "overall": None if self.overall is None else self.overall.to_json(),
            "data": {decision.data: decision.to_json() for decision in self.decisions},
            "referential": {decision.data: decision.to_json() for decision in self.referential},
            "missing": dict(self.missing),
            "variance": {name: dict(found) for name, found in self.variance.items()},
            "categories": {name: rolled(found) for name, found in self.categories.items()},
            "pairs": [pair.to_json() for pair in self.pairs],
            "leads": [lead.to_json() for lead in self.leads],
            "contrasts": [contrast.to_json() for contrast in self.contrasts],
        }


def rolled(found: Rollup) -> dict[str, Any]:
    """A roll-up as plain JSON."""
    categories = {name: score.to_json() for name, score in found.categories.items()}
    return {"categories": categories, "all": found.all.to_json(), "scored": found.scored, "of": found.of}


def conclude(bench: Bench, finished: Sequence[Done]) -> Outcome:
    """The decisions of a carried-out bench."""
    entries = entries_of(bench, finished)
    by_protocol = [_decisions(bench, entries, protocol) for protocol in PROTOCOLS]
    first, second = by_protocol if by_protocol[0][0] else (by_protocol[1], by_protocol[0])
    decisions, together = first
    missing = {d.job.name: f"{d.state}: {d.reason}" for d in finished if d.state != "done"}
    apart = [*second[0], *([] if second[1] is None else [second[1]])]
    metrics = {decision.data: decision.metric for decision in decisions}
    return Outcome(
        decisions,
        together,
        missing,
        variances(decisions),
        tuple(replace(decision, data=f"{decision.data}, classes present only") for decision in apart),
        rollups(bench, decisions),
        model_pairs(decisions),
        leads(decisions),
        contrasts(entries, bench.regimes, metrics, draws=bench.bootstrap, seed=bench.seed),
    )


def _decisions(
    bench: Bench, entries: Mapping[str, Sequence[Entry]], protocol: str
) -> tuple[tuple[Decision, ...], Decision | None]:
    """The decision of each data set among the entries of one protocol, and the one over all of them."""
    kept = {data: [e for e in each if e.facts["classes"] == protocol] for data, each in entries.items()}
    kept = {data: each for data, each in kept.items() if each}
    how: dict[str, Any] = {"higher": bench.higher_is_better, "draws": bench.bootstrap, "seed": bench.seed}
    decisions = tuple(decide(data, each, metric=bench.metric, **how) for data, each in kept.items())
    if len(decisions) < 2 or len({decision.metric for decision in decisions}) > 1:
        return decisions, None
    everywhere = set.intersection(*({row.name for row in decision.rows} for decision in decisions))
    return decisions, overall(decisions, kept, higher=bench.higher_is_better) if everywhere else None


def entries_of(bench: Bench, finished: Sequence[Done]) -> dict[str, list[Entry]]:
    """Data set -> entries, one per model and regime, with a run per seed; only what was scored."""
    runs: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for done in finished:
        if done.state == "done" and done.run is not None:
            runs[done.job.data, done.job.model, done.job.regime].append(done.run)
    several = len({regime for _, _, regime in runs} - {IMPORTED, EXAM}) > 1
    entries: dict[str, list[Entry]] = {name: [] for name in bench.data}
    guessing = set()
    for (data, model, regime), found in runs.items():
        name = entry_name(model, regime, several=several)
        facts = {"model": model, "regime": regime, **costs(found, bench.models[model])}
        facts["classes"] = found[0].manifest.task.get("classes", "all")
        entries[data].append(Entry(name, data, tuple(scored(run) for run in found), facts))
        if found[0].manifest.kind == "run" and found[0].manifest.model_spec.provider in GUESSING:
            guessing.add(name)
    return {
        data: [entry if entry.name in guessing else with_recalls(entry, each) for entry in each]
        for data, each in entries.items()
    }


GUESSING = frozenset({"random", "majority"})
"""Providers of what chance gives: of no interest at another's recall."""


def entry_name(model: str, regime: str, *, several: bool) -> str:
    """A model, and its regime where there are `several` and it has one."""
    return f"{model} ({regime})" if several and regime not in {IMPORTED, EXAM} else model


def costs(runs: Sequence[Run], entry: ModelEntry) -> dict[str, Any]:
    """Cost and seconds per 1,000 pictures, tokens, unreadable replies, of one entry's runs together.

    Seconds are the sum of the requests' latencies over the number of samples: what one worker would need. price: USD
    per million tokens, in and out in the shares used. Money is not known where a server does not count tokens.
    """
    samples = sum(run.manifest.samples for run in runs)
    seconds: list[float] = []
    for run in runs:
        seconds += [a.seconds for _, a in run.replies() if isinstance(a, Reply) and a.seconds is not None]
    usage = [usage_of(run) for run in runs]
    price = cost.price_of(runs[0].manifest.model_spec) if runs[0].manifest.kind == "run" else None
    tokens = sum(each.input_tokens + each.output_tokens for each in usage)
    dollars = None if price is None or not tokens else sum(price.of(each) for each in usage)
    status = _statuses(runs)
    unreadable = sum(n for name, n in status.items() if name != "ok")
    per_image = entry.seconds_per_image
    if per_image is None and seconds and samples:
        per_image = float(np.sum(seconds)) / samples
    return {
        "samples": samples,
        "dollars_per_1000": None if dollars is None or not samples else 1000 * dollars / samples,
        "price": None if dollars is None else 1e6 * dollars / tokens,
        "seconds_per_1000": None if per_image is None else 1000 * per_image,
        "input_tokens": sum(each.input_tokens for each in usage),
        "output_tokens": sum(each.output_tokens for each in usage),
        "unreadable": unreadable,
        "status": status,
        "resolution": runs[0].results()["facts"].get("resolution"),
        "native": _native(runs[0]),
        "operating_point": runs[0].results()["facts"].get("operating_point"),
        "parameters": entry.parameters,
        "released": entry.released,
    }


def _native(run: Run) -> dict[str, Any] | None:
    """The score under the notation that the model speaks by itself, where it was read so too."""
    results = run.results()
    told = results["facts"].get("native")
    if told is None:
        return None
    return {**told, "metrics": results["groups"]["notation"][f"{told['notation']} (native)"]}


def _statuses(runs: Sequence[Run]) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for run in runs:
        for name, count in run.results()["facts"].get("status", {}).items():
            total[name] += int(count)
    return dict(total)


def variances(decisions: Sequence[Decision]) -> dict[str, dict[str, float | None]]:
    """Both variances over seeds, ddof=1 (PROTOCOLS section 2): sd over seeds of the mean over data sets, and the mean
    over data sets of the sd over seeds. Only of entries with several seeds on every data set.
    """
    found: dict[str, dict[str, float | None]] = {}
    names = {row.name for decision in decisions for row in decision.rows}
    for name in sorted(names):
        seeds = [row.seeds for decision in decisions for row in decision.rows if row.name == name]
        if len(seeds) != len(decisions) or len({len(s) for s in seeds}) != 1 or len(seeds[0]) < 2:
            continue
        table = np.array(seeds)
        found[name] = {
            "sd_of_mean": float(table.mean(axis=0).std(ddof=1)),
            "mean_of_sd": float(table.std(axis=1, ddof=1).mean()),
        }
    return found
