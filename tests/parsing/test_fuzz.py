"""Ten thousand mangled replies, and texts of 100 kB: the laws of benchmarks/fuzz_parsing.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from snellen.parsing import quads
from snellen.parsing.scanner import Group


@pytest.fixture(scope="module")
def fuzzing() -> ModuleType:
    place = Path(__file__).parents[2] / "benchmarks/fuzz_parsing.py"
    spec = importlib.util.spec_from_file_location("fuzz_parsing", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_parsing"] = module
    spec.loader.exec_module(module)
    return module


def test_ten_thousand_mangled_replies_break_no_law(fuzzing: ModuleType) -> None:
    statuses = fuzzing.fuzz(10_000, seed=20)
    assert statuses["ok"] > 500  # the mangling leaves something to read
    assert statuses["truncated"] > 500


def test_the_fuzzer_finds_a_reader_that_takes_cut_numbers(fuzzing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(group: Group) -> tuple[float, ...] | None:
        found = [quads.numeric(value) for value in group.values]
        return None if None in found else tuple(x for x in found if x is not None)

    fuzzing.check("a: [1, 2, 3, 40", "glm-4.5v", "brackets")
    monkeypatch.setattr("snellen.parsing.formats.brackets.numbers_of", careless)
    with pytest.raises(AssertionError, match="not in the text"):
        fuzzing.check("a: [1, 2, 3, 40", "glm-4.5v", "brackets")


@pytest.mark.slow
def test_time_is_linear_in_the_length_of_loops(fuzzing: ModuleType) -> None:
    found = list(fuzzing.slowness(24_000, notations=("qwen3-vl",)))
    assert len(found) > 30
    assert [loop for loop, seconds, ratio in found if ratio > 3.4 and seconds > 0.3] == []


@pytest.mark.slow
def test_100_kb_of_anything_is_read_in_seconds(fuzzing: ModuleType) -> None:
    assert [loop for loop, seconds, ratio in fuzzing.slowness() if seconds > 30 or ratio > 4] == []
