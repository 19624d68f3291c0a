"""`onnx/...`: exported detectors and CLIP pairs, over graphs made on the spot."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Turn
from snellen.models.table import build
from tiny_models.graphs import pair, save, yolo

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.tier2, pytest.mark.filterwarnings("default")]


def picture(colour="red", size=(128, 64)):
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return Picture(f"{colour}.png", buffer.getvalue)


def ask(seed=0, **options):
    return Prompt(Key(f"s{seed}"), (Turn("user", (picture(), "?")),), wants="boxes", **options)


def test_a_yolo_export_with_its_own_class_names(tmp_path):
    yolo(tmp_path / "best.onnx", names="{0: 'cat', 1: 'dog'}")
    model = build(ModelSpec.parse(f"onnx/{tmp_path}/best.onnx", ["layout=yolov8"]))
    prompts = [ask(0), ask(1)]
    replies = dict(model.answer(prompts))
    assert list(replies) == [p.key for p in prompts]
    found = replies[Key("s0")].detections
    assert found.labels == ("cat", "dog", "dog", "cat")  # the doubles are gone
    assert found.scores == pytest.approx([0.9, 0.6, 0.1, 0.05])
    assert found.boxes[0] == pytest.approx([48, 24, 80, 40])  # 64 px letterboxed: twice as large, 16 px up
    assert replies[Key("s0")].seen == (Size(64, 64),)
    assert replies[Key("s0")].sent == (Size(128, 64),)


def test_options_change_what_is_kept(tmp_path):
    yolo(tmp_path / "best.onnx")
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    options = ["layout=yolov8", f"classes={tmp_path}/names.txt", "nms=1", "min_score=0.5"]
    model = build(ModelSpec.parse(f"onnx/{tmp_path}/best.onnx", options))
    (reply,) = (reply for _, reply in model.answer([ask()]))
    assert reply.detections.labels == ("cat", "cat", "dog")
    (tmp_path / "names.yaml").write_text("names:\n  0: Katze\n  1: Hund\n")
    options = ["layout=yolov8", f"classes={tmp_path}/names.yaml", "most=1"]
    model = build(ModelSpec.parse(f"onnx/{tmp_path}/best.onnx", options))
    (reply,) = (reply for _, reply in model.answer([ask()]))
    assert reply.detections.labels == ("Katze",)


def test_a_model_that_is_told_the_pictures_size(tmp_path):
    node = onnx.helper.make_node
    nodes = [
        node("Cast", ["orig_target_sizes"], ["size"], to=onnx.TensorProto.FLOAT),
        node("Concat", ["zero", "size"], ["flat"], axis=1),
        node("Reshape", ["flat", "shape"], ["boxes"]),
        node("Identity", ["one"], ["scores"]),
        node("Identity", ["first"], ["labels"]),
    ]
    constants = {
        "zero": np.zeros((1, 2), np.float32),
        "shape": np.array([1, 1, 4]),
        "one": np.float32([[0.7]]),
        "first": np.array([[0]]),
    }
    inputs = [("images", np.float32, [1, 3, 64, 64]), ("orig_target_sizes", np.int64, [1, 2])]
    outputs = [("labels", np.int64), ("boxes", np.float32), ("scores", np.float32)]
    save(tmp_path / "m.onnx", nodes, inputs, outputs, constants)
    (tmp_path / "names.txt").write_text("page\n")
    model = build(ModelSpec.parse(f"onnx/{tmp_path}/m.onnx", ["layout=rt-detr", f"classes={tmp_path}/names.txt"]))
    (reply,) = (reply for _, reply in model.answer([ask()]))
    assert reply.detections.boxes.tolist() == [[0, 0, 128, 64]]


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("none.onnx", ["layout=yolov8"], SpecError, "needs a file or a folder"),
        ("best.onnx", [], SpecError, "unknown layout"),
        ("best.onnx", ["layout=yolov9"], SpecError, "Did you mean 'yolov8'"),
        ("best.onnx", ["layout=yolov8"], SpecError, "names no classes"),
        ("best.onnx", ["layout=yolov8", "classes=none.txt"], SpecError, "class names cannot be read"),
        ("best.onnx", ["layout=yolov8", "size=640", "classes=NAMES"], SpecError, "takes 64 x 64 px"),
        ("best.onnx", ["layout=yolov8", "sizes=640"], SpecError, "Did you mean 'size'"),
        ("text.onnx", ["layout=yolov8", "classes=NAMES"], DataError, "cannot be loaded"),
        ("", ["layout=yolov8"], DataError, "there is no visual.onnx"),
    ],
)
def test_wrong_names_and_options_say_what_is_wrong(tmp_path, name, options, error, message):
    yolo(tmp_path / "best.onnx")
    (tmp_path / "text.onnx").write_text("this is no graph")
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    options = [option.replace("NAMES", f"{tmp_path}/names.txt") for option in options]
    with pytest.raises(error, match=message):
        build(ModelSpec.parse(f"onnx/{tmp_path}/{name}", options))


def test_a_clip_pair_names_the_colour(tmp_path):
    pair(tmp_path)
    model = build(ModelSpec.parse(f"onnx/{tmp_path}"))
    colours = ("green", "red", "blue")
    prompts = [
        Prompt(Key(colour), (Turn("user", (picture(colour, (90, 40)), "?")),), wants="choice", labels=colours)
        for colour in ("red", "lime", "blue")
    ]
    replies = dict(model.answer(prompts))
    assert [replies[p.key].text for p in prompts] == ["red", "green", "blue"]
    for reply in replies.values():
        assert len(reply.option_scores) == 3
        assert max(reply.option_scores) == reply.option_scores[colours.index(reply.text)] <= 1
