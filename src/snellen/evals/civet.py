"""CIVET: exams on controlled stimuli.

Rizzoli, Alghisi, Khomyn, Roccabruna, Mousavi, Riccardi: CIVET: Systematic Evaluation of Understanding in VLMs
(2025). What is computed: PROTOCOLS section 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from snellen.core.errors import unknown
from snellen.core.specs import Json, canonical
from snellen.core.stages import AnyTask, Choice, Exchange, Prompt, Reading, Reply, Sample, Task
from snellen.core.tables import Tables
from snellen.evals import scenes
from snellen.evals.acuity import with_thresholds
from snellen.evals.arranged import Arranged, InFolder, certificate
from snellen.evals.options import check_like, check_reader, checked
from snellen.evals.votes import majority
from snellen.parsing.choice import read_choice
from snellen.parsing.confidence import certainty
from snellen.prompts.choice import INSTRUCTION, closed_prompt
from snellen.runs.selection import among
from snellen.scoring.choice import tabulate
from snellen.stimuli.custom import sha256_of
from snellen.stimuli.table import EXAMS, build, options_of

DETECTION = "detection"
"""The setting of boxes instead of closed questions (`evals.scenes`)."""

FOLDER = "folder"
"""The setting that takes its stimuli and questions from a folder in the authors' layout: option `data`."""


def task(setting: str = "single-object", **options: Any) -> AnyTask:
    """A setting as a task: `civet/detection` asks for boxes, every other one closed questions."""
    return scenes.task(**options) if setting == DETECTION else exam(setting, **options)


@checked("civet")
def exam(
    setting: str = "single-object",
    *,
    short_answers: bool = True,
    seed: int = 0,
    reader: str = "options",
    votes: bool = False,
    **options: Any,
) -> Task[Choice, str]:
    """An exam as a task. `options` are those of the setting (`side`, `size`, ...), listed by `snellen stimuli list`.

    short_answers: put the paper's short-answer instruction first. seed: of what is drawn and of the option orders.
    reader: how answers are read; `lettered` also shows the options as A, B, C. votes: the answer that most of several
    draws name is the answer (`evals.votes`). SpecError for an unknown setting or option.
    """
    check_reader(reader)
    samples, chosen = _source(setting, seed, options)
    spec: dict[str, Json] = {
        "task": f"civet/{setting}", **chosen, "short_answers": short_answers, "seed": seed, "reader": reader,
        **({"votes": True} if votes else {}),
    }  # fmt: skip
    instruction = INSTRUCTION if short_answers else ""

    def prompts(sample: Sample[Choice]) -> Sequence[Prompt]:
        text = str(sample.attributes["text"])
        lettered = reader == "lettered"
        template = template_of(sample)
        return (closed_prompt(sample, text, instruction=instruction, template=template, lettered=lettered),)

    def read(sample: Sample[Choice], exchanges: Sequence[Exchange]) -> Reading[str]:
        (exchange,) = exchanges
        return read_one(sample, exchange.prompt.labels, exchange.reply, reader)

    def balance(ids: frozenset[str] | None) -> Mapping[str, Json]:
        found = certificate(among(samples, ids))
        facts = dict(samples.exam.facts) if isinstance(samples, Arranged) else {}
        return found | ({"exam": facts} if facts else {})

    def target(sample: Sample[Choice], _: Prompt) -> Reply:
        return Reply(sample.truth.target)

    def tables(pairs: Iterable[tuple[Sample[Choice], Reading[str]]]) -> Tables:
        return with_thresholds(tabulate(pairs))

    return Task(spec, samples, prompts, read, tables, target, majority if votes else None, balance)


def _source(setting: str, seed: int, options: dict[str, Any]) -> tuple[Arranged | InFolder, dict[str, Json]]:
    """The samples of a setting, and its options with all defaults."""
    if setting == FOLDER:
        for name in options:
            if name != "data":
                raise unknown(f"option of civet/{FOLDER}", name, ["data", "short_answers", "seed", "reader", "votes"])
        folder = str(options.get("data", "."))
        return InFolder(Path(folder)), {"data": folder}
    if setting not in EXAMS:
        raise unknown("exam", setting, [*EXAMS, DETECTION, FOLDER])
    known = options_of(setting)
    for name in options:
        if name not in known:
            raise unknown(f"option of civet/{setting}", name, {*known, "short_answers", "seed", "reader", "votes"})
    check_like(f"civet/{setting}", options, known)
    given = {**options, **({"seed": seed} if "seed" in known else {})}
    files = setting == "custom" or "images" in known  # which may change between one look and the next
    exam = Arranged(build(setting, **given), seed) if files else _drawn(setting, seed, canonical(given))
    chosen = {name: options.get(name, default) for name, default in known.items() if name != "seed"}
    if setting == "custom":
        chosen["sha256"] = sha256_of(Path(chosen["file"]))
    return exam, {name: list(v) if isinstance(v, tuple) else v for name, v in chosen.items()}


@lru_cache(maxsize=4)
def _drawn(setting: str, seed: int, options: str) -> Arranged:
    """An exam that follows from its options alone: made once, however many runs look at it."""
    return Arranged(build(setting, **json.loads(options)), seed)


def template_of(sample: Sample[Choice]) -> str:
    """What scorers of options compare with the picture: `a photo of a star`, `a photo of 3 red triangles` (release)."""
    entity = str(sample.attributes.get("entity", ""))
    if sample.truth.question == "count" and "_" in entity:
        return f"a photo of {{label}} {entity.replace('_', ' ')}"
    return "a photo of a {label}"


def read_one(sample: Sample[Choice], labels: Sequence[str], reply: Reply, reader: str) -> Reading[str]:
    """What one reply means: the best-scored option of a scorer, the refusal, or the option named in the text.

    Its confidence is the probability of the tokens that spell the option, where the reply has tokens.
    """
    if reply.option_scores is not None:
        scores = list(reply.option_scores)
        best = max(scores)
        if scores.count(best) > 1:
            return Reading(None, "malformed", reason="several: options are scored alike")
        return Reading(labels[scores.index(best)])
    if reply.finish == "refused":
        return Reading(None, "refused", reason="none: the model refused")
    reading = read_choice(reply.text, sample.truth.options, reader=reader)
    return replace(reading, confidence=certainty(reading.value, reply.tokens or ()))
