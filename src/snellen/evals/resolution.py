"""The resolution audit: how large the objects are in what the model really looked at, in pixels and vision tokens.

An object that covers less than one vision token shares its only token with its surroundings; how often that is so
belongs beside the score, since no prompt mends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from snellen.core.pictures import Size, fit
from snellen.core.specs import ModelSpec
from snellen.core.stages import Reply
from snellen.core.tables import Tables
from snellen.models.table import SPEAKING
from snellen.runs.cost import picture_tokens
from snellen.runs.store import Run


@dataclass(frozen=True)
class Resolution:
    """What is known of the objects' size. px are square roots of areas; tokens are areas, 1 = one vision token.

    median_px: as the pictures lie there; median_px_seen: after the resize. sizes: where the size seen is from: `seen`
    (the model said so), `sent`, `max_pixels`, or `as stored`; the weakest of any picture. px_per_token: side of one
    token, median over pictures. Tokens are None for what has none (detectors, observers, imported predictions).
    """

    objects: int
    pictures: int
    sizes: str
    median_px: float
    median_px_seen: float
    px_per_token: float | None = None
    median_tokens: float | None = None
    under_one_token: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return asdict(self)


SOURCES = ("seen", "sent", "max_pixels", "as stored")
"""Where the size that a model saw is from, the best first."""


def audit(run: Run, tables: Tables) -> Resolution | None:
    """The audit of a scored run about boxes; None where there are no true boxes, or no picture's size is known."""
    table, outcomes = tables.detections, tables.outcomes
    if table is None or "width" not in outcomes:
        return None
    rows = np.flatnonzero(table["truth"] & ~table["crowd"] & (outcomes["width"][table["sample"]] > 0))
    if not len(rows):
        return None
    spec = run.manifest.model_spec
    sizes, source, worded = _seen(run, tables, spec)
    tokens = picture_tokens(spec) if spec.provider in SPEAKING and worded else None
    stored = (outcomes["width"] * outcomes["height"]).astype(np.float64)
    pixels = np.array([size.pixels for size in sizes], dtype=np.float64)
    sample = table["sample"][rows]
    sides = np.clip([table["x2"][rows] - table["x1"][rows], table["y2"][rows] - table["y1"][rows]], 0, None)
    areas = np.prod(sides, axis=0)
    shares = areas / stored[sample]
    found = Resolution(
        len(rows),
        len(np.unique(sample)),
        source,
        float(np.median(np.sqrt(areas))),
        float(np.median(np.sqrt(shares * pixels[sample]))),
    )
    if tokens is None:
        return found
    counts = np.array([tokens(size) for size in sizes])
    covered = shares * counts[sample]
    return replace(
        found,
        px_per_token=float(np.median(np.sqrt(pixels / counts))),
        median_tokens=float(np.median(covered)),
        under_one_token=float(np.mean(covered < 1)),
    )


def _seen(run: Run, tables: Tables, spec: ModelSpec) -> tuple[list[Size], str, bool]:
    """The size of each sample's picture as the model saw it, where the weakest of them is from, and whether the model
    answered in words: detectors, which `hf` has too, have no vision tokens.
    """
    said: dict[str, tuple[Size, str]] = {}
    worded = True
    for key, answer in run.replies():
        worded &= not (isinstance(answer, Reply) and answer.detections is not None)
        if isinstance(answer, Reply) and key.sample not in said:
            if answer.seen:
                said[key.sample] = Size(*answer.seen[-1]), "seen"
            elif answer.sent:
                said[key.sample] = Size(*answer.sent[-1]), "sent"
    limit = spec.options.get("max_pixels")
    limit = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    outcomes = tables.outcomes
    sizes, sources = [], set()
    for name, width, height in zip(*(outcomes[n].tolist() for n in ("sample", "width", "height")), strict=True):
        stored = Size(max(1, int(width)), max(1, int(height)))
        size, source = said.get(name) or (fit(stored, limit), "as stored" if limit is None else "max_pixels")
        sizes.append(size)
        sources.add(source)
    return sizes, max(sources, key=SOURCES.index), worded


def sentence(found: Mapping[str, Any]) -> str:
    """The audit in words, from what results hold under `resolution`."""
    text = f"objects: median {found['median_px_seen']:.0f} px as seen"
    if abs(found["median_px_seen"] - found["median_px"]) >= 0.5:
        text += f" ({found['median_px']:.0f} px as stored)"
    if found.get("median_tokens") is not None:
        text += (
            f", {found['median_tokens']:.1f} vision tokens of {found['px_per_token']:.0f} px; "
            f"{100 * found['under_one_token']:.1f} % are smaller than one token"
        )
    return text
