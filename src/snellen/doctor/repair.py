"""Repairs a data set into a new place, only when asked, and says what was done and what was left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from snellen.core.errors import DataError
from snellen.datasets.check import check
from snellen.datasets.dataset import Dataset
from snellen.datasets.findings import BLOCKING, Finding
from snellen.datasets.join import join
from snellen.datasets.load import settle
from snellen.datasets.raw import Raw
from snellen.datasets.write import WRITERS, Written, write_data
from snellen.doctor.examine import Examination, Examined
from snellen.doctor.mend import REPAIRS, mend


@dataclass(frozen=True)
class Repaired:
    """done: code -> what was done. left: findings that need a person's decision. written: what was written."""

    done: dict[str, str]
    left: tuple[Finding, ...]
    written: Written

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "folder": str(self.written.folder),
            "done": self.done,
            "left": [finding.to_json() for finding in self.left],
            "not_carried": [finding.to_json() for finding in self.written.findings],
        }


def repair(
    examination: Examination,
    out: str | Path,
    *,
    format: str | None = None,
    pictures: Literal["copy", "link", "none"] = "copy",
) -> Repaired:
    """Writes a mended copy into the new folder `out`, in its own format where that can be written, else COCO.

    DataError where a fault without a repair keeps the data set from being loaded at all.
    """
    codes = {finding.code for _, finding, _ in examination.findings}
    raws = {examined.part.name: _mended(examined, codes) for examined in examination.parts}
    for _, found in raws.values():
        codes |= found
    done = {code: REPAIRS[code].does for code in REPAIRS if code in codes}
    left = [f for _, f, _ in examination.findings if f.code not in REPAIRS and f.severity != "note"]
    stuck = [finding for finding in left if finding.code in BLOCKING]
    if stuck:
        raise DataError(f"this needs a decision before anything can be written: {stuck[0]}")
    parts = {e.part.name: _settled(raws[e.part.name][0], e) for e in examination.parts}
    dataset = next(iter(parts.values())) if len(parts) == 1 else _joined(parts, examination.source)
    name = format or (examination.format if examination.format in WRITERS else "coco")
    return Repaired(done, tuple(left), write_data(dataset, out, format=name, pictures=pictures))


def _mended(examined: Examined, codes: set[str]) -> tuple[Raw, set[str]]:
    """What the files say, mended, and all codes that were: what comes to light only then is mended too.

    Sizes that were missing show boxes that leave their image; images that become one hold boxes twice.
    """
    raw, codes = mend(examined.raw, examined.seen, codes), set(codes)
    for _ in range(len(REPAIRS)):
        more = {found.code for found in check(replace(raw, findings=())) if found.severity != "note"}
        more = (more & set(REPAIRS)) - codes
        if not more:
            break
        codes |= more
        raw = mend(raw, examined.seen, more)
    return raw, codes


def _settled(raw: Raw, examined: Examined) -> Dataset:
    said = [finding.code for finding in raw.findings]
    return settle(replace(raw, findings=()), allow=said, part=examined.part)


def _joined(parts: dict[str, Dataset], source: Path) -> Dataset:
    return join(parts, name=source.name, source=source)


def told(repaired: Repaired) -> Sequence[str]:
    """Lines for people."""
    lines = [f"done: {what} [{code}]" for code, what in repaired.done.items()] or ["nothing had to be repaired"]
    lines += [f"left: {finding.message} [{finding.code}]: {finding.where}" for finding in repaired.left]
    lines += [f"note: {finding.message}" for finding in repaired.written.findings]
    for name, (images, boxes) in repaired.written.parts.items():
        lines.append(f"wrote {images:,} pictures with {boxes:,} boxes{f' ({name})' if name else ''}")
    return [*lines, f"in {repaired.written.folder}"]
