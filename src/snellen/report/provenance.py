"""Sections that every report ends with: failed requests, replies that could not be read, and the manifests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from snellen.report.blocks import Block, Fold, Section, Text
from snellen.report.grids import Cell, Column, Grid
from snellen.report.inputs import View

SHOWN = 50


def failures(views: Sequence[View]) -> Section:
    """What the models said badly (statuses, reasons) and what the world did (failed requests)."""
    blocks: list[Block] = [_statuses(views)]
    for view in views:
        reasons = Counter(reason for reason in view.outcomes["reason"].tolist() if reason)
        if reasons:
            pairs = tuple((f"{count:,} x", reason) for reason, count in reasons.most_common(SHOWN))
            blocks.append(Fold(f"Why replies of {view.title} could not be read whole", pairs))
        failed = view.failures
        if failed:
            title = f"Requests of {view.title} that failed ({len(failed):,}; the first {min(SHOWN, len(failed))} shown)"
            pairs = tuple(
                (f"{key.sample} {key.call}".strip(), f"{reply.cause}: {reply.message} ({reply.attempts} attempts)")
                for key, reply in failed[:SHOWN]
            )
            blocks.append(Fold(title, pairs))
    return Section("failures", "Failures", tuple(blocks))


def _statuses(views: Sequence[View]) -> Grid:
    statuses = ("ok", "malformed", "truncated", "refused")
    rows: list[tuple[Cell, ...]] = []
    for view in views:
        status, salvage = Counter(view.outcomes["status"].tolist()), Counter(view.outcomes["salvage"].tolist())
        salvaged = sum(count for grade, count in salvage.items() if grade != "intact")
        counts = (*(status.get(s, 0) for s in statuses), salvaged, int(view.outcomes["unread"].sum()))
        rows.append((view.title, *counts, len(view.failures)))
    names = ("Read", "Malformed", "Cut off", "Refused", "Salvaged", "Items not read", "Requests failed")
    columns = (Column("Run"), *(Column(name, "count") for name in names))
    note = (
        "What a model says badly is a reply and is scored as one. A failed request is what the world did: it is never "
        "scored, and `snellen retry` asks again."
    )
    return Grid("statuses", "Replies and requests", columns, tuple(rows), note)


def manifests(views: Sequence[View]) -> Section:
    """How to do each run again."""
    blocks: list[Block] = []
    for view in views:
        manifest = view.run.manifest
        chosen, notes = manifest.selection, manifest.notes
        which = "all" if chosen.everything else f"first {chosen.limit}" if chosen.limit else (
            f"{chosen.sample} drawn with seed {chosen.seed}")  # fmt: skip
        pairs = (
            ("run", view.run.path),
            ("model", json.dumps(manifest.model, ensure_ascii=False)),
            ("task", json.dumps(manifest.task, ensure_ascii=False)),
            ("samples", f"{manifest.samples:,} ({which}), {manifest.requests:,} requests, draws {manifest.draws}"),
            ("made", f"{manifest.created} ({manifest.kind})"),
            ("versions", ", ".join(f"{name} {number}" for name, number in manifest.versions.items())),
            ("hardware", ", ".join(f"{name} {value}" for name, value in manifest.hardware.items())),
            *((f"sha256 {name}", digest) for name, digest in manifest.data.items()),
            *((f"note: {name}", json.dumps(value, default=str, ensure_ascii=False)) for name, value in notes.items()),
            *((f"fact: {name}", json.dumps(value, default=str)) for name, value in view.results.facts.items()),
            *((f"guard: {name}", json.dumps(value, default=str)) for name, value in view.results.guard.items()),
        )
        blocks.append(Fold(view.title, pairs))
    blocks.append(Text("Everything here can be computed again from the runs' folders without the models.", "note"))
    return Section("manifest", "What was run", tuple(blocks))
