"""Our AP, both ways, beside pycocotools: every summary figure, on random sets of every shape, with crowds."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from snellen.core.detections import BoxTable
from snellen.core.errors import NotInstalledError
from snellen.scoring import curves
from snellen.scoring.average_precision import AREAS, measure_of, point_ap
from snellen.scoring.coco_matching import IGNORED, RIGHT, coco_matches
from snellen.scoring.point_figures import point_figures

EXACT = 1e-12


def random_set(seed: int, *, images: int, classes: int, truths: int, found: int, grid: float, crowd: float, ties: bool):
    """A set that is hard on purpose: a coarse grid makes ties of IoU, few score levels make ties of score."""
    rng = np.random.default_rng(seed)

    def boxes(n: int) -> np.ndarray:
        corner = rng.uniform(0, 120, (n, 2))
        size = np.exp(rng.uniform(np.log(4), np.log(160), (n, 2)))
        xywh = np.concatenate([corner, size], axis=1)
        xywh = np.round(xywh / grid) * grid if grid else xywh
        xywh[:, 2:] = np.maximum(xywh[:, 2:], grid or 1e-3)
        return np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)

    names, labels = tuple(f"{i}" for i in range(images)), tuple(f"c{k}" for k in range(classes))
    g, p = rng.integers(0, truths + 1), rng.integers(0, found + 1)
    true_boxes = boxes(g)
    image, label = rng.integers(0, images, g), rng.integers(0, max(1, classes - 1), g)
    guess = boxes(p)
    p_image, p_label = rng.integers(0, images, p), rng.integers(0, classes, p)
    if g and p:
        near = rng.random(p) < 0.7
        source = rng.integers(0, g, p)
        shift = rng.choice([0.0, grid or 1.3, 2 * (grid or 1.7)], (p, 4)) * rng.choice([-1, 1], (p, 4))
        shifted = true_boxes[source] + shift
        shifted[:, 2:] = np.maximum(shifted[:, 2:], shifted[:, :2] + (grid or 0.5))
        guess[near], p_image[near] = shifted[near], image[source][near]
        p_label[near] = np.where(rng.random(p) < 0.85, label[source], p_label)[near]
    scores = rng.integers(0, 4, p) / 4 if ties else rng.random(p)
    # areas that are not width x height, as segmentations give them
    area = np.prod(true_boxes[:, 2:] - true_boxes[:, :2], axis=1) * rng.choice([1.0, 0.7], g)
    truth = BoxTable(names, labels, image, label, true_boxes, None, rng.random(g) < crowd, area)
    return truth, BoxTable(names, labels, p_image, p_label, guess, scores)


SETS = st.builds(
    random_set,
    st.integers(0, 10**9),
    images=st.integers(1, 6),
    classes=st.integers(1, 4),
    truths=st.integers(0, 40),
    found=st.integers(0, 60),
    grid=st.sampled_from([0.0, 1.0, 4.0, 16.0]),
    crowd=st.sampled_from([0.0, 0.2, 0.6]),
    ties=st.booleans(),
)
RELAXED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def reference(truth: BoxTable, predicted: BoxTable, max_dets: int) -> COCOeval:
    """pycocotools used plainly, apart from our own seam over it."""

    def rows(table: BoxTable, **more: Any) -> list[dict[str, Any]]:
        boxes = np.concatenate([table.boxes[:, :2], table.boxes[:, 2:] - table.boxes[:, :2]], axis=1).tolist()
        return [
            {"id": i + 1, "image_id": int(table.image[i]) + 1, "category_id": int(table.label[i]) + 1, "bbox": boxes[i],
             "area": float(table.area[i]), "iscrowd": int(table.crowd[i]), **{k: float(v[i]) for k, v in more.items()}}
            for i in range(len(table))
        ]  # fmt: skip

    with contextlib.redirect_stdout(io.StringIO()):
        gt = COCO()
        gt.dataset = {
            "images": [{"id": i + 1} for i in range(len(truth.images))],
            "categories": [{"id": k + 1, "name": name} for k, name in enumerate(truth.classes)],
            "annotations": rows(truth),
        }
        gt.createIndex()
        dt = gt.loadRes([{k: v for k, v in row.items() if k not in ("id", "area", "iscrowd")}
                         for row in rows(predicted, score=predicted.scores)])  # fmt: skip
        evaluation = COCOeval(gt, dt, "bbox")
        evaluation.params.maxDets = [1, 10, max_dets]
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation


def decimal_set(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Boxes `x y w h` in decimals, as files write them, with predictions of exactly .5, .6 ... of a truth."""
    rng = np.random.default_rng(seed)
    g, p = int(rng.integers(1, 25)), int(rng.integers(1, 40))
    truth = np.concatenate([rng.integers(0, 9000, (g, 2)) / 10, rng.integers(20, 640, (g, 2)) / 10], axis=1)
    truth[rng.random(g) < 0.3, 2:] = 32.0  # at the border of small and medium
    source, axis = rng.integers(0, g, p), rng.integers(2, 4, p)
    found = truth[source].copy()
    found[np.arange(p), axis] = (found[np.arange(p), axis] * rng.choice([0.5, 0.6, 0.75, 0.8, 0.9, 1.0], p)).round(2)
    image, label = rng.integers(0, 3, g), rng.integers(0, 2, g)
    return truth, found, {"image": image, "label": label, "p_image": image[source], "p_label": label[source],
                          "score": rng.random(p)}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_overlaps_at_a_threshold_in_decimals_are_those_of_pycocotools(seed: int) -> None:
    """`x + w - x` is not `w`: read as corners, the files must still match as they do there."""
    truth, found, at = decimal_set(seed)

    def table(xywh: np.ndarray, image: np.ndarray, label: np.ndarray, **more: Any) -> BoxTable:
        boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
        return BoxTable(("0", "1", "2"), ("x", "y"), image, label, boxes, **more)

    with contextlib.redirect_stdout(io.StringIO()):
        gt = COCO()
        gt.dataset = {
            "images": [{"id": i + 1} for i in range(3)],
            "categories": [{"id": k + 1, "name": name} for k, name in enumerate("xy")],
            "annotations": [
                {"id": i + 1, "image_id": int(at["image"][i]) + 1, "category_id": int(at["label"][i]) + 1,
                 "bbox": box, "area": box[2] * box[3], "iscrowd": 0} for i, box in enumerate(truth.tolist())
            ],
        }  # fmt: skip
        gt.createIndex()
        dt = gt.loadRes([
            {"image_id": int(at["p_image"][i]) + 1, "category_id": int(at["p_label"][i]) + 1, "bbox": box,
             "score": float(at["score"][i])} for i, box in enumerate(found.tolist())
        ])  # fmt: skip
        theirs = COCOeval(gt, dt, "bbox")
        theirs.params.maxDets = [1, 10, 500]
        theirs.evaluate()
        theirs.accumulate()
    ours = (
        table(truth, at["image"], at["label"], area=truth[:, 2] * truth[:, 3]),
        table(found, at["p_image"], at["p_label"], scores=at["score"]),
    )
    equal(point_ap(*ours).summary, figures(theirs))
    equal(measured(*ours, 500), figures(theirs))


def figures(evaluation: COCOeval) -> dict[str, float | None]:
    def mean(values: np.ndarray) -> float | None:
        return float(np.mean(values[values > -1])) if (values > -1).any() else None

    p, r = evaluation.eval["precision"], evaluation.eval["recall"]
    found = {"ap": mean(p[:, :, :, 0, 2]), "ap50": mean(p[0, :, :, 0, 2]), "ap75": mean(p[5, :, :, 0, 2])}
    found |= {"ar1": mean(r[:, :, 0, 0]), "ar10": mean(r[:, :, 0, 1]), "ar": mean(r[:, :, 0, 2])}
    for a, area in enumerate(AREAS):
        if a:
            found |= {f"ap_{area}": mean(p[:, :, :, a, 2]), f"ar_{area}": mean(r[:, :, a, 2])}
    return found


def equal(ours: dict[str, float | None], theirs: dict[str, float | None]) -> None:
    for name, value in theirs.items():
        mine = ours[name]
        if value is None:
            assert mine is None, name
        else:
            assert mine is not None, name
            assert mine == pytest.approx(value, abs=EXACT), name


def measured(truth: BoxTable, predicted: BoxTable, max_dets: int) -> dict[str, float | None]:
    values = measure_of(truth, predicted, max_dets=max_dets)(np.ones((1, len(truth.images))))
    return {name: None if np.isnan(value[0]) else float(value[0]) for name, value in values.items()}


@pytest.mark.parametrize("max_dets", [100, 500])
@RELAXED
@given(SETS)
def test_every_summary_figure_is_that_of_pycocotools(max_dets: int, sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    if not len(predicted):
        return  # pycocotools fails on these; see test_no_predictions
    theirs = figures(reference(truth, predicted, max_dets))
    equal(point_ap(truth, predicted, max_dets=max_dets).summary, theirs)
    for backend in ("hotcoco", "pycocotools"):
        equal(point_ap(truth, predicted, max_dets=max_dets, backend=backend).summary, theirs)
    equal(measured(truth, predicted, max_dets), theirs)


def test_a_tool_that_is_not_installed_is_named_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocotools.coco", None)
    boxes = BoxTable(("a",), ("cat",), np.array([0]), np.array([0]), np.array([[0.0, 0, 10, 10]]), np.array([0.5]))
    with pytest.raises(NotInstalledError, match=r"pycocotools is not installed. Type:  pip install 'snellen\[test\]'"):
        point_ap(boxes, boxes, backend="pycocotools")


@RELAXED
@given(SETS, st.sampled_from([1, 2, 5]))
def test_a_small_limit_cuts_as_pycocotools_cuts(sets: tuple[BoxTable, BoxTable], max_dets: int) -> None:
    truth, predicted = sets
    if not len(predicted):
        return
    result = point_ap(truth, predicted, max_dets=max_dets)
    p = result.precision[:, :, :, 0]
    ours = measured(truth, predicted, max_dets)
    equal(ours, {"ap": float(p[p > -1].mean()) if (p > -1).any() else None})
    assert set(result.summary) == set(ours) - {name for name in ours if "." in name}


@RELAXED
@given(SETS)
def test_each_match_is_that_of_pycocotools(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    if not len(predicted):
        return
    theirs = reference(truth, predicted, 500)
    ours = coco_matches(truth, predicted)
    where = {row: i for i, row in enumerate(ours.rows.tolist())}
    for cell in theirs.evalImgs:
        if cell is None:
            continue
        a = list(AREAS.values()).index(
            (0.0, 1e10) if cell["aRng"][1] > 1e9 and cell["aRng"][0] == 0 else tuple(cell["aRng"])
        )
        at = [where[i - 1] for i in cell["dtIds"]]
        ignored = cell["dtIgnore"].astype(bool)
        np.testing.assert_array_equal(ours.state[a][:, at] == IGNORED, ignored)
        np.testing.assert_array_equal(ours.state[a][:, at] == RIGHT, (cell["dtMatches"] > 0) & ~ignored)
        if a == 0:
            np.testing.assert_array_equal(ours.partner[:, at] + 1, cell["dtMatches"])


@RELAXED
@given(SETS, st.sampled_from([1, 10, 500]))
def test_the_figures_of_one_matching_are_those_of_the_measure(sets: tuple[BoxTable, BoxTable], max_dets: int) -> None:
    truth, predicted = sets
    plain = measure_of(truth, predicted, max_dets=max_dets)(np.ones((1, len(truth.images))))
    quick = point_figures(truth, predicted, coco_matches(truth, predicted, max_dets=max_dets), max_dets=max_dets)
    assert list(quick) == list(plain)
    for name, value in quick.items():
        np.testing.assert_allclose(value, plain[name][0], atol=EXACT, err_msg=name)


@RELAXED
@given(SETS)
def test_weights_count_like_copies_of_pictures(sets: tuple[BoxTable, BoxTable]) -> None:
    """A picture of weight 2 scores as if it stood twice in the set, under another name, where no scores tie."""
    truth, predicted = sets
    n = len(truth.images)
    distinct = np.random.default_rng(len(predicted)).permutation(len(predicted)) / max(1, len(predicted))
    predicted = BoxTable(
        predicted.images, predicted.classes, predicted.image, predicted.label, predicted.boxes, distinct
    )
    weights = np.random.default_rng(n).integers(0, 3, n)
    copies = np.repeat(np.arange(n), weights)
    if not len(copies):
        return

    def copied(table: BoxTable) -> BoxTable:
        rows = [np.flatnonzero(table.image == source) for source in copies]
        at = np.concatenate(rows) if rows else np.zeros(0, dtype=int)
        image = np.repeat(np.arange(len(copies)), [len(r) for r in rows])
        scores = None if table.scores is None else table.scores[at]
        return BoxTable(tuple(map(str, range(len(copies)))), table.classes, image, table.label[at], table.boxes[at],
                        scores, table.crowd[at], table.area[at])  # fmt: skip

    weighted = measure_of(truth, predicted)(weights[None, :].astype(float))
    plain = measure_of(copied(truth), copied(predicted))(np.ones((1, len(copies))))
    halves = measure_of(truth, predicted)(weights[None, :] / 2)
    for name, value in plain.items():
        np.testing.assert_allclose(weighted[name], value, atol=EXACT, err_msg=name)
        np.testing.assert_allclose(halves[name], value, atol=1e-9, err_msg=name)


@RELAXED
@given(SETS, st.integers(0, 10**9))
def test_long_curves_and_short_ones_are_read_alike(sets: tuple[BoxTable, BoxTable], seed: int) -> None:
    truth, predicted = sets
    weights = np.random.default_rng(seed).integers(0, 4, (20, len(truth.images))).astype(float)
    plain = measure_of(truth, predicted)
    before = curves._LONG
    curves._LONG = 0  # every curve is long
    try:
        long = plain(weights)
    finally:
        curves._LONG = before
    for name, value in plain(weights).items():
        np.testing.assert_allclose(long[name], value, atol=EXACT, err_msg=name)
