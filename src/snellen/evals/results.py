"""Results: the numbers of a run, each with its interval, and what they may be compared with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Int
from snellen.core.estimates import Estimate
from snellen.core.specs import Json, canonical, fingerprint
from snellen.core.tables import Tables


@dataclass(frozen=True)
class Results:
    """What `score` found.

    metrics: name -> estimate, for the whole run. per_class: class -> metric -> estimate. groups: attribute -> value ->
    metric -> estimate. facts: what else is true of the run (counts, operating point, score source). guard: what two
    results must share to be compared.
    """

    task: str
    metrics: Mapping[str, Estimate]
    per_class: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Mapping[str, Estimate]]] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    guard: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self, *, intervals: bool = True, flat: bool = False) -> dict[str, Any]:
        """The stored form; `flat` puts the metrics at the top, as `snellen score --json` prints them."""

        def plain(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
            return {name: estimate.to_json(intervals=intervals) for name, estimate in estimates.items()}

        metrics = plain(self.metrics)
        rest: dict[str, Any] = {
            "per_class": {label: plain(estimates) for label, estimates in self.per_class.items()},
            "groups": {
                name: {value: plain(estimates) for value, estimates in values.items()}
                for name, values in self.groups.items()
            },
            "options": dict(self.options),
            "facts": dict(self.facts),
            "guard": dict(self.guard),
        }
        if flat:
            return {"task": self.task, "n": {"value": self.facts.get("samples")}, **metrics, **rest}
        return {"task": self.task, "metrics": metrics, **rest}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Results:
        """The inverse of `to_json`."""

        def read(estimates: Mapping[str, Any]) -> dict[str, Estimate]:
            return {name: Estimate(**estimate) for name, estimate in estimates.items()}

        return cls(
            data["task"],
            read(data["metrics"]),
            {label: read(estimates) for label, estimates in data.get("per_class", {}).items()},
            {
                name: {value: read(estimates) for value, estimates in values.items()}
                for name, values in data.get("groups", {}).items()
            },
            data.get("options", {}),
            data.get("facts", {}),
            data.get("guard", {}),
        )


def truth_hash(tables: Tables) -> str:
    """SHA-256 of what is true in the tables, whatever the order of the samples: equal truth, equal hash.

    Of boxes: the names of samples and classes that have some, then the columns, sorted by all of them; corners to six
    decimals.
    """
    outcomes = tables.outcomes
    if tables.detections is None:
        rows = sorted(set(zip(outcomes["sample"].tolist(), outcomes["target"].tolist(), strict=True)))
        return fingerprint([list(row) for row in rows])
    table = tables.detections
    once = np.zeros(len(outcomes), dtype=np.bool_)  # several answers to a picture have one truth
    once[np.unique(outcomes["sample"], return_index=True)[1]] = True
    boxes = np.flatnonzero(table["truth"] & once[table["sample"]])
    samples, sample = _named(outcomes["sample"], table["sample"][boxes])
    classes, label = _named(np.array([*tables.classes, ""]), table["label"][boxes])
    corners = [np.round(table[side][boxes], 6) + 0.0 for side in ("x1", "y1", "x2", "y2")]  # -0.0 becomes 0.0
    columns = [sample, label, *corners, table["crowd"][boxes]]
    order = _sorted_by(columns)
    found = hashlib.sha256(canonical([samples, classes]).encode())
    for column in columns:
        found.update(column[order].astype("<f8").tobytes())
    return found.hexdigest()


def _sorted_by(columns: Sequence[NDArray[Any]]) -> Int:
    """`lexsort` with the first column first. The first three nearly always decide: only what ties in them is compared
    in the others.
    """
    order = np.lexsort(columns[2::-1])
    same = np.append(False, np.all([column[order[1:]] == column[order[:-1]] for column in columns[:3]], axis=0))
    tied = np.flatnonzero(same | np.append(same[1:], False))
    order[tied] = order[tied][np.lexsort([column[order[tied]] for column in columns[::-1]])]
    return order


def _named(names: NDArray[np.str_], index: Int) -> tuple[list[str], Int]:
    """The names that `index` points to, sorted, and for each place in it which of them it is."""
    used = np.unique(index)
    known, place = np.unique(names[used], return_inverse=True)
    return known.tolist(), place[np.searchsorted(used, index)]


def guard_of(tables: Tables, **options: Json) -> dict[str, Json]:
    """What must be equal for two results to be compared: the truth, the samples, and the metric's `options`."""
    return {
        "truth": truth_hash(tables),
        "samples": fingerprint(sorted(set(tables.outcomes["sample"].tolist()))),
        **options,
    }
