"""Layouts of exported detectors: the same box comes back from every form, in px of the picture."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import DataError
from snellen.core.pictures import Size
from snellen.models.onnx_layouts import (
    LAYOUTS,
    Candidates,
    Layout,
    activate,
    detections,
    frame,
    read,
    suppressed,
)

PICTURE = Size(200, 100)
INPUT = Size(64, 64)
TRUE = np.array([[40.0, 20.0, 120.0, 60.0]])
LOW = -12.0


def in_input(framed):
    """The true box in px of the input."""
    return TRUE * np.tile(framed.scale, 2) + np.tile(framed.offset, 2)


def centred(corners):
    return np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)


def outputs_of(form, framed):
    """What a model of two classes writes that is sure of class 1 in the first of two places."""
    box = np.concatenate([centred(in_input(framed)), [[5, 5, 2, 2]]])
    fraction = np.concatenate([centred(TRUE) / np.tile(PICTURE, 2), [[0.5, 0.5, 0.1, 0.1]]])
    sure = np.array([[0.1, 0.8], [0.05, 0.02]])
    logit = np.log(sure / (1 - sure))
    return {
        "columns": {"output0": np.concatenate([box, sure], axis=1).T[None]},
        "rows": {"output0": np.concatenate([box, np.ones((2, 1)), sure], axis=1)[None]},
        "final": {"output0": np.concatenate([in_input(framed), [[0.8, 1.0]]], axis=1)[None]},
        "split": {"logits": logit[None], "pred_boxes": fraction[None]},
        "ready": {"labels": np.array([[1]]), "boxes": TRUE[None], "scores": np.array([[0.8]])},
    }[form]


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_true_box_in_px_of_the_picture(name):
    layout = LAYOUTS[name]
    framed = frame(Image.new("RGB", PICTURE), layout, INPUT)
    assert framed.pixels.shape == (1, 3, 64, 64)
    outputs = outputs_of(layout.form, framed)
    if layout.activation == "softmax":
        outputs["logits"] = np.array([[[0.0, np.log(8.0), 0.0], [LOW, LOW, 0.0]]])
    found = read(outputs, layout, framed, size=PICTURE, most=10)
    said = detections(found, ("cat", "dog"), min_score=0.3, most=10)
    assert said.labels == ("dog",)
    assert said.scores == pytest.approx([0.8])
    assert said.boxes == pytest.approx(TRUE, abs=1e-6)


def test_a_letterboxed_picture_keeps_its_shape_and_is_padded_evenly():
    framed = frame(Image.new("RGB", PICTURE, (255, 0, 0)), Layout("columns", letterbox=True), INPUT)
    red = framed.pixels[0, 0] == 1.0
    assert red.sum() == 64 * 32
    assert not red[:16].any()
    assert not red[48:].any()
    assert framed.offset.tolist() == [0, 16]
    assert framed.pixels[0, :, 0, 0] == pytest.approx(114 / 255)


def test_a_stretched_picture_fills_the_input_normalised():
    framed = frame(Image.new("RGB", PICTURE, (255, 255, 255)), LAYOUTS["detr"], INPUT)
    expected = (1 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    assert framed.pixels.max(axis=(0, 2, 3)) == pytest.approx(expected, rel=1e-5)
    assert framed.scale.tolist() == [0.32, 0.64]


@pytest.mark.parametrize("size", [Size(1, 1), Size(3000, 4), Size(4, 3000)])
def test_extreme_pictures_become_inputs_too(size):
    for layout in LAYOUTS.values():
        assert frame(Image.new("RGB", size), layout, INPUT).pixels.shape == (1, 3, 64, 64)


def test_the_worse_of_two_boxes_of_a_class_goes_and_other_classes_stay():
    boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [1, 0, 11, 10], [30, 30, 40, 40]], dtype=float)
    found = Candidates(boxes, np.array([0.9, 0.8, 0.7, 0.6]), np.array([0, 0, 1, 0]))
    kept = suppressed(found, 0.7)
    assert kept.scores.tolist() == [0.9, 0.7, 0.6]
    assert suppressed(found, 0.9).scores.tolist() == [0.9, 0.8, 0.7, 0.6]


def test_suppression_agrees_with_a_plain_loop():
    rng = np.random.default_rng(0)
    for _ in range(20):
        corner = rng.random((40, 2)) * 50
        boxes = np.concatenate([corner, corner + 5 + rng.random((40, 2)) * 25], axis=1)
        scores, classes = np.sort(rng.random(40))[::-1], rng.integers(0, 3, 40)
        kept = []
        for i in range(40):
            clash = [j for j in kept if classes[j] == classes[i] and _iou(boxes[j], boxes[i]) > 0.4]
            if not clash:
                kept.append(i)
        assert suppressed(Candidates(boxes, scores, classes), 0.4).scores.tolist() == scores[kept].tolist()


def _iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    inter = max(0.0, width) * max(0.0, height)
    return inter / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter)


@pytest.mark.parametrize(
    ("name", "outputs", "message"),
    [
        ("yolov8", {"x": np.zeros((2, 6, 5))}, r"shape \(1, 4 \+ classes, n\)"),
        ("yolo-end2end", {"x": np.zeros((1, 5, 7))}, r"shape \(1, n, 6\)"),
        ("detr", {"a": np.zeros((1, 5, 7))}, "`logits`"),
        ("rt-detr", {"labels": np.zeros((1, 5))}, "labels, boxes and scores"),
    ],
)
def test_an_output_of_another_shape_is_refused(name, outputs, message):
    framed = frame(Image.new("RGB", PICTURE), LAYOUTS[name], INPUT)
    with pytest.raises(DataError, match=message):
        read(outputs, LAYOUTS[name], framed, size=PICTURE, most=5)


def test_a_class_without_a_name_is_refused():
    found = Candidates(TRUE, np.array([0.9]), np.array([2]))
    with pytest.raises(DataError, match="class 2, but 2 class names"):
        detections(found, ("cat", "dog"), min_score=0.1, most=5)


def test_softmax_drops_the_class_that_means_nothing():
    scores = activate(np.array([[1.0, 1.0, 1.0]]), LAYOUTS["detr"])
    assert scores == pytest.approx(np.full((1, 2), 1 / 3))


@pytest.mark.parametrize(
    ("name", "picture", "outputs"),
    [
        # 200 x 100 px in 64 x 64: .32 of the size, 16 px of grey above: 12.8 22.4 38.4 35.2, so centre 25.6 28.8
        ("yolov8", (200, 100), {"output0": np.array([[[25.6], [28.8], [25.6], [12.8], [0.1], [0.8]]])}),
        ("yolov5", (200, 100), {"output0": np.array([[[25.6, 28.8, 25.6, 12.8, 0.8, 0.1, 1.0]]])}),
        ("yolo-end2end", (200, 100), {"output0": np.array([[[12.8, 22.4, 38.4, 35.2, 0.8, 1.0]]])}),
        # 100 x 400 px: .16 of the size, 24 px of grey on the left: 30.4 3.2 43.2 9.6
        ("yolo-end2end", (100, 400), {"output0": np.array([[[30.4, 3.2, 43.2, 9.6, 0.8, 1.0]]])}),
        # shares of the picture's sides; exp(ln 8) / (1 + 8 + 1) = .8; 1 / (1 + exp(-ln 4)) = .8
        ("detr", (200, 100), {"logits": np.log([[[1.0, 8.0, 1.0]]]), "pred_boxes": np.full((1, 1, 4), 0.4)}),
        ("rf-detr", (200, 100), {"labels": np.log([[[0.1, 4.0]]]), "boxes": np.full((1, 1, 4), 0.4)}),
        ("rt-detr-hf", (200, 100), {"logits": np.log([[[0.1, 4.0]]]), "pred_boxes": np.full((1, 1, 4), 0.4)}),
    ],
)  # fmt: skip
def test_numbers_worked_out_by_hand(name, picture, outputs):
    framed = frame(Image.new("RGB", picture, (255, 0, 0)), LAYOUTS[name], INPUT)
    found = read(outputs, LAYOUTS[name], framed, size=Size(*picture), most=1)
    np.testing.assert_allclose(found.boxes, TRUE, atol=1e-9)
    assert found.scores == pytest.approx([0.8])
    assert found.classes.tolist() == [1]
    red = framed.pixels[0, :, 32, 32].tolist()  # ImageNet's mean and spread for the DETR kin, 0..1 for the others
    assert red == pytest.approx([2.2489, -2.0357, -1.8044] if name in {"detr", "rf-detr"} else [1, 0, 0], abs=1e-4)
