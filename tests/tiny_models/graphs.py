"""ONNX graphs made on the spot: a detector that says the same of every picture, a CLIP pair that knows the colours."""

from __future__ import annotations

import numpy as np

BOXES = np.array([[32, 32, 16, 8], [32, 32, 17, 8], [10, 10, 4, 4]], dtype=np.float32)
SCORES = np.array([[0.9, 0.1], [0.8, 0.1], [0.05, 0.6]], dtype=np.float32)


def save(path, nodes, inputs, outputs, constants, **notes):
    """A graph as a file; `notes` are an export's own metadata."""
    import onnx

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
    import onnx

    said = np.concatenate([BOXES, SCORES], axis=1).T[None]
    node = onnx.helper.make_node
    nodes = [
        node("ReduceSum", ["images"], ["sum"], keepdims=0),
        node("Mul", ["sum", "zero"], ["nothing"]),
        node("Add", ["said", "nothing"], ["output0"]),
    ]
    constants = {"said": said, "zero": np.float32([0]).reshape(())}
    save(path, nodes, [("images", np.float32, [1, 3, side, side])], [("output0", np.float32)], constants, **notes)


def pair(folder):
    """A CLIP pair that knows the colours: a picture's feature is its mean colour, a text's that of its words."""
    import onnx
    import tokenizers

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
