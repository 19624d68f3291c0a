"""Replies as JSON lines: what parts of runs, the cache and files for `replay` hold. `write` and `read` live together.

A line is `{"sample", "call", "draw", ...}` plus the fields of a `Reply` that differ from their defaults, or
`{"failed", "message", "attempts", "seconds"}` for a `Failed`. The least: `{"sample": "7", "text": "red"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from snellen.core.detections import Detections
from snellen.core.errors import DataError
from snellen.core.pictures import Size
from snellen.core.stages import Failed, Key, Reply, Token, Usage

FINISHES = ("stop", "length", "refused")


def write(key: Key, answer: Reply | Failed) -> bytes:
    """One line, newline included. Non-finite numbers become null (a missing score)."""
    row: dict[str, Any] = {"sample": key.sample}
    if key.call:
        row["call"] = key.call
    if key.draw:
        row["draw"] = key.draw
    row |= failed_to_json(answer) if isinstance(answer, Failed) else to_json(answer)
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)


def read(line: bytes, *, place: str = "") -> tuple[Key, Reply | Failed]:
    """The key and answer of one line. DataError names `place` where it is no such line."""
    try:
        row = orjson.loads(line)
        return _key(row), failed_from_json(row) if "failed" in row else from_json(row)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_line(line, place) from error


def read_key(line: bytes, *, place: str = "") -> tuple[Key, bool]:
    """The key of a line, and whether it holds a reply (not a failure), without building the reply."""
    try:
        row = orjson.loads(line)
        return _key(row), "failed" not in row
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_line(line, place) from error


def _key(row: Mapping[str, Any]) -> Key:
    return Key(_text(row["sample"]), str(row.get("call", "")), int(row.get("draw", 0)))


def _no_line(line: bytes, place: str) -> DataError:
    return DataError(f"a line of replies must be JSON with 'sample' and a reply, got {line[:80]!r}: {place}")


def to_json(reply: Reply) -> dict[str, Any]:
    """The fields of `reply` that differ from their defaults, plain."""
    columns: dict[str, Any] = {
        "text": reply.text if reply.text or reply.detections is None else None,
        "detections": None if reply.detections is None else detections_to_json(reply.detections),
        "option_scores": reply.option_scores,
        "finish": None if reply.finish == "stop" else reply.finish,
        "sent": [list(size) for size in reply.sent] or None,
        "seen": [list(size) for size in reply.seen] or None,
        "usage": None if reply.usage is None else [reply.usage.input_tokens, reply.usage.output_tokens],
        "tokens": None if reply.tokens is None else [list(token) for token in reply.tokens],
        "seconds": reply.seconds,
        "served_by": reply.served_by,
    }
    return {name: value for name, value in columns.items() if value is not None}


def from_json(row: Mapping[str, Any]) -> Reply:
    """The inverse of `to_json`; other fields are left aside. ValueError, KeyError, TypeError where it is no reply."""
    if not ({"text", "detections", "option_scores"} & set(row)):
        raise ValueError("a reply holds text, detections or option_scores")
    if row.get("finish", "stop") not in FINISHES:
        raise ValueError(f"finish must be one of {FINISHES}, got {row['finish']!r}")
    detections, scores, tokens, usage = (row.get(n) for n in ("detections", "option_scores", "tokens", "usage"))
    return Reply(
        text=_text(row.get("text", "")),
        detections=None if detections is None else detections_from_json(detections),
        option_scores=None if scores is None else tuple(_numbers(scores).tolist()),
        finish=row.get("finish", "stop"),
        sent=tuple(Size(*size) for size in row.get("sent", ())),
        seen=tuple(Size(*size) for size in row.get("seen", ())),
        usage=None if usage is None else Usage(*usage),
        seconds=row.get("seconds"),
        tokens=None if tokens is None else tuple(Token(*token) for token in tokens),
        served_by=row.get("served_by"),
    )


def failed_to_json(failed: Failed) -> dict[str, Any]:
    """`failed` as plain fields."""
    row: dict[str, Any] = {"failed": failed.cause, "message": failed.message, "attempts": failed.attempts}
    if failed.seconds is not None:
        row["seconds"] = failed.seconds
    return row


def failed_from_json(row: Mapping[str, Any]) -> Failed:
    """The inverse of `failed_to_json`."""
    return Failed(_text(row["failed"]), _text(row.get("message", "")), int(row.get("attempts", 1)), row.get("seconds"))


def detections_to_json(detections: Detections) -> dict[str, Any]:
    """Columns as lists; what is absent stays absent."""
    row: dict[str, Any] = {"boxes": detections.boxes.tolist(), "labels": list(detections.labels)}
    for name in ("scores", "crowd", "area"):
        value = getattr(detections, name)
        if value is not None:
            row[name] = value.tolist()
    if detections.notes:
        row["notes"] = [dict(note) for note in detections.notes]
    return row


def detections_from_json(row: Mapping[str, Any]) -> Detections:
    """The inverse of `detections_to_json`; null among scores or areas is NaN."""
    return Detections(
        _numbers(row["boxes"]),
        tuple(_text(label) for label in row["labels"]),
        None if row.get("scores") is None else _numbers(row["scores"]),
        None if row.get("crowd") is None else np.asarray(row["crowd"], dtype=np.bool_),
        None if row.get("area") is None else _numbers(row["area"]),
        tuple(row.get("notes", ())),
    )


def _numbers(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(values, dtype=object).astype(np.float64)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, got {value!r}")
    return value
