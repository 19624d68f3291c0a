"""Reads JSON lists of boxes that hold numbers alone, straight into columns.

A million boxes parsed into dicts cost seconds. Here msgspec parses rows of a fixed form, checking every value (`true`
and `"1"` are no numbers), and writes them once more as MessagePack, where each row takes the same bytes: numpy reads
that as a table. Whatever is not of the form (names, nulls, NaN, a short box) is left to the reader of single values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from snellen.core.detections import Float, Int

EXACT = 2**53
"""Whole numbers below this are kept by a float."""

_NUMBER = np.dtype([("mark", "V1"), ("value", ">f8")])
_BOX = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Boxes in columns. ids: int64 (n,) each; boxes: float64 (n, 4), as written; numbers: float64 (n,) each.

    other: keys of the objects that are none of these, where they were looked for.
    """

    ids: Mapping[str, Int]
    boxes: Float
    numbers: Mapping[str, Float]
    other: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.boxes)


class NumberRows:
    """Reads objects with `ids` (whole numbers), a `bbox` of four numbers, and perhaps `numbers` (name -> default).

    closed: objects with other keys are not of this form; else these are passed over.
    """

    def __init__(self, ids: Sequence[str], numbers: Mapping[str, float], *, closed: bool = False) -> None:
        self.ids, self.numbers = ids, numbers
        needed: list[Any] = [*((name, float) for name in ids), ("bbox", _BOX)]
        fields = needed + [(name, float, default) for name, default in numbers.items()]
        form = msgspec.defstruct("Row", fields, gc=False, forbid_unknown_fields=closed)
        self._decoder = msgspec.json.Decoder(list[form])  # type: ignore[valid-type]
        parts: list[Any] = [("row", "V1")]
        for name, *_ in fields:  # in MessagePack a byte marks each row, key and number; a number takes eight more
            parts.append((f"key {name}", f"V{len(name) + 1}"))
            parts += [("list", "V1"), (name, _NUMBER, 4)] if name == "bbox" else [(name, _NUMBER)]
        self._table = np.dtype(parts)

    def __call__(self, text: bytes) -> Numbers | None:
        """The rows of a whole list; None where anything in it is not of this form."""
        try:
            rows = self._decoder.decode(text)
        except msgspec.MsgspecError:
            return None
        packed = msgspec.msgpack.encode(rows)
        table = np.frombuffer(packed, self._table, offset=len(packed) - len(rows) * self._table.itemsize)

        def column(name: str) -> Float:
            return np.asarray(table[name]["value"], dtype=np.float64)

        ids = {name: column(name) for name in self.ids}
        if any(not ((np.abs(key) < EXACT) & (key == np.floor(key))).all() for key in ids.values()):
            return None
        whole = {name: key.astype(np.int64) for name, key in ids.items()}
        return Numbers(whole, column("bbox"), {name: column(name) for name in self.numbers})
