from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from snellen.core.errors import DataError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models.table import build

PROMPTS = [Prompt(Key(name, draw=draw), (Turn("user", ("which?",)),)) for name in "ab" for draw in (0, 1)]
LINES = b"""{"sample": "a", "text": "first"}
{"sample": "a", "text": "second"}
{"sample": "a", "draw": 1, "text": "again"}
{"sample": "b", "failed": "timeout"}
{"sample": "b", "draw": 1, "failed": "timeout"}
{"sample": "b", "draw": 1, "text": "late"}
"""


def replayed(path: Path) -> dict:
    return dict(build(ModelSpec("replay", str(path))).answer(PROMPTS))


@pytest.mark.parametrize("name", ["answers.jsonl", "answers.jsonl.gz"])
def test_the_first_reply_to_a_key_counts_and_a_failure_is_none(tmp_path, name) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(LINES) if name.endswith("gz") else LINES)
    found = replayed(path)
    assert found[Key("a")] == Reply("first")
    assert found[Key("a", draw=1)] == Reply("again")
    assert found[Key("b")].cause == "missing"
    assert found[Key("b", draw=1)] == Reply("late")


def test_the_spec_tells_what_was_read_and_notices_a_change(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES)
    spec = build(ModelSpec("replay", str(path))).spec
    assert len(spec.options["sha256"]) == 64
    build(spec)
    path.write_bytes(LINES.replace(b"late", b"soon"))
    with pytest.raises(DataError, match="have changed"):
        build(spec)


@pytest.mark.parametrize(
    ("text", "word"), [(b"red\n", "line 1"), (b'{"sample": "a", "text": "x"}\n{"sample": "b", "te', "line 2")]
)
def test_a_file_that_holds_something_else_is_refused(tmp_path, text, word) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)
    with pytest.raises(DataError, match=word):
        replayed(path)


def test_a_folder_that_is_no_run_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="run folder or a file"):
        replayed(tmp_path)
