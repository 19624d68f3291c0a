"""What the doctor found, as tests ask it."""

from __future__ import annotations

from typing import Any

from snellen.doctor.examine import Examination


def by_code(found: Examination, part: str | None = None) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for name, finding, effects in found.findings:
        if part is None or name == part:
            out.setdefault(finding.code, []).append((finding, effects))
    return out


def errors(found: Examination) -> set[str]:
    return {finding.code for _, finding, _ in found.findings if finding.severity == "error"}
