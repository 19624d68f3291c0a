"""Class names: what counts as the same name.

Case, spaces, underscores, hyphens, punctuation around the name and the Unicode form are safe to ignore; plurals and
parts of names are not ("bottles" and "bottle" are not "plastic bottle"). Two classes that fall together are refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from snellen.core.errors import DataError

_GAPS = re.compile(r"[\s_\-\u2010-\u2015]+")
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


def normal(name: str) -> str:
    """The form in which class names are compared. A name of punctuation alone stays as it is."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    folded = unicodedata.normalize("NFC", folded)
    bare = _AROUND.sub("", folded)
    return _GAPS.sub(" ", bare or folded).strip()


def collisions(classes: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of class names that fall together."""
    seen: dict[str, str] = {}
    clashes = []
    for name in classes:
        key = normal(name)
        if key in seen:
            clashes.append((seen[key], name))
        else:
            seen[key] = name
    return clashes


class ClassIndex:
    """Finds a class by any spelling of its name or aliases. DataError where two classes fall together."""

    def __init__(self, classes: Sequence[str], *, aliases: Mapping[str, Sequence[str]] | None = None) -> None:
        clashes = collisions(classes)
        if clashes:
            first, second = clashes[0]
            raise DataError(f"classes {first!r} and {second!r} are one name once case, spaces and hyphens are ignored")
        self.classes = tuple(classes)
        self._index = {normal(name): i for i, name in enumerate(classes)}
        for name, others in (aliases or {}).items():
            for other in others:
                found = self._index.setdefault(normal(other), self._index[normal(name)])
                if found != self._index[normal(name)]:
                    raise DataError(f"alias {other!r} of class {name!r} already means {classes[found]!r}")

    def __call__(self, label: str) -> int:
        """The index of the class called `label`, or -1."""
        return self._index.get(normal(label), -1)
