"""Roll-ups of many data sets, and the papers' own All columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snellen.core.errors import IncompleteError, SpecError
from snellen.core.estimates import Estimate
from snellen.evals.rollup import RF20_VL, RF100_VL, all_of_categories, roll_up

INCONSISTENT = ("YOLOv8n", "YOLOv8s", "YOLOv8m")
"""Rows that PROTOCOLS section 2 names as inconsistent: few-shot YOLO but plain YOLOv8s; YOLOv8s + STAC."""


def _rows(text: str, table: str) -> list[tuple[str, str, list[float]]]:
    """`(regime, method, eight numbers)` of a table in the paper's text."""
    lines = text[text.index(f"\nTable {table}:") :].splitlines()[1:]
    rows, regime, started = [], "", False
    for line in lines:
        cells = line.split("\t")
        if cells[0] == "Method":
            started = True
        elif started and len(cells) == 9:
            rows.append((regime, re.sub(r"\s*\[[^]]*\]", "", cells[0]), [float(cell) for cell in cells[1:]]))
        elif started and len(cells) == 1 and line.strip():
            if not re.match(r"Zero-Shot|Few-Shot|Semi|Fully|Challenge", line):
                break
            regime = line.strip()
    return rows


def _consistent(regime: str, method: str) -> bool:
    if regime.startswith("Few-Shot") and method.startswith(INCONSISTENT):
        return method == "YOLOv8s"
    return not (regime.startswith("Semi") and method.casefold() == "yolov8s w/ stac")


@pytest.mark.parametrize(("table", "sizes"), [("2", RF100_VL), ("3", RF20_VL), ("7", RF100_VL)])
def test_the_all_columns_of_the_paper_come_out_of_its_category_columns(
    shared: Path, table: str, sizes: dict[str, int]
) -> None:
    text = next((shared / "papers").glob("002*.txt")).read_text(encoding="utf-8")
    rows = _rows(text, table)
    assert len(rows) >= 14
    for regime, method, (*parts, total) in rows:
        found = all_of_categories(dict(zip(sizes, parts, strict=True)), sizes)
        if _consistent(regime, method):
            # Each printed number is rounded to .05: so may the mean of the parts be, and the total.
            assert found == pytest.approx(total, abs=0.1 + 1e-9), f"Table {table}, {method}"


def test_the_rows_that_are_named_as_inconsistent_are_so(shared: Path) -> None:
    text = next((shared / "papers").glob("002*.txt")).read_text(encoding="utf-8")
    rows = [row for table in ("2", "7") for row in _rows(text, table) if not _consistent(row[0], row[1])]
    off = [abs(all_of_categories(dict(zip(RF100_VL, parts, strict=True))) - total) for _, _, (*parts, total) in rows]
    assert rows
    assert max(off) > 0.2


def test_a_data_set_without_predictions_counts_zero_and_is_not_dropped() -> None:
    found = roll_up({"a": Estimate(0.6, 0.5, 0.7), "b": Estimate(None)}, {"a": "Aerial", "b": "Medical"})
    assert found.all.value == pytest.approx(0.3)
    assert found.categories["Medical"].value == 0.0


def test_a_missing_data_set_is_an_error_unless_partial() -> None:
    scores, categories = {"a": Estimate(0.6)}, {"a": "Aerial"}
    with pytest.raises(IncompleteError, match="1 of 2 data sets are missing"):
        roll_up(scores, categories, expected=["a", "b"])
    found = roll_up(scores, categories, expected=["a", "b"], partial=True)
    assert (found.scored, found.of, found.complete) == (1, 2, False)


def test_a_data_set_without_a_category_is_refused() -> None:
    with pytest.raises(SpecError, match="'b' has no category"):
        roll_up({"b": Estimate(0.6)}, {"a": "Aerial"})


def test_the_sizes_of_the_categories_are_those_of_the_benchmarks() -> None:
    assert (sum(RF100_VL.values()), sum(RF20_VL.values())) == (100, 20)
