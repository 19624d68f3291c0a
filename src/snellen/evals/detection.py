"""Detection on pictures with boxes (Roboflow100-VL and WADE share it): prompts, reading, derived tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from snellen.core.detections import Detections
from snellen.core.errors import SpecError
from snellen.core.pictures import Size
from snellen.core.specs import Json
from snellen.core.stages import Exchange, Pool, Prompt, Reader, Reading, Reply, Salvage, Sample, Status, Task
from snellen.core.tables import Tables
from snellen.datasets.load import load_data
from snellen.evals.options import checked
from snellen.evals.regimes import complete, regime_of
from snellen.evals.votes import supported
from snellen.parsing.boxes import read_boxes
from snellen.parsing.notations import named
from snellen.prompts.boxes import Calls, box_prompts
from snellen.prompts.templates import Template, template
from snellen.scoring.operating_points import ScoreSource
from snellen.scoring.suppression import checked_nms
from snellen.scoring.tabulation import tabulate

Scores: TypeAlias = ScoreSource
Failures: TypeAlias = Literal["count", "parsed-only", "strict"]

WORST: tuple[Status, ...] = ("refused", "malformed", "truncated", "ok")
"""How the readings of several calls add up: the status of the whole is the first of these that occurs."""

SALVAGE: tuple[Salvage, ...] = ("intact", "repaired", "truncated")
"""From the least help to the most."""


@checked("detect")
def task(
    setting: str = "",
    *,
    data: str,
    split: str | None = None,
    format: str | None = None,
    notation: str | None = None,
    prompt: str = "qwen3-vl",
    calls: Calls = "multi",
    classes: Literal["all", "present"] = "all",
    failures: Failures = "count",
    min_score: float | None = None,
    scores: Scores = "model",
    cluster: str | None = None,
    nms: float | None = None,
    **regime: Any,
) -> Task[Detections, Detections]:
    """Detection on the pictures of `data`.

    prompt: the wording (a template's name, or `@file`). notation: how the model writes boxes (`snellen list
    notations`; default: the one that the wording prescribes). calls: one prompt with all classes, or one per class.
    classes: `all` asks for every class of the data set (protocol detection), `present` only for those in the picture
    (protocol referential). min_score: operating point of scored detections. scores: where the scores of boxes come
    from: the reply's own numbers (`model`), the log-probabilities of its tokens, the votes of several draws
    (`evals.votes`), or nowhere (`constant`). cluster: the attribute that intervals
    resample. nms: the IoU above which the worse of two boxes of a class is left out, for detectors that are asked for
    one class at a time (MLLMs get none). regime and what belongs to it: see `evals.regimes.regime_of`.
    """
    if setting:
        raise SpecError(f"the task detect has no setting, got {setting!r}")
    wording, chosen = wording_of(prompt, notation)
    checked_nms(nms)
    dataset = load_data(Path(data), format=format, split=split)
    around, regime_spec = regime_of(
        dataset, Path(data), notation=chosen, prompt=prompt, format=format, split=split, **regime
    )
    spec: dict[str, Json] = {
        "task": "detect", "data": str(data), "split": split, "format": format, "notation": chosen, "prompt": prompt,
        "calls": calls, "classes": classes, "failures": failures, "min_score": min_score, "scores": scores,
        "cluster": cluster,
        **({} if nms is None else {"nms": nms}),
        **regime_spec,
    }  # fmt: skip
    names = {} if dataset.class_file is None else {e.name: e.asked_as for e in dataset.class_file.entries}

    def asked(sample: Sample[Detections]) -> tuple[str, ...]:
        if classes == "all":
            return dataset.classes
        present = set(sample.truth.labels)
        return tuple(name for name in dataset.classes if name in present)

    def prompts(sample: Sample[Detections]) -> Sequence[Prompt]:
        return box_prompts(sample, asked(sample), wording=wording, calls=calls, regime=around, names=names)

    def tables(pairs: Any) -> Tables:
        return tabulate(
            pairs,
            classes=dataset.classes,
            min_score=min_score,
            failures=failures,
            nms=nms,
            present=classes == "present",
        )

    samples = dataset.samples(cluster=cluster)
    read = reader_of(chosen, calls=calls, scores=scores)
    return Task(spec, samples, prompts, read, tables, target_in(chosen), pool_of(scores))


def wording_of(prompt: str, notation: str | None) -> tuple[Template, str]:
    """The wording of that name, and the notation of its replies: the one given, else the one that it prescribes.

    SpecError for unknown names, and where there is no notation.
    """
    wording = template(prompt)
    chosen = notation or wording.notation
    if chosen is None:
        raise SpecError(f"the prompt {prompt!r} prescribes no notation: say which the model speaks (notation=...)")
    named(chosen)
    return wording, chosen


def reader_of(notation: str, *, calls: Calls, scores: Scores) -> Reader[Detections, Detections]:
    """Reads all replies about a picture as one list of boxes. scores: where those of boxes come from."""

    def read(sample: Sample[Detections], exchanges: Sequence[Exchange]) -> Reading[Detections]:
        sure = scores == "token-logprob"
        reading = merged([reading_of(sample, exchange, notation, calls, sure=sure) for exchange in exchanges])
        if scores != "constant" or reading.value is None:
            return reading
        return replace(reading, value=replace(reading.value, scores=None))

    return read


def pool_of(scores: Scores) -> Pool[Detections] | None:
    """What the draws of a picture do to each other: they vote, or nothing."""
    return supported if scores == "vote" else None


def target_in(notation: str) -> Callable[[Sample[Detections], Prompt], Reply]:
    """Writes the ideal reply: the complete answer for the labels asked about, as in few-shot examples."""
    return lambda sample, asking: Reply(text=complete(sample, notation, asking.labels))


def reading_of(
    sample: Sample[Detections], exchange: Exchange, notation: str, calls: Calls, *, sure: bool
) -> Reading[Detections]:
    """What one reply means. `sure`: boxes get the confidence of their tokens, where the reply has tokens."""
    reply, prompt = exchange.reply, exchange.prompt
    if reply.detections is not None:
        reading: Reading[Detections] = Reading(reply.detections)
    else:
        size = sample.pictures[-1].upright_size()
        sent = Size(*reply.sent[-1]) if reply.sent else size
        seen = Size(*reply.seen[-1]) if reply.seen else named(notation).input_of(sent)
        reading = read_boxes(
            reply.text, notation=notation, size=size, input_size=seen, classes=prompt.labels,
            finish=reply.finish, tokens=(reply.tokens or ()) if sure else (),
        )  # fmt: skip
    return _labelled(reading, prompt.labels[0]) if calls == "single" else reading


def _labelled(reading: Reading[Detections], label: str) -> Reading[Detections]:
    """All boxes of a single-class call are of the class that was asked for, whatever they were called."""
    if reading.value is None:
        return reading
    found = reading.value
    return replace(reading, value=replace(found, labels=(label,) * len(found)))


def merged(readings: Sequence[Reading[Detections]]) -> Reading[Detections]:
    """The readings of several calls about one picture as one. No value only where calls were made and none gave one."""
    if len(readings) == 1:
        return readings[0]
    values = [reading.value for reading in readings if reading.value is not None]
    worst: Status = min((reading.status for reading in readings), key=WORST.index, default="ok")
    salvage: Salvage = max((reading.salvage for reading in readings), key=SALVAGE.index, default="intact")
    return Reading(
        Detections.concatenate(values) if values or not readings else None,
        worst,
        salvage,
        "; ".join(dict.fromkeys(reading.reason for reading in readings if reading.reason)),
        sum(reading.unread for reading in readings),
    )
