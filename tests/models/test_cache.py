from __future__ import annotations

import io
from dataclasses import replace

import pytest
from PIL import Image

from snellen.core.errors import StoreError
from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Turn, Usage
from snellen.models.cache import HITS_HELD, CachedModel, ReplyCache, key_of
from snellen.models.fake import FakeModel


def picture(colour: str, name: str = "p.png") -> Picture:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(buffer, "PNG")
    return Picture(name, buffer.getvalue)


def prompt(name: str = "a", text: str = "which?", colour: str = "red") -> Prompt:
    return Prompt(Key(name), (Turn("user", (picture(colour), text)),), "choice", ("x", "y"))


class Counting:
    def __init__(self, spec: ModelSpec | None = None, script=None) -> None:
        self.spec = spec or ModelSpec("fake", "one")
        self.asked: list[Key] = []
        self.script = script or (lambda p: Reply(p.text, usage=Usage(5, 1), seconds=0.5))

    def answer(self, prompts):
        for asked in prompts:
            self.asked.append(asked.key)
            yield from FakeModel(self.script).answer([asked])


@pytest.fixture
def cache(tmp_path) -> ReplyCache:
    return ReplyCache(tmp_path / "deep" / "replies.sqlite")


def ask(model, cache, *prompts) -> dict:
    return dict(CachedModel(model, cache).answer(prompts))


def test_what_was_asked_before_is_not_asked_again(cache) -> None:
    first, again = Counting(), Counting()
    one = ask(first, cache, prompt("a"), prompt("b", "what?"))
    two = ask(again, cache, prompt("b", "what?"), prompt("a"))
    assert one == two
    assert (len(first.asked), again.asked) == (2, [])


def test_one_question_under_two_names_is_one_question(cache) -> None:
    ask(Counting(), cache, prompt("a"))
    again = Counting()
    assert ask(again, cache, prompt("elsewhere"))[Key("elsewhere")].text == "which?"
    assert again.asked == []


@pytest.mark.parametrize(
    "change",
    [
        lambda p: prompt(text="what?"),
        lambda p: prompt(colour="blue"),
        lambda p: replace(p, labels=("y", "x")),
        lambda p: replace(p, max_tokens=9),
        lambda p: replace(p, schema={"type": "object"}),
        lambda p: replace(p, wants="text"),
        lambda p: replace(p, template="{label}"),
        lambda p: p.drawn(1),
        lambda p: replace(p, turns=(Turn("system", ("be brief",)), *p.turns)),
        lambda p: replace(p, turns=(Turn("user", tuple(reversed(p.turns[0].parts))),)),
    ],
)
def test_whatever_a_model_can_see_makes_another_question(cache, change) -> None:
    ask(Counting(), cache, prompt())
    again = Counting()
    ask(again, cache, change(prompt()))
    assert len(again.asked) == 1


def test_a_text_is_not_taken_for_a_picture() -> None:
    shown = prompt()
    words = replace(shown, turns=(Turn("user", (shown.pictures[0].sha256(), "which?")),))
    assert key_of(shown, b"") != key_of(words, b"")


@pytest.mark.parametrize(
    ("options", "known"),
    [({"temperature": 1}, False), ({"base_url": "http://other/v1"}, False), ({"concurrency": 2}, True)],
)
def test_another_model_or_server_is_asked_itself(cache, options, known) -> None:
    ask(Counting(), cache, prompt())
    again = Counting(ModelSpec("fake", "one", options))
    ask(again, cache, prompt())
    assert (again.asked == []) is known


def test_failures_are_never_kept(cache) -> None:
    assert ask(Counting(script=lambda p: Failed("timeout")), cache, prompt())[Key("a")] == Failed("timeout")
    again = Counting()
    ask(again, cache, prompt())
    assert len(again.asked) == 1


def test_a_picture_that_cannot_be_read_is_failed_not_raised(cache, tmp_path) -> None:
    lost = replace(prompt("lost"), turns=(Turn("user", (Picture.from_file(tmp_path / "none.png"),)),))
    found = ask(Counting(), cache, lost, prompt("b"))
    assert found[Key("lost")].cause == "picture"
    assert found[Key("b")].text == "which?"


def test_many_hits_are_handed_on_as_they_come(cache) -> None:
    ask(Counting(), cache, prompt())
    pulled = 0

    def source():
        nonlocal pulled
        for i in range(1200):
            pulled += 1
            yield prompt(str(i)) if i % 300 else prompt(str(i), f"new {i}")

    model = Counting()
    answers = CachedModel(model, cache).answer(source())
    next(answers)
    assert pulled <= HITS_HELD + 2
    assert len(list(answers)) == 1199
    assert len(model.asked) == 4


def test_no_prompts_are_no_answers(cache) -> None:
    assert ask(Counting(), cache) == {}


def test_two_caches_on_one_file_do_not_disturb_each_other(cache) -> None:
    other = ReplyCache(cache.path)
    cache.put(b"1", Reply("one"), model="m")
    other.put(b"1", Reply("late"), model="m")
    other.put(b"2", Reply("two"), model="n")
    assert cache.get(b"1") == Reply("one")
    assert cache.get(b"2") == Reply("two")
    assert cache.size().models == (("m", 1), ("n", 1))
    assert cache.clear(model="m") == 1
    assert (other.get(b"1"), other.size().replies) == (None, 1)
    assert cache.clear() == 1


def test_a_file_that_is_no_cache_is_told(tmp_path) -> None:
    (tmp_path / "x").write_text("something else, and long enough to be taken for a header of a data base file" * 9)
    with pytest.raises(StoreError, match="cannot be used"):
        ReplyCache(tmp_path / "x")
    assert (tmp_path / "x").read_text().startswith("something else")
