"""Galleries: pictures beside what was asked, answered and true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from snellen.core.stages import Failed, Key, Reply
from snellen.core.tables import Table
from snellen.report.blocks import Block, Gallery, Section, Text
from snellen.report.box_kinds import WORDS
from snellen.report.boxes import Boxes
from snellen.report.inputs import View
from snellen.report.thumbnails import Cabinet

SHARES = (("wrong", 0.55), ("other", 0.15), ("right", 0.3))
"""What the examples of a kind of question are made of, as far as there is enough of each."""

REPLY_SHOWN, BOX_REPLY_SHOWN = 2000, 600
"""Characters of a reply that the page shows, beside answers and beside boxes (of which there are thousands)."""


def answers(views: Sequence[View], cabinet: Cabinet, most: int) -> Section:
    """Examples of closed answers, a gallery per run."""
    blocks: list[Block] = []
    for view in views:
        chosen = choose(view, most)
        data = _answers(view, chosen, cabinet)
        if len(views) > 1:
            blocks.append(Text(view.name, "heading"))
        blocks.append(Gallery(view.slug, "answers", data))
    lead = "Some of what was asked: mistakes first, replies that name no option, and some that are right."
    return Section("examples", "Examples", tuple(blocks), lead)


def boxes(runs: Sequence[Boxes], cabinet: Cabinet, most: int) -> Section:
    """Pictures with truth and predictions overlaid, a gallery per run; those with most errors are kept first."""
    blocks: list[Block] = []
    for run in runs:
        if len(runs) > 1:
            blocks.append(Text(run.view.name, "heading"))
        blocks.append(Gallery(run.view.slug, "boxes", _boxes(run, cabinet, most)))
    return Section("pictures", "Pictures", tuple(blocks))


def _boxes(run: Boxes, cabinet: Cabinet, most: int) -> dict[str, Any]:
    view, instances = run.view, run.instances
    outcomes, sample = view.outcomes, instances.table["sample"]
    kind = run.kinds.kind
    wrong = (instances.predicted & (kind != "hit")) | (instances.truth & (kind == "miss"))
    errors = np.bincount(sample[wrong], minlength=len(outcomes)) + outcomes["unread"]
    kept = np.sort(np.argsort(-errors, kind="stable")[:most])
    samples = outcomes["sample"][kept].tolist()
    pictures = cabinet.pictures(view.task, samples)
    replies = view.replies_to(samples)
    order = np.argsort(sample, kind="stable")
    starts = np.searchsorted(sample[order], np.arange(len(outcomes) + 1))
    items = []
    for row, name in zip(kept.tolist(), samples, strict=True):
        rows = order[starts[row] : starts[row + 1]]
        small = pictures.found.get(name)
        reply = _text(replies.get(name, ()))
        items.append({
            "id": name,
            "picture": small.address if small else None,
            "missing": pictures.missing.get(name, ""),
            "size": [small.width, small.height] if small else _extent(view, row, rows),
            "boxes": [_box(run, i) for i in rows.tolist() if _shown(run, i)],
            "errors": int(errors[row]),
            **({} if outcomes["status"][row] == "ok" else {"status": str(outcomes["status"][row])}),
            **({"why": str(outcomes["reason"][row])} if outcomes["reason"][row] else {}),
            **({"reply": reply} if reply else {}),
        })  # fmt: skip
    note = f"Shown: {len(items):,} of {len(outcomes):,} pictures" + (
        ", those with most errors." if len(items) < len(outcomes) else "."
    )
    return {
        "note": " ".join(filter(None, (note, pictures.problem))),
        "labels": [*view.tables.classes, "(unknown)"],
        "kinds": list(BOX_KINDS),
        "words": dict(WORDS),
        "items": items,
    }


BOX_KINDS = (*WORDS, "crowd", "")


def _shown(run: Boxes, row: int) -> bool:
    return bool(run.instances.table["truth"][row] or run.kinds.kind[row])


def _box(run: Boxes, row: int) -> list[Any]:
    """`[is it a truth, x1, y1, x2, y2, label, kind, score]`, px; without a score where there is none."""
    table = run.instances.table
    kind = "crowd" if table["crowd"][row] else str(run.kinds.kind[row])
    label, score = int(table["label"][row]), float(table["score"][row])
    corners = [round(float(table[side][row]), 1) for side in ("x1", "y1", "x2", "y2")]
    box: list[Any] = [int(table["truth"][row]), *corners, label if label >= 0 else len(run.view.tables.classes)]
    return [*box, BOX_KINDS.index(kind), *([] if np.isnan(score) else [round(score, 3)])]


def _extent(view: View, row: int, rows: np.ndarray[Any, np.dtype[np.int64]]) -> list[int]:
    """The size of a picture that is not at hand: as the tables know it, else what holds all boxes."""
    outcomes, table = view.outcomes, view.tables.instances
    if "width" in outcomes and "height" in outcomes and outcomes["width"][row] > 0:
        return [int(outcomes["width"][row]), int(outcomes["height"][row])]
    ends = [table[side][rows] for side in ("x2", "y2")]
    return [max(1, int(np.ceil(end.max(initial=1.0)))) for end in ends]


def _text(replies: Sequence[tuple[Key, Reply | Failed]]) -> str:
    """What was said, where something was said in words."""
    spoken = [(key, reply) for key, reply in replies if isinstance(reply, Failed) or reply.text]
    return said(spoken, most=BOX_REPLY_SHOWN) if spoken else ""


def choose(view: View, most: int) -> list[int]:
    """Rows of the outcomes, spread evenly over questions and over the order of samples."""
    table = view.outcomes
    rows: list[int] = []
    for number, question in enumerate(view.questions):
        each = most // len(view.questions) + (number < most % len(view.questions))
        asked = np.flatnonzero(table["question"] == question)
        taken: list[int] = []
        kinds = _kinds(table, asked)
        for name, share in SHARES:
            taken += _spread(kinds[name], round(each * share))
        rest = [row for row in (*kinds["wrong"], *kinds["other"], *kinds["right"]) if row not in set(taken)]
        rows += sorted(taken + _spread(np.array(rest, dtype=np.int64), each - len(taken)))
    return rows[:most]


def _kinds(table: Table, rows: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    right, other = table["correct"][rows].astype(np.bool_), table["answer"][rows] == "other"
    return {"right": rows[right], "other": rows[other & ~right], "wrong": rows[~right & ~other]}


def _spread(rows: np.ndarray[Any, np.dtype[np.int64]], n: int) -> list[int]:
    if n <= 0 or not len(rows):
        return []
    return [int(row) for row in rows[np.unique(np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(np.int64))]]


def _answers(view: View, rows: Sequence[int], cabinet: Cabinet) -> dict[str, Any]:
    table = view.outcomes.take(np.array(rows, dtype=np.int64))
    samples = table["sample"].tolist()
    pictures = cabinet.pictures(view.task, samples)
    replies = view.replies_to(samples)
    items = []
    for row in table.rows():
        small = pictures.found.get(row["sample"])
        items.append({
            "id": row["sample"],
            "picture": small.address if small else None,
            "size": [small.width, small.height] if small else None,
            "missing": pictures.missing.get(row["sample"], ""),
            "question": row["question"],
            "text": row.get("attr.text") or _asked(row),
            "target": row["target"],
            "answer": row["answer"],
            "correct": bool(row["correct"]),
            "why": row["reason"],
            "reply": said(replies.get(row["sample"], ())),
        })  # fmt: skip
    shown = f"{len(items):,} of {len(view.outcomes):,} answers"
    return {"note": " ".join(filter(None, (f"Shown: {shown}.", pictures.problem))), "items": items}


def _asked(row: Mapping[str, Any]) -> str:
    """What was asked, where the wording is not known: the kind of question and what it was about."""
    about = str(row.get("attr.entity", "")).replace("_", " ")
    return f"{row['question']}: {about}" if about else str(row["question"])


def said(replies: Sequence[tuple[Key, Reply | Failed]], *, most: int = REPLY_SHOWN) -> str:
    """What was replied, verbatim, several calls or draws one under the other."""
    parts = [_one(key, reply, alone=len(replies) == 1) for key, reply in replies]
    text = "\n".join(parts)
    return (
        text if len(text) <= REPLY_SHOWN else f"{text[:REPLY_SHOWN]} [... {len(text) - REPLY_SHOWN:,} more characters]"
    )


def _one(key: Key, reply: Reply | Failed, *, alone: bool) -> str:
    head = "" if alone else f"{key.call or 'draw'} {key.draw}: "
    if isinstance(reply, Failed):
        return f"{head}[failed: {reply.cause}]"
    if reply.text:
        return head + reply.text
    if reply.option_scores is not None:
        return head + "scores " + ", ".join(f"{score:.3f}" for score in reply.option_scores)
    if reply.detections is not None:
        return f"{head}{len(reply.detections)} boxes"
    return f"{head}[empty reply]"
