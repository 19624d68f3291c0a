"""Class names: what is the same, what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.core.errors import DataError
from snellen.core.labels import ClassIndex, collisions


def test_the_variants_of_the_shared_case(shared: Path) -> None:
    lines = (shared / "cases" / "cases.jsonl").read_text().splitlines()
    case = next(row for row in map(json.loads, lines) if row["id"] == "class-name-variants")
    find = ClassIndex(case["input"]["classes"])
    for name, variants in case["expected"]["same_after_normalising"].items():
        assert {find.classes[find(variant)] for variant in variants} == {name}
    assert {find(label) for label in case["expected"]["not_same"]} == {-1}


def test_two_classes_that_fall_together_are_refused() -> None:
    assert collisions(["a-b", "c", "A B"]) == [("a-b", "A B")]
    with pytest.raises(DataError, match="'a-b' and 'A B' are one name"):
        ClassIndex(["a-b", "A B"])


def test_an_alias_leads_to_its_class_and_only_to_one() -> None:
    assert ClassIndex(["cat", "dog"], aliases={"dog": ["Hound"]})("hound") == 1
    with pytest.raises(DataError, match="already means 'cat'"):
        ClassIndex(["cat", "dog"], aliases={"dog": ["cat"]})


def test_names_of_punctuation_alone_stay_apart() -> None:
    assert ClassIndex(["+", "-"])("+") == 0
