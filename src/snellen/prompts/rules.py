"""Class rules (reasoning chains) as text: WADE's nine fields, in three lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from snellen.core.errors import DataError

Chains: TypeAlias = Literal["full", "short", "none"]

FIELDS: Mapping[str, str] = {
    "primary_cue": "Primary cue",
    "observation": "Observation",
    "contrastive_rules": "Contrastive rules",
    "static_frame_disambiguation": "Static-frame disambiguation",
    "decision_rule": "Decision rule",
    "fallback_rule": "Fallback rule",
    "failure_mode": "Failure mode",
    "instance_note": "Instance note",
    "conclusion": "Conclusion",
}
"""The nine fields of a chain (WADE, Appendix B.2) and their headings; `instance_note` is optional."""

OPTIONAL = frozenset({"instance_note"})
SHORT = ("primary_cue", "contrastive_rules")
"""What the reasoning-guided regime gives per class: primary cue, confusable category, contrastive rule (C.2)."""


def check_rules(name: str, rules: Mapping[str, Any]) -> list[str]:
    """What is wrong with a class's chain: missing, empty and unknown fields, contrastive rules without their parts."""
    faults = [f"class {name!r}: no {field}" for field in FIELDS if field not in OPTIONAL and not rules.get(field)]
    faults += [f"class {name!r}: unknown field {field!r}" for field in rules if field not in FIELDS]
    contrasts = rules.get("contrastive_rules") or ()
    if not isinstance(contrasts, list | tuple):
        return [*faults, f"class {name!r}: contrastive_rules is a list of {{against, rule}}"]
    for i, item in enumerate(contrasts):
        if not isinstance(item, Mapping) or not item.get("against") or not item.get("rule"):
            faults.append(f"class {name!r}: contrastive rule {i + 1} needs 'against' and 'rule'")
    return faults


def rules_text(classes: Sequence[str], rules: Mapping[str, Mapping[str, Any]], *, chains: Chains = "short") -> str:
    """The rules of `classes`, a paragraph each; "" with chains `none`. DataError where a class has none."""
    if chains == "none":
        return ""
    missing = [name for name in classes if not rules.get(name)]
    if missing:
        raise DataError(f"no rules for the classes {', '.join(missing)}: put them into classes.yaml (rules:)")
    fields = FIELDS if chains == "full" else SHORT
    return "\n".join(f"{name}: {_chain(rules[name], fields)}" for name in classes)


def _chain(chain: Mapping[str, Any], fields: Sequence[str] | Mapping[str, str]) -> str:
    parts = []
    for field in fields:
        value = chain.get(field)
        if field == "contrastive_rules":
            parts += [f"Not to be confused with {item['against']}: {_sentence(item['rule'])}" for item in value or ()]
        elif value:
            parts.append(f"{FIELDS[field]}: {_sentence(value)}")
    return " ".join(parts)


def _sentence(text: object) -> str:
    return f"{str(text).strip().rstrip('.')}."
