"""`onnx/...`: exported detectors and CLIP pairs, over graphs made on the spot."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Turn
from snellen.models.table import build

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.tier2, pytest.mark.filterwarnings("default")]

BOXES = np.array([[32, 32, 16, 8], [32, 32, 17, 8], [10, 10, 4, 4]], dtype=np.float32)
SCORES = np.array([[0.9, 0.1], [0.8, 0.1], [0.05, 0.6]], dtype=np.float32)


def save(path, nodes, inputs, outputs, constants, **notes):
    """A graph as a file; `notes` are an export's own metadata."""
    kinds = {np.float32: onnx.TensorProto.FLOAT, np.int64: onnx.TensorProto.INT64}
    graph = onnx.helper.make_graph(
        nodes,
        "tiny",
        [onnx.helper.make_tensor_value_info(name, kinds[kind], shape) for name, kind, shape in inputs],
        [onnx.helper.make_tensor_value_info(name, kinds[kind], None) for name, kind in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    for key, value in notes.items():
        model.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    onnx.save(model, str(path))


def yolo(path, *, side=64, **notes):
    """Says the same of every picture, in YOLOv8's form."""
    said = np.concatenate([BOXES, SCORES], axis=1).T[None]
    node = onnx.helper.make_node
    nodes = [
        node("ReduceSum", ["images"], ["sum"], keepdims=0),
        node("Mul", ["sum", "zero"], ["nothing"]),
        node("Add", ["said", "nothing"], ["output0"]),
    ]
    constants = {"said": said, "zero": np.float32([0]).reshape(())}
    save(path, nodes, [("images", np.float32, [1, 3, side, side])], [("output0", np.float32)], constants, **notes)


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


def test_a_broken_picture_fails_alone_and_a_question_is_refused(tmp_path):
    yolo(tmp_path / "best.onnx", names="{0: 'cat', 1: 'dog'}")
    model = build(ModelSpec.parse(f"onnx/{tmp_path}/best.onnx", ["layout=yolov8"]))
    broken = Prompt(Key("broken"), (Turn("user", (Picture("x", lambda: b"no"),)),), wants="boxes")
    replies = dict(model.answer([broken, ask(1)]))
    assert isinstance(replies[Key("broken")], Failed)
    assert isinstance(replies[Key("s1")], Reply)
    with pytest.raises(SpecError, match="answers prompts for boxes"):
        list(model.answer([Prompt(Key("q"), ask().turns, wants="choice", labels=("a", "b"))]))


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


def pair(folder):
    """A CLIP pair that knows the colours: a picture's feature is its mean colour, a text's that of its words."""
    tokenizers = pytest.importorskip("tokenizers")
    node = onnx.helper.make_node
    nodes = [node("ReduceMean", ["pixel_values"], ["image_embeds"], axes=[2, 3], keepdims=0)]
    inputs, outputs = [("pixel_values", np.float32, [1, 3, 32, 32])], [("image_embeds", np.float32)]
    save(folder / "visual.onnx", nodes, inputs, outputs, {})
    table = np.float32([[0, 0, 0], [0, 0, 0], [2, -1, -1], [-1, 2, -1], [-1, -1, 2]])
    nodes = [
        node("Gather", ["table", "input_ids"], ["tokens"]),
        node("ReduceSum", ["tokens", "axis"], ["text_embeds"], keepdims=0),
    ]
    inputs, outputs = [("input_ids", np.int64, [1, None])], [("text_embeds", np.float32)]
    save(folder / "textual.onnx", nodes, inputs, outputs, {"table": table, "axis": np.array([1])})
    words = {"[PAD]": 0, "[UNK]": 1, "red": 2, "green": 3, "blue": 4}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


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
