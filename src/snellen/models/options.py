"""Options of a model, read one by one with their types; what nobody asked for is refused at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from snellen.core.errors import SpecError, unknown
from snellen.core.specs import ModelSpec

SECRET = frozenset({"api_key", "apikey", "authorization", "key", "password", "secret", "token"})
"""Names under which no option stands, nor a field inside one (`extra`): options are stored with every run."""


class Options:
    """The options of a spec. Each method gives one of them, or its default; SpecError where the type is wrong."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._known: list[str] = []
        inside = [name for value in spec.options.values() if isinstance(value, Mapping) for name in value]
        for name in (*spec.options, *inside):
            if name.casefold() in SECRET:
                raise SpecError(f"{name} is no option: keys come from the environment (key_env=NAME says from where)")

    def text(self, name: str, default: str) -> str:
        """A text."""
        found = self._get(name, default)
        if not isinstance(found, str):
            raise self._wrong(name, "a text", found)
        return found

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        found = self._get(name, default)
        if not isinstance(found, bool):
            raise self._wrong(name, "true or false", found)
        return found

    def whole(self, name: str, default: int | None, *, low: int = 1) -> int | None:
        """A whole number of at least `low`, or the default."""
        found = self._get(name, default)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int) or found < low:
            raise self._wrong(name, f"a whole number of at least {low}", found)
        return found

    def number(self, name: str, default: float | None, *, low: float, high: float = math.inf) -> float | None:
        """A number from `low` to `high`, or the default; null takes it away."""
        found = self._get(name, default)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not low <= found <= high:
            raise self._wrong(name, f"a number from {low:g} to {high:g}", found)
        return float(found)

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON object; none by default."""
        found = self._get(name, {})
        if not isinstance(found, dict):
            raise self._wrong(name, "a JSON object", found)
        return dict(found)

    def present(self, name: str, value: Any) -> dict[str, Any]:
        """`{name: value}`, or nothing for None."""
        return {} if value is None else {name: value}

    def done(self, *, aside: Sequence[str] = ()) -> None:
        """SpecError for an option that was not asked for; those `aside` belong to others."""
        for name in self._spec.options:
            if name not in self._known and name not in aside:
                raise unknown(f"option of {self._spec.provider}", name, [*self._known, *aside])

    def _get(self, name: str, default: Any) -> Any:
        self._known.append(name)
        return self._spec.options.get(name, default)

    def _wrong(self, name: str, expected: str, found: Any) -> SpecError:
        return SpecError(f"option {name} of {self._spec} must be {expected}, got {found!r}")
