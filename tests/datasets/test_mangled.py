"""Files mangled at random end in data or in an error that names the file; never in a crash."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.datasets.load import load_data
from snellen.datasets.predictions import read_predictions

VALUES: list[Any] = [
    None, True, 0, -1, "1", "", [], {}, [1], {"a": 1}, float("nan"), float("inf"), 2**70, -5.5, "../a.jpg", "a.jpg",
    10**30, [1, 2, 3, 4], ["a", 1, 2, 3], "none",
]  # fmt: skip


def sound() -> dict[str, Any]:
    boxes = [
        {
            "id": i + 1,
            "image_id": 1 + i % 2,
            "category_id": 1 + i % 2,
            "bbox": [i, i, 10, 12],
            "area": 120,
            "iscrowd": 0,
        }
        for i in range(4)
    ]
    return {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 50, "height": 40} for i in (1, 2)],
        "annotations": boxes,
        "categories": [{"id": 1, "name": "x", "supercategory": "none"}, {"id": 2, "name": "y"}],
        "info": {},
    }


def refusal(action: Callable[[], object]) -> str | None:
    """What a SnellenError said, None where there was none; anything else goes through."""
    try:
        action()
    except SnellenError as error:
        return str(error)
    return None


def mangled(document: Any, rng: random.Random) -> Any:
    """One to three places of `document` removed, doubled or replaced."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        node, key, parent = document, None, None
        while isinstance(node, dict | list) and node and (key is None or rng.random() < 0.85):
            key, parent = (rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))), node
            node = node[key]
        if parent is None:
            return document
        chance = rng.random()
        if chance < 0.2:
            del parent[key]
        elif chance < 0.3 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
    return document


@pytest.mark.parametrize("seed", range(3))
def test_a_mangled_coco_file_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "gt.json"
    said = []
    for _ in range(50):
        path.write_text(json.dumps(mangled(sound(), rng)))
        said.append(refusal(lambda: list(load_data(path).samples())))
    assert None in said
    assert all("gt.json" in text for text in said if text is not None)


@pytest.mark.parametrize("seed", range(3))
def test_mangled_predictions_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    (tmp_path / "gt.json").write_text(json.dumps(sound()))
    data = load_data(tmp_path / "gt.json")
    rows = [{"image_id": 1 + i % 2, "category_id": 1, "bbox": [i, i, 5, 5], "score": 0.5} for i in range(3)]
    said = []
    for _ in range(50):
        (tmp_path / "dt.json").write_text(json.dumps(mangled(rows, rng)))
        said.append(refusal(lambda: read_predictions(tmp_path / "dt.json", data)))
    assert None in said
    assert all("dt.json" in text for text in said if text is not None)


@pytest.mark.parametrize("seed", range(3))
def test_mangled_bytes_of_every_text_format_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    record = {"image": "a.jpg", "width": 9, "height": 9, "instances": [{"label": "x", "box": [1, 2, 3, 4]}]}
    texts = {
        "gt.json": json.dumps(sound()),
        "r.jsonl": json.dumps(record) + "\n" + json.dumps(record).replace("a.jpg", "b.jpg"),
        "a.xml": "<annotation><filename>a.jpg</filename><size><width>9</width><height>9</height></size><object>"
        "<name>x</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>",
    }
    for name, text in texts.items():
        path = tmp_path / name
        for _ in range(25):
            data = bytearray(text.encode())
            for _ in range(rng.randint(1, 4)):
                place = rng.randrange(len(data))
                data[place : place + rng.randint(0, 9)] = bytes(rng.randrange(256) for _ in range(rng.randint(0, 4)))
            path.write_bytes(data)
            said = refusal(lambda path=path: list(load_data(path).samples()))
            assert said is None or name in said
