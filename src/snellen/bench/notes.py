"""What stands under a decision: how large objects are to the models, other readings of replies, operating points."""

from __future__ import annotations

from snellen.bench.decide import Decision
from snellen.evals.resolution import sentence as resolution


def notes(decision: Decision) -> list[str]:
    """All of it, a sentence or two each."""
    recalls = at_recalls(decision)
    if len(recalls) > MOST:
        recalls = [f"Models with confidences at the recall of those without: {len(recalls)} rows in the report."]
    return [*sizes(decision), *natives(decision), *points(decision), *recalls]


MOST = 4
"""So many lines about recalls stand on a terminal."""


def costs(decision: Decision) -> list[str]:
    """What 1,000 pictures cost by each entry that costs money or takes time, best first."""
    found = []
    for row in decision.rows:
        dollars, seconds = (row.facts.get(name) for name in ("dollars_per_1000", "seconds_per_1000"))
        told = [f"{dollars:,.2f} USD" if dollars >= 1 else f"{dollars:.2g} USD"] if dollars else []
        told += [f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.2g} s"] if seconds else []
        if told:
            found.append(f"{row.name} {', '.join(told)}")
    return [f"1,000 samples take: {'; '.join(found)}."] if found else []


def sizes(decision: Decision) -> list[str]:
    """How large the objects are to each model, the same words once."""
    said: dict[str, list[str]] = {}
    for row in decision.rows:
        found = row.facts.get("resolution")
        if found is not None:
            said.setdefault(resolution(found), []).append(row.name)
    if len(said) == 1:
        return [f"{next(iter(said)).capitalize()}."]
    return [f"{', '.join(names)}: {text}." for text, names in said.items()]


def natives(decision: Decision) -> list[str]:
    """What a model scores where its replies are read in the notation that it speaks by itself."""
    found = []
    for row in decision.rows:
        told = row.facts.get("native")
        if told is not None:
            value = told["metrics"].get(decision.metric, {}).get("value")
            score = "undefined" if value is None else f"{100 * value:.1f} %"
            found.append(
                f"{row.name}: {decision.metric} {score} where the same replies are read as {told['notation']} "
                f"({told['source']}) instead of {told['prescribed']}."
            )
    return found


HOW = {"best-f1-on-valid": "best F1 on the validation part", "fixed": "fixed", "at-recall": "at a recall"}
"""Names of operating points in words."""


def points(decision: Decision) -> list[str]:
    """From which score boxes count, where not all do."""
    told = ((row.name, row.facts.get("operating_point") or {}) for row in decision.rows)
    return [
        f"{name}: boxes scored {point['min_score']:.3g} and higher count ({HOW[point['name']]})."
        for name, point in told
        if point.get("min_score") is not None
    ]


def at_recalls(decision: Decision) -> list[str]:
    """What models with confidences reach where they find as much as those without."""
    found = []
    for row in decision.rows:
        for told in row.facts.get("at_recall", ()):
            who = f"{row.name} at {told['beside']}'s recall ({told['recall']:.3f})"
            if told["min_score"] is None:
                found.append(f"{who}: it never finds as much.")
            else:
                figures = f"precision {told['precision']:.3f}, F1 {told['f1']:.3f}"
                found.append(f"{who}: {figures}, boxes scored {told['min_score']:.3g} and higher.")
    return found
