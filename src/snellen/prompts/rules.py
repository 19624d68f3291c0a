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

SHORT = ("primary_cue", "contrastive_rules")
"""What the reasoning-guided regime gives per class: primary cue, confusable category, contrastive rule (C.2)."""


def rules_text(classes: Sequence[str], rules: Mapping[str, Mapping[str, Any]], *, chains: Chains = "short") -> str:
    """The rules of `classes`, a paragraph each; "" with chains `none`. Fields of one's own follow the nine in `full`.

    DataError where a class has none of this length, or a contrastive rule is no {against, rule}.
    """
    if chains == "none":
        return ""
    texts = {name: _chain(name, rules.get(name, {}), chains) for name in classes}
    missing = [name for name, text in texts.items() if not text]
    if missing:
        wanted = "" if chains == "full" else f", {chains} takes {' and '.join(SHORT)}"
        raise DataError(f"no rules for the classes {', '.join(missing)}: put them into classes.yaml (rules:{wanted})")
    return "\n".join(f"{name}: {text}" for name, text in texts.items())


def _chain(name: str, chain: Mapping[str, Any], chains: Chains) -> str:
    parts = []
    for field in SHORT if chains == "short" else dict.fromkeys([*FIELDS, *chain]):
        value = chain.get(field)
        if field == "contrastive_rules":
            parts += [_contrast(name, item) for item in value or ()]
        elif value:
            parts.append(f"{FIELDS.get(field) or field.replace('_', ' ').capitalize()}: {_sentence(value)}")
    return " ".join(parts)


def _contrast(name: str, item: object) -> str:
    if not isinstance(item, Mapping) or not item.get("against") or not item.get("rule"):
        raise DataError(f"a contrastive rule is {{against: CLASS, rule: TEXT}}, got {item!r}: class {name!r}")
    return f"Not to be confused with {item['against']}: {_sentence(item['rule'])}"


def _sentence(text: object) -> str:
    return f"{str(text).strip().rstrip('.')}."
