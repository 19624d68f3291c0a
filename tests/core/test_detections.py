"""Instances of one picture and of a whole set."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core.detections import BoxTable, Detections
from snellen.core.errors import ShapeError


def _some() -> Detections:
    return Detections(np.array([[0, 0, 2, 3], [1, 1, 5, 5]]), ("cat", "dog"), np.array([0.5, np.nan]))


def test_absent_scores_stay_absent_and_missing_ones_are_nan() -> None:
    assert Detections([[0, 0, 1, 1]], ("cat",)).scores is None
    joined = Detections.concatenate([_some(), Detections([[0, 0, 1, 1]], ("cat",))])
    assert joined.scores is not None
    assert np.isnan(joined.scores[1:]).all()


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        _some().boxes[0, 0] = 7


def test_labels_must_match_boxes() -> None:
    with pytest.raises(ShapeError, match="1 boxes need 1 labels, got 2"):
        Detections([[0, 0, 1, 1]], ("a", "b"))


def test_area_is_width_times_height_unless_given() -> None:
    assert _some().areas.tolist() == [6.0, 16.0]
    assert Detections([[0, 0, 2, 3]], ("a",), area=np.array([4.0])).areas.tolist() == [4.0]


def test_detections_with_equal_content_are_equal() -> None:
    assert _some() == _some()
    assert _some() != _some().take([1, 0])


def test_a_table_keeps_empty_images_and_marks_unknown_labels() -> None:
    table = BoxTable.of({"a": _some(), "b": Detections.empty()}, ["dog"])
    assert table.images == ("a", "b")
    assert table.label.tolist() == [-1, 0]
    rows = dict(table.rows())
    assert len(rows["b"]) == 0
    assert rows["a"].labels == ("", "dog")
