from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models import fake, table
from snellen.models.table import build, identity


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"Did you mean 'oracle'\? Known: .*majority.*openai.*replay"):
        build(ModelSpec("orcale", ""))


def test_another_package_adds_a_provider_by_an_entry_point(monkeypatch) -> None:
    added = EntryPoint("mine", "snellen.models.fake:fake", table.GROUP)
    monkeypatch.setattr(table, "entry_points", lambda group: [added] if group == table.GROUP else [])
    model = build(ModelSpec("mine", "x", {"text": "red"}))
    assert isinstance(model, fake.FakeModel)


def test_an_entry_point_does_not_replace_one_of_the_table(monkeypatch) -> None:
    monkeypatch.setattr(table, "entry_points", lambda group: [EntryPoint("random", "nowhere:nothing", table.GROUP)])
    assert build(ModelSpec("random", "")).seed == 0


def test_how_a_model_is_reached_is_no_part_of_its_identity() -> None:
    one = ModelSpec("openai", "x", {"base_url": "http://a/v1", "concurrency": 4, "temperature": 0})
    two = ModelSpec("openai", "x", {"base_url": "http://b/v1", "temperature": 0})
    three = ModelSpec("openai", "x", {"temperature": 1})
    assert identity(one) == identity(two) != identity(three)


@pytest.mark.parametrize(
    ("text", "options", "word"),
    [
        ("fake", {"txt": "x"}, "Did you mean 'text'"),
        ("fake", {"fail": 2}, "from 0 to 1"),
        ("fake", {"texts": []}, "at least one"),
        ("random", {"seed": "x"}, "whole number"),
        ("oracle", {}, "needs the task"),
        ("majority", {}, "needs the task"),
        ("replay", {}, "replay/PATH"),
    ],
)
def test_a_bad_spec_is_refused_with_its_reason(text, options, word) -> None:
    with pytest.raises(SpecError, match=word):
        build(ModelSpec(text, "", options))


def test_a_script_may_be_a_mapping_or_a_function() -> None:
    prompts = [Prompt(Key(name), (Turn("user", ("which?",)),), labels=("l",)) for name in "ab"]
    assert dict(fake.FakeModel({"a": "red"}).answer(prompts))[Key("a")] == Reply("red")
    assert dict(fake.FakeModel({"a": "red"}).answer(prompts))[Key("b")].cause == "missing"
    assert dict(fake.FakeModel(lambda p: p.labels[0]).answer(prompts))[Key("b")] == Reply("l")
