"""Regular lists of numbers in columns: the same as any reader gives, or left to the one that looks at every value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.datasets.number_rows import number_rows
from snellen.datasets.prediction_files import coco

ROWS = st.lists(
    st.fixed_dictionaries({
        "image_id": st.integers(-10, 10**12),
        "category_id": st.integers(0, 99),
        "bbox": st.lists(st.floats(-1e6, 1e6) | st.integers(0, 9999), min_size=4, max_size=4),
        "score": st.floats(0, 1),
    }),
    min_size=2,
    max_size=30,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from([None, 1, 2]), st.sampled_from([700, 3000, 1 << 20]))
def test_columns_are_what_a_parser_gives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], indent: int | None, piece: int
) -> None:
    path = tmp_path_factory.mktemp("rows") / "results.json"
    path.write_text(json.dumps([{key: row[key] for key in PLAIN} for row in rows], indent=indent))
    found = number_rows(path, piece=piece)
    assert found is not None
    for key in rows[0]:
        np.testing.assert_array_equal(found[key], np.array([row[key] for row in rows], dtype=float))


PLAIN = {"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "score": 0.5}
LEFT = {
    "no rows": "[]",
    "one row": json.dumps([PLAIN]),
    "a name for a number": json.dumps([PLAIN, {**PLAIN, "image_id": "1"}]),
    "null": json.dumps([PLAIN, {**PLAIN, "score": None}]),
    "NaN": json.dumps([PLAIN, {**PLAIN, "score": float("nan")}]),
    "a key less": json.dumps([PLAIN, {k: v for k, v in PLAIN.items() if k != "score"}]),
    "another order": json.dumps([PLAIN, dict(reversed(PLAIN.items()))]),
    "a short box": json.dumps([PLAIN, {**PLAIN, "bbox": [1, 2, 3]}]),
    "a number missing": json.dumps([PLAIN, PLAIN]).replace("0.5}]", "}]"),
    "two numbers in one": json.dumps([PLAIN, PLAIN]).replace("0.5}]", "0.5.5}]"),
    "nested": json.dumps([{**PLAIN, "more": {"a": 1}}] * 2),
    "no list": json.dumps({"annotations": [PLAIN, PLAIN]}),
    "cut short": json.dumps([PLAIN, PLAIN])[:-20],
    "text after the end": json.dumps([PLAIN, PLAIN]) + "x",
    "keys that differ by digits alone": '[{"a1": 1, "a2": 2}, {"a2": 1, "a1": 2}]',
}


@pytest.mark.parametrize("name", LEFT)
def test_anything_else_is_left_to_the_careful_reader(name: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(LEFT[name])
    assert number_rows(path) is None


@pytest.mark.parametrize("ids", [[1, 2], [1.5, 2], [2**60, 1]])
def test_results_read_the_same_either_way(ids: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps([{**PLAIN, "image_id": i} for i in ids]))
    fast = coco(path)
    monkeypatch.setattr("snellen.datasets.prediction_files.number_rows", lambda path: None)
    slow = coco(path)
    assert list(fast.images) == list(slow.images)
    np.testing.assert_array_equal(fast.boxes, slow.boxes)
    np.testing.assert_array_equal(fast.scores, slow.scores)
    assert (fast.image_kinds, fast.label_kinds) == (slow.image_kinds, slow.label_kinds)
