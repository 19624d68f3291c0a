"""Prompts that ask for boxes, under a regime: what stands around the one question.

zero-shot: the picture and the question. few-shot: the same solved pictures before every question, one a turn.
knowledge: rules of each class. instructions: the annotators' instructions. PROTOCOLS sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from snellen.core.pictures import Picture
from snellen.core.stages import Key, Prompt, Sample, Turn
from snellen.prompts.rules import Chains, rules_text
from snellen.prompts.templates import Template

Calls: TypeAlias = Literal["multi", "single"]
Answer: TypeAlias = Callable[[tuple[str, ...]], str]

KNOWLEDGE = "Use the following rules to recognise each category:"
INSTRUCTIONS = "Use the following annotator instructions to improve detection accuracy:"


@dataclass(frozen=True)
class Example:
    """A solved picture; `answer` writes its complete answer for the classes asked about."""

    picture: Picture
    answer: Answer = field(repr=False)


@dataclass(frozen=True)
class Regime:
    """What stands around the question. Empty: zero-shot.

    examples: solved pictures, in order. rules: class -> chain, given in the length `chains`. instructions: what holds
    for all classes; class_instructions: class -> its own section (a single-class prompt gets only its class's).
    """

    examples: tuple[Example, ...] = ()
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    chains: Chains = "none"
    instructions: str = ""
    class_instructions: Mapping[str, str] = field(default_factory=dict)


def box_prompts(
    sample: Sample[Any],
    classes: Sequence[str],
    *,
    wording: Template,
    calls: Calls = "multi",
    regime: Regime | None = None,
    names: Mapping[str, str] | None = None,
) -> tuple[Prompt, ...]:
    """One prompt with all `classes`, or one per class (the call's name is the class); none where no class is asked.

    names: class -> the name used in the prompt, where it is another.
    """
    around = regime or Regime()
    groups = [tuple(classes)] if calls == "multi" and classes else [(name,) for name in classes]
    return tuple(
        Prompt(
            Key(sample.id, "" if calls == "multi" else group[0]),
            _turns(sample, group, wording=wording, alone=calls == "single", regime=around, names=names or {}),
            wants="boxes",
            labels=group,
            max_tokens=wording.max_tokens,
        )
        for group in groups
    )


def _turns(
    sample: Sample[Any],
    group: tuple[str, ...],
    *,
    wording: Template,
    alone: bool,
    regime: Regime,
    names: Mapping[str, str],
) -> tuple[Turn, ...]:
    question = wording.question(tuple(names.get(name, name) for name in group), alone=alone)
    question = " ".join(filter(None, [question, *_knowledge(group, regime, alone=alone)]))
    turns = [Turn("system", (wording.system,))] if wording.system else []
    for example in regime.examples[: wording.max_examples]:
        turns.append(Turn("user", (example.picture, question)))
        turns.append(Turn("assistant", (example.answer(group),)))
    return (*turns, Turn("user", (*sample.pictures, question)))


def _knowledge(group: tuple[str, ...], regime: Regime, *, alone: bool) -> list[str]:
    parts = []
    if regime.chains != "none":
        parts.append(f"{KNOWLEDGE}\n{rules_text(group, regime.rules, chains=regime.chains)}")
    own = [f"{name}: {regime.class_instructions[name]}" for name in group if regime.class_instructions.get(name)]
    if alone and own:
        parts.append(f"{INSTRUCTIONS} {own[0].partition(': ')[2]}")
    elif regime.instructions or own:
        parts.append(f"{INSTRUCTIONS} {' '.join(filter(None, [regime.instructions, *own]))}")
    return parts
