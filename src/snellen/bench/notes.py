"""What stands under a decision: how large the objects are to the models, and other readings of their replies."""

from __future__ import annotations

from snellen.bench.decide import Decision
from snellen.evals.resolution import sentence as resolution


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
