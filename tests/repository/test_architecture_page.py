"""What docs/architecture.md says about adding things is run as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"


def test_the_examples_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("a.png", "b.png"):
        Image.new("RGB", (200, 100)).save(data / name)
    bottle = {"id": "1", "label": "bottle", "box": [100, 200, 300, 400], "chain": {"primary_cue": "neck"}}
    records = [{"image": "a.png", "width": 200, "height": 100, "instances": [bottle]},
               {"image": "b.png", "width": 200, "height": 100, "instances": []}]  # fmt: skip
    (data / "test.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"folder": tmp_path}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert len(blocks) == 5


def test_the_page_and_the_contract_name_the_same_layers() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    told = re.search(r"^    cli > .*?core$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    held = re.search(r"layers = \[(.*?)\]", project, re.DOTALL)
    assert told is not None
    assert held is not None
    assert re.findall(r"\w+", told[0]) == re.findall(r"\w+", held[1])
