"""Rules of classes as text: what is given in which length, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.core.errors import DataError
from snellen.prompts.rules import rules_text

CONTRAST = {"against": "bag", "rule": "it keeps its shape"}


@pytest.mark.parametrize(
    ("chain", "chains", "text"),
    [
        ({"primary_cue": "a neck", "observation": "clear"}, "short", "Primary cue: a neck."),
        ({"observation": "clear", "primary_cue": "a neck."}, "full", "Primary cue: a neck. Observation: clear."),
        ({"contrastive_rules": [CONTRAST]}, "short", "Not to be confused with bag: it keeps its shape."),
        ({"how_it_floats": "low", "primary_cue": "a neck"}, "full", "Primary cue: a neck. How it floats: low."),
    ],
    ids=["short takes the cue", "full takes all, in the order of the paper", "contrast", "a field of one's own"],
)
def test_a_chain_is_written_in_the_length_asked_for(chain: dict[str, Any], chains: Any, text: str) -> None:
    assert rules_text(["bottle"], {"bottle": chain}, chains=chains) == f"bottle: {text}"


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ({}, "no rules for the classes bottle"),
        ({"observation": "clear"}, "short takes primary_cue and contrastive_rules"),
        ({"contrastive_rules": [{"against": "bag"}]}, "a contrastive rule is {against: CLASS, rule: TEXT}"),
        ({"contrastive_rules": "not a bag"}, "class 'bottle'"),
    ],
    ids=["none", "none of this length", "a contrast without its rule", "a contrast that is a text"],
)
def test_a_class_without_a_usable_chain_is_refused_by_name(chain: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        rules_text(["bottle"], {"bottle": chain}, chains="short")


def test_no_chains_is_no_text() -> None:
    assert rules_text(["bottle"], {}, chains="none") == ""
