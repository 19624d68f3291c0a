from __future__ import annotations

from collections.abc import Iterator

import pytest

from snellen.core.errors import SpecError, StoreError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Reply, Usage
from snellen.models.fake import FakeModel
from snellen.models.table import build
from snellen.runs.loop import Choices, open_or_create, retry_choices, run, work
from snellen.runs.manifest import Selection
from snellen.runs.store import Run


class Recorder:
    """Remembers what it was asked; `script` answers."""

    def __init__(self, script="red") -> None:
        self.inner = FakeModel(script)
        self.asked: list[Key] = []

    @property
    def spec(self) -> ModelSpec:
        return self.inner.spec

    def answer(self, prompts) -> Iterator[tuple[Key, Reply | Failed]]:
        for prompt in prompts:
            self.asked.append(prompt.key)
            yield from self.inner.answer([prompt])


def every_third_fails(prompt):
    return Failed("timeout") if int(prompt.key.sample[1:]) % 3 == 0 else "red"


def test_every_call_of_every_draw_is_asked_once_in_order(make_toy, tmp_path) -> None:
    task, model = make_toy(4, calls=2), Recorder()
    run(task, model, tmp_path / "r", draws=3)
    assert model.asked == [prompt.key for prompt in task.requests(3)]


def test_a_complete_run_asks_nothing_again(make_toy, tmp_path) -> None:
    run(make_toy(), Recorder(), tmp_path / "r")
    again = Recorder()
    run(make_toy(), again, tmp_path / "r")
    assert again.asked == []


def test_an_interrupted_run_goes_on_where_it_was(make_toy, tmp_path) -> None:
    def interrupted(prompt):
        if prompt.key.sample == "s0010":
            raise KeyboardInterrupt
        return "red"

    with pytest.raises(KeyboardInterrupt):
        run(make_toy(), Recorder(interrupted), tmp_path / "r")
    assert Run.open(tmp_path / "r").holder() is None, "the lease is given back"
    again = Recorder()
    here = run(make_toy(), again, tmp_path / "r")
    assert again.asked[0] == Key("s0010")
    assert len(again.asked) == 20
    assert len(dict(here.replies())) == 30


def test_running_again_asks_what_failed_and_the_first_success_counts(make_toy, tmp_path) -> None:
    here = run(make_toy(), Recorder(every_third_fails), tmp_path / "r")
    assert len(here.answered()[1]) == 10
    again = Recorder("late")
    run(make_toy(), again, tmp_path / "r")
    assert [key.sample for key in again.asked] == [f"s{i:04}" for i in range(0, 30, 3)]
    found = dict(here.replies())
    assert not [answer for answer in found.values() if isinstance(answer, Failed)]
    assert found[Key("s0000")].text == "late"
    assert found[Key("s0001")].text == "red"


def test_retry_asks_what_failed_and_nothing_else(make_toy, tmp_path) -> None:
    here = run(make_toy(), Recorder(every_third_fails), tmp_path / "r", max_requests=9)
    assert len(here.answered()[0]) == 6
    again = Recorder()
    work(here, make_toy(), again, retry_choices(here, Choices()))
    assert [key.sample for key in again.asked] == ["s0000", "s0003", "s0006"]


def test_max_requests_ends_cleanly_and_counts_this_invocation(make_toy, tmp_path) -> None:
    for expected in (12, 24, 30):
        here = run(make_toy(), Recorder(), tmp_path / "r", max_requests=12)
        assert len(here.answered()[0]) == expected


def test_a_server_that_is_down_ends_the_run_instead_of_failing_everything(make_toy, tmp_path) -> None:
    task, model = make_toy(200), Recorder(lambda prompt: Failed("connection", "refused"))
    choices = Choices(give_up=20)
    here = open_or_create(task, model, tmp_path / "r", choices)
    state = work(here, task, model, choices)
    assert len(model.asked) <= 21
    assert state.stopped == "20 requests failed one after the other, the last by connection: refused"


def test_scattered_failures_do_not_end_a_run(make_toy, tmp_path) -> None:
    task, model = make_toy(200), Recorder(every_third_fails)
    here = open_or_create(task, model, tmp_path / "r", Choices(give_up=5))
    assert work(here, task, model, Choices(give_up=5)).stopped == ""


def test_stop_ends_cleanly_with_its_reason(make_toy, tmp_path) -> None:
    task, model = make_toy(), Recorder()
    choices = Choices(stop=lambda state: "enough" if state.asked >= 5 else "")
    here = open_or_create(task, model, tmp_path / "r", choices)
    assert work(here, task, model, choices).stopped == "enough"
    assert len(here.answered()[0]) == 5


def test_progress_counts_before_and_now(make_toy, tmp_path) -> None:
    run(make_toy(), Recorder(every_third_fails), tmp_path / "r", max_requests=10)
    seen = []
    usage = FakeModel(lambda prompt: Reply("x", usage=Usage(10, 2)))
    run(make_toy(), usage, tmp_path / "r", progress=seen.append)
    assert (seen[0].requests, seen[0].done, seen[0].failed, seen[0].asked) == (30, 7, 3, 1)
    assert (seen[-1].done, seen[-1].failed, seen[-1].asked, seen[-1].waiting) == (30, 0, 24, 0)
    assert seen[-1].usage == Usage(240, 48)
    assert seen[-1].remaining == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"model": FakeModel("red", ModelSpec("fake", "", {"text": "blue"}))}, "another model"),
        ({"draws": 2}, "another draws"),
        ({"limit": 5}, "another selection"),
        ({"count": 31}, "another task"),
    ],
)
def test_another_run_is_not_mixed_in(make_toy, tmp_path, change, word) -> None:
    run(make_toy(), Recorder(), tmp_path / "r")
    task = make_toy(change.pop("count", 30))
    with pytest.raises(StoreError, match=word):
        run(task, change.pop("model", Recorder()), tmp_path / "r", **change)


def test_data_that_changed_under_a_run_are_noticed(make_toy, tmp_path) -> None:
    task = make_toy()
    run(task, Recorder(), tmp_path / "r", max_requests=3)
    task.samples[5] = task.samples[4].__class__("s0005", task.samples[4].truth)
    with pytest.raises(StoreError, match="have changed"):
        run(task, Recorder(), tmp_path / "r")


def test_a_model_that_answers_twice_or_unasked_is_a_fault(make_toy, tmp_path) -> None:
    class Twice(Recorder):
        def answer(self, prompts):
            for prompt in prompts:
                yield prompt.key, Reply("x")
                yield prompt.key, Reply("y")

    with pytest.raises(SpecError, match="not asked, or twice"):
        run(make_toy(), Twice(), tmp_path / "r")


def test_a_prompt_that_a_model_leaves_out_is_a_failure_not_a_gap(make_toy, tmp_path) -> None:
    class Lazy(Recorder):
        def answer(self, prompts):
            for prompt in prompts:
                if prompt.key.sample != "s0003":
                    yield prompt.key, Reply("x")

    here = run(make_toy(), Lazy(), tmp_path / "r")
    assert dict(here.replies())[Key("s0003")].cause == "unanswered"


def test_two_prompts_under_one_key_are_a_fault_of_the_task(make_toy, tmp_path) -> None:
    task = make_toy(2)
    same = task.prompts
    object.__setattr__(task, "prompts", lambda sample: [*same(sample), *same(sample)])
    with pytest.raises(SpecError, match="asks twice"):
        run(task, Recorder(), tmp_path / "r")


def test_two_samples_of_one_id_are_a_fault_of_the_task(make_toy, tmp_path) -> None:
    task = make_toy(3)
    task.samples.append(task.samples[0])
    with pytest.raises(SpecError, match="'s0000'"):
        run(task, Recorder(), tmp_path / "r")


def test_a_run_remembers_its_selection(make_toy, tmp_path) -> None:
    here = run(make_toy(), Recorder(), tmp_path / "r", sample=6, seed=3)
    assert here.selected() == {key.sample for key, _ in here.replies()}
    assert len(here.selected()) == 6
    assert here.manifest.selection == Selection(sample=6, seed=3)
    again = Recorder()
    run(make_toy(), again, tmp_path / "r", sample=6, seed=3)
    assert again.asked == []


def test_exchanges_come_in_the_order_of_the_task(make_toy, tmp_path) -> None:
    class Backwards(Recorder):
        def answer(self, prompts):
            for prompt in list(prompts)[::-1]:
                yield prompt.key, Reply(prompt.key.sample)

    task = make_toy(9, calls=2)
    here = run(task, Backwards(), tmp_path / "r", draws=2)
    found = list(here.exchanges(task))
    assert [sample.id for sample, _ in found] == [sample.id for sample in task.samples]
    for sample, exchanges in found:
        assert [x.prompt.key[1:] for x in exchanges] == [("call0", 0), ("call0", 1), ("call1", 0), ("call1", 1)]
        assert {x.reply.text for x in exchanges} == {sample.id}


def test_the_replies_of_a_run_can_be_replayed(make_toy, tmp_path) -> None:
    first = run(make_toy(), build(ModelSpec("random", "", {"seed": 1})), tmp_path / "a")
    second = run(make_toy(), build(ModelSpec("replay", str(tmp_path / "a"))), tmp_path / "b")
    assert dict(first.replies()) == dict(second.replies())


def test_new_answers_make_old_results_go(make_toy, tmp_path) -> None:
    here = run(make_toy(), Recorder(), tmp_path / "r", max_requests=5)
    here.write_results({"task": "toy"})
    run(make_toy(), Recorder(), tmp_path / "r", max_requests=5)
    assert not here.scored()
    run(make_toy(), Recorder(), tmp_path / "r")
    here.write_results({"task": "toy"})
    run(make_toy(), Recorder(), tmp_path / "r")
    assert here.scored(), "nothing was asked, so nothing is old"
