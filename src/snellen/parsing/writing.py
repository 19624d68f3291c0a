"""What a format writes: an instance with its numbers already in the notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from snellen.core.errors import SpecError


@dataclass(frozen=True)
class Line:
    """One instance to be written: a label and four numbers (whole ones as int)."""

    label: str
    numbers: tuple[int | float, ...]
    score: float | None = None
    notes: Mapping[str, object] = field(default_factory=dict)


def writable(label: str, *, without: Iterable[str], form: str) -> str:
    """The label, if the format can carry it: SpecError where it holds signs that would end it."""
    bad = [sign for sign in without if sign in label]
    if bad or not label.strip() or label != label.strip():
        raise SpecError(
            f"the format {form} cannot carry the label {label!r}: it must hold text without {' '.join(without)!r} and "
            "without blanks around it"
        )
    return label
