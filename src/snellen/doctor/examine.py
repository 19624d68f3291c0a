"""`snellen doctor`: everything about a data set that silently changes a score, where it is, and what it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.detections import BoxTable
from snellen.core.errors import SpecError
from snellen.datasets.check import check
from snellen.datasets.findings import Finding, counted, listed, several
from snellen.datasets.load import parts_of, settle
from snellen.datasets.part import Part
from snellen.datasets.predictions import read_predictions
from snellen.datasets.raw import Raw
from snellen.doctor.effects import MANY, Effect, effects
from snellen.doctor.leaks import Watched, between, sources_shared, watch, within
from snellen.doctor.mend import mend
from snellen.doctor.pictures import Seen, look_at, see


@dataclass(frozen=True, eq=False)
class Examined:
    """A part: what its files and pictures say, its findings, and what each kind of fault does."""

    part: Part
    raw: Raw
    seen: Seen
    watched: Watched | None
    findings: tuple[Finding, ...]
    effects: Mapping[str, Sequence[Effect]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Examination:
    """The whole: its parts, and findings between them."""

    source: Path
    format: str
    parts: tuple[Examined, ...]
    between: tuple[Finding, ...] = ()

    @property
    def findings(self) -> list[tuple[str, Finding, Sequence[Effect]]]:
        """`(part, finding, effects)`, worst first."""
        rows: list[tuple[str, Finding, Sequence[Effect]]] = [("", finding, ()) for finding in self.between]
        for examined in self.parts:
            first = set()
            for finding in examined.findings:
                told = examined.effects.get(finding.code, ()) if finding.code not in first else ()
                first.add(finding.code)
                rows.append((examined.part.name, finding, told))
        return sorted(rows, key=lambda row: ("error", "warning", "note").index(row[1].severity))

    @property
    def counts(self) -> dict[str, int]:
        """How many errors, warnings and notes."""
        counts = Counter(finding.severity for _, finding, _ in self.findings)
        return {"errors": counts["error"], "warnings": counts["warning"], "notes": counts["note"]}

    def lines(self) -> list[str]:
        """Lines for people."""
        lines = [f"{self.source}: {self.format}"]
        for e in self.parts:
            name = f"  {e.part.name}: " if e.part.name else "  "
            sizes = {"images": len(e.raw.files), "boxes": len(e.raw.boxes), "classes": len(e.raw.classes)}
            lines.append(name + ", ".join(counted(n, what) for what, n in sizes.items()))
        for part, finding, told in self.findings:
            lines.append(f"{finding.severity:8}{f'{part}: ' if part else ''}{finding.message} [{finding.code}]")
            lines += [f"        {effect}" for effect in told]
        counts = self.counts
        return [*lines, ", ".join(f"{n} {what[:-1] if n == 1 else what}" for what, n in counts.items())]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "source": str(self.source),
            "format": self.format,
            "parts": [
                {
                    "name": examined.part.name,
                    "images": len(examined.raw.files),
                    "boxes": len(examined.raw.boxes),
                    "classes": list(examined.raw.classes),
                    "sha256": examined.raw.sha256,
                }
                for examined in self.parts
            ],
            **self.counts,
            "findings": [
                {"part": part, **finding.to_json(), "effects": [effect.to_json() for effect in told]}
                for part, finding, told in self.findings
            ],
        }


def examine(
    path: str | Path,
    *,
    format: str | None = None,
    split: str = "all",
    images: str | Path | None = None,
    predictions: str | Path | None = None,
    pictures: bool = True,
    effects_of_all: bool | None = None,
) -> Examination:
    """Examines the data set at `path`: every part, or the one named `split`.

    predictions: a file of predictions of the one part examined: the effects are told of them too. pictures: read every
    picture whole (damage, orientation, doubles). effects_of_all: compute AP with and without each kind of fault;
    default: where there are at most `MANY` boxes.
    """
    source = Path(path)
    parts = parts_of(source, format=format, split=split, images=images)
    if predictions is not None and len(parts) > 1:
        names = ", ".join(part.name for part in parts)
        raise SpecError(f"predictions are of one part, there are {names}: say which with --split (split=)")
    examined = [_examine(part, pictures=pictures) for part in parts]
    found = [*_classes_differ(examined), *sources_shared([(e.part.name, e.raw) for e in examined])]
    found += between([e.watched for e in examined if e.watched])
    boxes = sum(len(e.raw.boxes) for e in examined)
    if effects_of_all or (effects_of_all is None and boxes <= MANY):
        examined = [_with_effects(e, predictions) for e in examined]
    return Examination(source, examined[0].raw.format, tuple(examined), tuple(found))


def _examine(part: Part, *, pictures: bool) -> Examined:
    raw = part.read(extras=True)
    findings = [*check(raw), *part.describe(raw.classes)[1], *_plain(raw)]
    if not pictures:
        return Examined(part, raw, Seen({}, {}), None, _sorted(findings))
    seen, watched = see(raw), watch(part.name, raw)
    seen = Seen(seen.headers, {**seen.unreadable, **watched.broken})
    own = [finding for finding in findings if finding.code != "unreadable-picture"]  # a reader's: told by `look_at`
    return Examined(part, raw, seen, watched, _sorted([*own, *look_at(raw, seen), *within(watched)]))


def _sorted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    order = ("error", "warning", "note")
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: order.index(finding.severity)))


def _plain(raw: Raw) -> list[Finding]:
    """What is no fault, and yet changes scores in tools that do not expect it."""
    where = str(raw.source)
    empty = len(raw.files) - len(np.unique(raw.image[raw.image >= 0]))
    fractional = int((np.isfinite(raw.boxes).all(axis=1) & (raw.boxes != np.round(raw.boxes)).any(axis=1)).sum())
    used = set(np.unique(raw.label).tolist())
    unused = [name for i, name in enumerate(raw.classes) if i not in used]
    above = {str(note.get("supercategory") or "") for note in raw.class_notes}
    parents = [name for i, name in enumerate(raw.classes) if i in used and name in above]
    zero = len(raw.image_ids) and (0 in raw.image_ids)
    n, m = len(raw.files), len(raw.boxes)
    rows = (
        (
            "images-without-objects",
            empty,
            f"{empty:,} of {n:,} images have no objects: predictions there count as wrong",
        ),
        ("fractional-boxes", fractional, f"{fractional:,} of {m:,} boxes are not whole pixels: do not round them"),
        ("image-id-zero", int(bool(zero)), "an image has the id 0"),
        (
            "classes-without-objects",
            len(unused),
            f"{counted(len(unused), 'classes have')} no objects here: {listed(unused)}",
        ),
    )
    notes = [Finding(code, "note", text, count, where) for code, count, text in rows if count]
    text = "classes with boxes of their own have children: does a child's box need one of the parent too"
    return [*several([("annotated-parent", "warning", parents, text)], where), *notes]


def _classes_differ(examined: Sequence[Examined]) -> list[Finding]:
    first = examined[0]
    found = []
    for other in examined[1:]:
        if other.raw.classes != first.raw.classes:
            odd = sorted(set(first.raw.classes) ^ set(other.raw.classes))
            text = f"{other.part.name} has other classes than {first.part.name}" + (
                f": {listed(odd)}" if odd else ", in another order"
            )
            found.append(Finding("classes-differ", "error", text, max(1, len(odd)), str(other.raw.source), tuple(odd)))
    return found


def _with_effects(examined: Examined, predictions: str | Path | None) -> Examined:
    raw, seen = examined.raw, examined.seen
    given = None if predictions is None else _given(examined, predictions)
    codes = dict.fromkeys(f.code for f in examined.findings if f.severity != "note" or f.code == "unused-root-category")
    faults = {finding.code for finding in examined.findings}
    told = {code: effects(raw, seen, code, faults=faults, given=given) for code in codes}
    return replace(examined, effects=told)


def _given(examined: Examined, predictions: str | Path) -> BoxTable:
    """The predictions, read for the mended truth."""
    faults = {finding.code for finding in examined.findings}
    mended = settle(mend(examined.raw, examined.seen, faults), allow=faults)
    return read_predictions(predictions, mended).table
