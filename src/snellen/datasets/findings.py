"""Findings: what is odd or wrong in a data set, with its place. Loading refuses errors; `snellen doctor` lists all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from snellen.core.errors import DataError

Severity: TypeAlias = Literal["error", "warning", "note"]

SHOWN = 3
"""Examples named in a message."""

BLOCKING = frozenset(
    {
        "duplicate-image-id",
        "duplicate-file",
        "shared-picture",
        "duplicate-annotation-id",
        "duplicate-category-id",
        "colliding-classes",
        "unknown-image",
        "unknown-category",
        "malformed-box",
        "malformed-line",
        "malformed-file",
        "no-labels",
        "non-finite-box",
        "inverted-box",
    }
)
"""Faults with which a data set is not loaded unless they are allowed; the rest is loaded and reported."""


@dataclass(frozen=True)
class Finding:
    """One kind of fault in one place (a file, a part of the data set).

    severity: an `error` changes the score of a perfect model, a `warning` may, here or in other tools; a `note` does
    not. code: its kind. message: fact, expectation, examples. count: how many.
    where: file or part. examples: the ids, names or lines concerned (all of them up to a thousand).
    """

    code: str
    severity: Severity
    message: str
    count: int = 1
    where: str = ""
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity}: {self.message} [{self.code}]" + (f": {self.where}" if self.where else "")

    def to_json(self) -> dict[str, object]:
        """As plain JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "count": self.count,
            "message": self.message,
            "where": self.where,
            "examples": list(self.examples),
        }


def listed(items: Sequence[object], *, shown: int = SHOWN) -> str:
    """`a, b, c and 12 more`."""
    text = ", ".join(str(item) for item in items[:shown])
    return text + (f" and {len(items) - shown:,} more" if len(items) > shown else "")


_ONE = {
    "boxes": "box", "annotations": "annotation", "pictures": "picture", "images": "image", "lines": "line",
    "files": "file", "classes": "class", "sections": "section", "records": "record", "objects": "object",
    "chains": "chain", "pairs": "pair", "rows": "row", "are": "is", "were": "was", "have": "has", "lack": "lacks",
    "hold": "holds", "their": "its", "give": "gives", "they": "it", "write": "writes",
    "count": "counts", "reach": "reaches", "areas": "area", "places": "place", "regions": "region",
    "sides": "side", "runs": "run", "requests": "request",
}  # fmt: skip


def counted(n: int, what: str) -> str:
    """`12 boxes leaving their image`, `1 box leaving its image`."""
    if n != 1:
        return f"{n:,} {what}"
    return "1 " + " ".join(_ONE.get(word, word) for word in what.split(" "))


def several(rows: Iterable[tuple[str, Severity, Sequence[object], str]], where: str) -> list[Finding]:
    """A finding for each row (code, severity, items, what) that has items: "3 lines cannot be read: a, b, c"."""
    return [
        Finding(code, severity, f"{counted(len(items), what)}: {listed(items)}", len(items), where, kept(items))
        for code, severity, items, what in rows
        if items
    ]


def kept(items: Sequence[object]) -> tuple[str, ...]:
    """The items that a finding holds."""
    return tuple(str(item) for item in items[:1000])


def refuse(findings: Iterable[Finding], *, allow: Collection[str] = ()) -> None:
    """DataError where there are findings that block loading and are not among `allow`."""
    errors = [finding for finding in findings if finding.code in BLOCKING and finding.code not in allow]
    if not errors:
        return
    lines = [f"{finding.message} [{finding.code}]" for finding in errors]
    places = list(dict.fromkeys(finding.where for finding in errors if finding.where))
    head = "; ".join(lines) + (f": {listed(places)}" if places else "")
    flags = " --allow ".join(dict.fromkeys(finding.code for finding in errors))
    error = DataError(head)
    error.add_note(
        f"`snellen doctor DATA --repair NEW` writes a mended copy; `snellen score` and `snellen data` load it all the "
        f"same with --allow {flags} (load_data with allow=)"
    )
    raise error
