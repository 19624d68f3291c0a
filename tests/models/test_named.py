from __future__ import annotations

import pytest

from snellen.core.errors import DataError, SpecError
from snellen.core.specs import ModelSpec
from snellen.models.named import resolve

YAML = """
mine:
  model: openai/qwen
  base_url: http://h/v1
  concurrency: 4
plain: random
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "models.yaml"
    path.write_text(YAML)
    return path


def test_a_name_stands_for_its_entry_and_typed_options_win(file) -> None:
    spec = resolve("@mine", ["concurrency=9"], file=file)
    assert spec == ModelSpec("openai", "qwen", {"base_url": "http://h/v1", "concurrency": 9})


def test_an_entry_may_be_a_name_alone(file) -> None:
    assert resolve("@plain", file=file) == ModelSpec("random", "")


def test_without_at_it_is_a_provider_and_a_name(file) -> None:
    assert resolve("openai/a/b", ["temperature=0"], file=file) == ModelSpec("openai", "a/b", {"temperature": 0})


def test_a_wrong_name_is_told(file) -> None:
    with pytest.raises(SpecError, match="Did you mean '@mine'"):
        resolve("@mien", file=file)


@pytest.mark.parametrize("text", ["bad: 5", "bad: {name: x}", "- mine", "mine: {"])
def test_a_file_that_is_wrong_is_told_with_its_place(file, text) -> None:
    file.write_text(text)
    with pytest.raises(DataError, match=r"models\.yaml"):
        resolve("@mine", file=file)


def test_no_file_is_told(tmp_path) -> None:
    with pytest.raises(SpecError, match="there is none"):
        resolve("@mine", file=tmp_path / "models.yaml")
