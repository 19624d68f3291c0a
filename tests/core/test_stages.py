"""The nouns carry every kind of work through the same loop, store and tabulation, without a special case.

Each task below is tiny and whole: samples, prompts, a reader, a tabulator. What differs is only the type of the value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.boxes import BoxNotation
from snellen.core.detections import Detections
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Choice, Exchange, Failed, Key, Model, Prompt, Reading, Reply, Sample, Task, Token, Turn
from snellen.core.tables import Table, Tables
from snellen.evals.scores import tabulate
from snellen.evals.votes import majority
from snellen.models.fake import FakeModel
from snellen.models.table import build
from snellen.runs.loop import run

TENTHS = BoxNotation("xyxy", 10)


def picture(name: str) -> Picture:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 20), "gray").save(buffer, "PNG")
    return Picture(name, buffer.getvalue, Size(40, 20))


def table(pairs, columns) -> Tables:
    """An outcomes row per sample: the columns every task has, and those of this one."""
    rows = [
        {"sample": s.id, "cluster": s.cluster or s.id, "status": r.status, "salvage": r.salvage, "reason": r.reason,
         "unread": r.unread, **columns(s, r)}
        for s, r in pairs
    ]  # fmt: skip
    return Tables(Table.of_rows(rows))


def answered(task: Task[Any, Any], model: Model, tmp_path, *, draws: int = 1) -> Table:
    """Through the real loop and store, to the derived table."""
    here = run(task, model, tmp_path / "run", draws=draws)
    tables, missing = tabulate(task, here.answers(), draws=draws)
    assert missing == []
    return tables.outcomes


# a closed question ----------------------------------------------------------------------------------------------------

COLOURS = ("red", "green", "blue")


def closed(*, votes: bool = False) -> Task[Choice, str]:
    samples = [Sample(c, Choice(c, COLOURS, "color"), (picture(c),)) for c in COLOURS]

    def prompts(sample: Sample[Choice]) -> list[Prompt]:
        return [Prompt(Key(sample.id), (Turn("user", (*sample.pictures, "Which colour?")),), "choice", COLOURS)]

    def word(exchange: Exchange) -> str:
        return exchange.reply.text.strip(" .").lower()

    def read(sample: Sample[Choice], exchanges: Sequence[Exchange]) -> Reading[str]:
        (exchange,) = exchanges
        if exchange.reply.finish == "refused":
            return Reading(None, "refused", reason=exchange.reply.text)
        return Reading(word(exchange) if word(exchange) in COLOURS else "other")

    def tables(pairs: Any) -> Tables:
        return table(pairs, lambda s, r: {"answer": r.value, "correct": r.value == s.truth.target})

    return Task({"task": "closed"}, samples, prompts, read, tables, lambda s, p: Reply(s.truth.target),
                majority if votes else None)  # fmt: skip


def test_a_closed_question(tmp_path) -> None:
    said = {"red": "Red.", "green": "purple", "blue": Reply("I would rather not.", finish="refused")}
    found = answered(closed(), FakeModel(said), tmp_path)
    assert found["answer"].tolist() == ["red", "other", ""]
    assert found["correct"].tolist() == [True, False, False]
    assert found["status"].tolist() == ["ok", "ok", "refused"]


def test_a_scorer_of_options_answers_the_same_prompt(tmp_path) -> None:
    """It has no words, only `labels` and the last picture; its answer is the best of its scores."""

    def scored(prompt: Prompt) -> Reply:
        assert prompt.pictures[-1].image().size == (40, 20)
        scores = tuple(float(prompt.template.format(label=label).endswith("green")) for label in prompt.labels)
        return Reply(prompt.labels[int(np.argmax(scores))], option_scores=scores)

    assert answered(closed(), FakeModel(scored), tmp_path)["answer"].tolist() == ["green"] * 3


def test_draws_are_observations_of_their_own_unless_the_task_takes_votes(tmp_path) -> None:
    def moody(prompt: Prompt) -> str:
        return "red" if prompt.key.draw < 2 else "blue"

    apart = answered(closed(), FakeModel(moody), tmp_path / "a", draws=3)
    assert apart["answer"].tolist() == ["red", "red", "blue"] * 3
    voted = answered(closed(votes=True), FakeModel(moody), tmp_path / "b", draws=3)
    assert voted["answer"].tolist() == ["red"] * 3


# boxes ----------------------------------------------------------------------------------------------------------------

TRUTH = Detections(np.array([[4.0, 2, 20, 10], [0, 0, 8, 8]]), ("cat", "dog"))


def boxes(*, calls: str = "multi") -> Task[Detections, Detections]:
    samples = [Sample("one", TRUTH, (picture("one"),)), Sample("none", Detections.empty(), (picture("none"),))]

    def prompts(sample: Sample[Detections]) -> list[Prompt]:
        groups = [("", ("cat", "dog"))] if calls == "multi" else [("cat", ("cat",)), ("dog", ("dog",))]
        turns = (Turn("user", (*sample.pictures, "Boxes, please.")),)
        return [Prompt(Key(sample.id, name), turns, "boxes", labels) for name, labels in groups]

    def one(sample: Sample[Detections], exchange: Exchange) -> Reading[Detections]:
        if exchange.reply.detections is not None:
            return Reading(exchange.reply.detections)
        try:
            rows = json.loads(exchange.reply.text)
        except json.JSONDecodeError as error:
            return Reading(None, "malformed", reason=str(error))
        good = [row for row in rows if len(row["box"]) == 4]
        found = TENTHS.decode([row["box"] for row in good], size=sample.pictures[-1].upright_size())
        return Reading(Detections(found, tuple(row["label"] for row in good)), unread=len(rows) - len(good))

    def read(sample: Sample[Detections], exchanges: Sequence[Exchange]) -> Reading[Detections]:
        readings = [one(sample, exchange) for exchange in exchanges]
        bad = [reading for reading in readings if reading.value is None]
        if bad:
            return bad[0]
        merged = Detections.concatenate([r.value for r in readings if r.value is not None])
        return Reading(merged, unread=sum(r.unread for r in readings))

    def target(sample: Sample[Detections], prompt: Prompt) -> Reply:
        wanted = sample.truth.take([label in prompt.labels for label in sample.truth.labels])
        numbers = TENTHS.encode(wanted.boxes, size=sample.pictures[-1].upright_size())
        rows = zip(numbers.tolist(), wanted.labels, strict=True)
        return Reply(json.dumps([{"box": box, "label": label} for box, label in rows]))

    def tables(pairs: Any) -> Tables:
        def columns(sample: Sample[Detections], reading: Reading[Detections]) -> dict[str, Any]:
            found = reading.value if reading.value is not None else Detections.empty()
            return {"predicted": len(found) + reading.unread, "right": found == sample.truth,
                    "scored": found.scores is not None}  # fmt: skip

        return table(pairs, columns)

    return Task({"task": "boxes"}, samples, prompts, read, tables, target)


def test_boxes_in_text(tmp_path) -> None:
    found = {"cat": [1, 1, 5, 5], "dog": [0, 0, 2, 4], "x": [1, 2, 3]}
    text = json.dumps([{"box": box, "label": label} for label, box in found.items()])
    outcomes = answered(boxes(), FakeModel({"one": text, "none": "I see nothing"}), tmp_path)
    assert outcomes["predicted"].tolist() == [3, 0]
    assert outcomes["unread"].tolist() == [1, 0]
    assert outcomes["status"].tolist() == ["ok", "malformed"]
    assert outcomes["right"].tolist() == [True, True]


def test_a_detectors_reply_with_scores(tmp_path) -> None:
    sure = Detections(TRUTH.boxes, TRUTH.labels, np.array([0.9, np.nan]))
    found = answered(boxes(), FakeModel(lambda p: Reply(detections=sure)), tmp_path)
    assert found["predicted"].tolist() == [2, 2]
    assert found["scored"].tolist() == [True, True], "scores come back through the store"


def test_one_call_per_class_is_merged(tmp_path) -> None:
    task = boxes(calls="single")
    here = run(task, build(ModelSpec("oracle", ""), task=task), tmp_path / "run")
    assert {key for key, _ in here.replies()} == {Key(s, c) for s in ("one", "none") for c in ("cat", "dog")}
    tables, _ = tabulate(task, here.answers())
    assert tables.outcomes["predicted"].tolist() == [2, 0]
    assert tables.outcomes["right"].tolist() == [True, True]


def test_a_sample_of_which_one_call_failed_is_missing_not_half_counted(tmp_path) -> None:
    def down(prompt: Prompt) -> Reply | Failed:
        return Failed("timeout") if prompt.key == Key("one", "dog") else Reply("[]")

    here = run(boxes(calls="single"), FakeModel(down), tmp_path / "run")
    tables, missing = tabulate(boxes(calls="single"), here.answers())
    assert missing == [Key("one", "dog")]
    assert tables.outcomes["sample"].tolist() == ["none"]


@pytest.mark.parametrize("task", [closed(), boxes(), boxes(calls="single")], ids=["closed", "boxes", "one per class"])
def test_what_is_written_as_a_target_is_read_as_the_truth(task) -> None:
    """Few-shot examples, the oracle and fine-tuning all use the target: it must mean the truth."""
    for sample in task.samples:
        prompts = task.prompts(sample)
        reading = task.read(sample, [Exchange(prompt, task.target(sample, prompt)) for prompt in prompts])
        assert reading.value == (sample.truth.target if isinstance(sample.truth, Choice) else sample.truth)


def test_confidence_from_tokens_is_a_reading_like_any_other(tmp_path) -> None:
    reply = Reply('[{"box": [1, 1, 5, 5], "label": "cat"}]', tokens=(Token("1", -0.5), Token("5", -0.25)))
    here = run(boxes(), FakeModel(lambda p: reply), tmp_path / "run")
    assert here.answers()[Key("one")].tokens == reply.tokens


# a judge and a human study --------------------------------------------------------------------------------------------


def judged() -> Task[str, dict[str, float]]:
    """A judge sees a prediction and the truth as text, no picture; the value is a mark per criterion."""
    samples = [Sample(f"{image}|{system}", f"truth of {image}", attributes={"system": system}, cluster=image)
               for image in ("i1", "i2") for system in ("A", "B")]  # fmt: skip

    def prompts(sample: Sample[str]) -> list[Prompt]:
        schema = {"type": "object", "properties": {"boxes": {"type": "number"}}}
        return [Prompt(Key(sample.id), (Turn("user", (f"Prediction of {sample.id}. {sample.truth}. Mark it.",)),),
                       "text", schema=schema)]  # fmt: skip

    def read(sample: Sample[str], exchanges: Sequence[Exchange]) -> Reading[dict[str, float]]:
        mark = json.loads(exchanges[0].reply.text)["boxes"]
        return Reading({"boxes": mark}) if 0 <= mark <= 10 else Reading(None, "malformed")

    def mean(readings: Sequence[Reading[dict[str, float]]]) -> list[Reading[dict[str, float]]]:
        return [Reading({"boxes": float(np.mean([r.value["boxes"] for r in readings if r.value]))})]

    def tables(pairs: Any) -> Tables:
        return table(pairs, lambda s, r: {"attr.system": s.attributes["system"], "mark": r.value and r.value["boxes"]})

    return Task({"task": "judge"}, samples, prompts, read, tables, pool=mean)


def test_a_judge_is_a_model_and_judging_a_task(tmp_path) -> None:
    def judge(prompt: Prompt) -> str:
        return json.dumps({"boxes": (8 if "|A" in prompt.text else 5) + prompt.key.draw})

    found = answered(judged(), FakeModel(judge), tmp_path, draws=3)
    assert found["mark"].tolist() == [9.0, 6.0, 9.0, 6.0]
    assert found["cluster"].tolist() == ["i1", "i1", "i2", "i2"]


def test_a_human_study_is_the_same_exam_answered_from_a_file(tmp_path) -> None:
    """Raters are draws; what the majority said is the answer."""
    raters = {"red": ["red", "red", "blue"], "green": ["green"] * 3, "blue": ["green", "blue", "green"]}
    rows = [{"sample": s, "draw": d, "text": text} for s, said in raters.items() for d, text in enumerate(said)]
    (tmp_path / "ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    people = build(ModelSpec("replay", str(tmp_path / "ratings.jsonl")))
    assert answered(closed(votes=True), people, tmp_path, draws=3)["answer"].tolist() == ["red", "green", "green"]


def test_prompts_know_their_pictures_and_last_words() -> None:
    one, two = picture("one"), picture("two")
    prompt = Prompt(Key("x"), (Turn("user", ("first", one)), Turn("assistant", ("so",)), Turn("user", (two, "a", "b"))))
    assert [p.name for p in prompt.pictures] == ["one", "two"]
    assert prompt.text == "a\nb"
    assert prompt.drawn(3).key == Key("x", "", 3)
    assert Prompt(Key("x"), ()).text == ""
