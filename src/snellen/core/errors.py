"""The exception tree.

    SnellenError                    everything Snellen raises on purpose
    ├── InputError                  what the user gave is wrong (exit code 2)
    │   ├── DataError               a data file or picture: fact, expectation, place
    │   ├── SpecError               an unknown name or a bad option of a model, exam, format
    │   └── ShapeError              an array of the wrong shape or dtype
    ├── NotInstalledError           an extra is missing; the message names the line to type (exit code 2)
    ├── StoreError                  a run folder cannot be used as asked (exit code 3)
    ├── IncompleteError             answers are missing, so there is no score (exit code 4)
    └── GuardError                  two results must not be compared (exit code 5)

What a *model* says badly is not an exception but a `Reading`; what the *world* does to a request is a `Failed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SnellenError(Exception):
    """Everything Snellen raises on purpose."""

    exit_code = 1


class InputError(SnellenError):
    """What the user gave is wrong."""

    exit_code = 2


class DataError(InputError):
    """A data file or picture is not what it should be."""


class SpecError(InputError):
    """An unknown name, or a bad option, of a model, exam, format or metric."""


class ShapeError(InputError, ValueError):
    """An array has the wrong shape or dtype."""


class NotInstalledError(SnellenError):
    """A heavy part is not installed."""

    exit_code = 2

    @classmethod
    def of(cls, package: str, extra: str) -> NotInstalledError:
        """The error for `package`, which comes with `extra`; it names the line to type."""
        return cls(f"{package} is not installed. Type:  pip install 'snellen[{extra}]'")


class StoreError(SnellenError):
    """A run folder cannot be used as asked."""

    exit_code = 3


class IncompleteError(SnellenError):
    """Answers are missing, so there is no score."""

    exit_code = 4


class GuardError(SnellenError):
    """Two results must not be compared."""

    exit_code = 5


def unknown(kind: str, name: str, known: Iterable[str]) -> SpecError:
    """The error for a `name` that stands in no table: it says what is close and what there is."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return SpecError(f"unknown {kind} {name!r}.{hint} Known: {', '.join(names)}")
