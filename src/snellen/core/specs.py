"""Canonical descriptions: what a run was made of, as plain JSON, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from snellen.core.errors import SpecError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def canonical(value: Json) -> str:
    """`value` as JSON text with sorted keys and no spaces: equal values give equal text.

    Raises SpecError for NaN and infinities, which JSON cannot carry.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise SpecError(f"a spec must be finite plain JSON, got {value!r}") from error


def fingerprint(value: Json) -> str:
    """SHA-256 (64 hex digits) of `canonical(value)`."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


@dataclass(frozen=True)
class ModelSpec:
    """A model's name, `provider/name`, and its options. Keys and other secrets never stand in `options`."""

    provider: str
    name: str
    options: Mapping[str, Json] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}" if self.name else self.provider

    @classmethod
    def parse(cls, text: str, options: Sequence[str] = ()) -> ModelSpec:
        """`openai/my-vlm` and `["base_url=http://...", "concurrency=8"]`; values are read as JSON, else as text."""
        provider, _, name = text.strip().partition("/")
        if not provider:
            raise SpecError(f"a model is named provider/name, got {text!r}")
        return cls(provider, name, dict(assignment(option) for option in options))

    def to_json(self) -> dict[str, Json]:
        """The canonical form that the manifest stores."""
        return {"provider": self.provider, "name": self.name, "options": dict(self.options)}


def assignment(text: str) -> tuple[str, Json]:
    """`key=value` as a pair; `value` is read as JSON where it is JSON, else as text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SpecError(f"an option is written key=value, got {text!r}")
    try:
        parsed = json.loads(value)
    except json.JSONDecodeError:
        return key.strip(), value
    if isinstance(parsed, float) and not math.isfinite(parsed):
        return key.strip(), value
    return key.strip(), parsed
