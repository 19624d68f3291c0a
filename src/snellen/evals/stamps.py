"""What results rest on. Where none of it has changed, scoring again would give the same, and can be left out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from snellen.core.specs import Json, fingerprint
from snellen.core.stages import AnyTask
from snellen.runs.parts import part_names
from snellen.runs.selection import TruthDigest, walk
from snellen.runs.store import Run

FACT = "rests_on"
"""The fact of a run's results under which the stamp stands."""


def stamp(run: Run, task: AnyTask, **settings: Json) -> dict[str, str]:
    """SHA-256 of all that the results of `run` rest on: replies, truth, what was asked, settings, this very code."""
    truth, asked = _told(run, task)
    return {
        "replies": _replies(run),
        "truth": truth,
        "asked": asked,
        "settings": fingerprint(settings),
        "code": _code(),
    }


def holds(run: Run, found: Mapping[str, str]) -> bool:
    """Whether `run` was scored from just this."""
    return run.scored() and run.results()["facts"].get(FACT) == dict(found)


def keep(run: Run, found: Mapping[str, str]) -> None:
    """Notes in the results of a scored run what they rest on."""
    results = run.results()
    run.write_results({**results, "facts": {**results["facts"], FACT: dict(found)}})


def _replies(run: Run) -> str:
    digest = hashlib.sha256()
    for name in part_names(run.place):
        digest.update(hashlib.sha256(run.place.read(name)).digest())
    return digest.hexdigest()


def _told(run: Run, task: AnyTask) -> tuple[str, str]:
    """Of what is true, and of what decides how replies are read and grouped: prompts, labels, attributes, clusters."""
    truth, digest = TruthDigest(), hashlib.sha256()
    for sample in walk(task, run.selected()):
        prompts = [(prompt.key, prompt.text, prompt.labels) for prompt in task.prompts(sample)]
        told = (sample.id, sample.cluster, sorted(sample.attributes.items(), key=lambda item: item[0]), prompts)
        digest.update(repr(told).encode("utf-8", "surrogatepass"))
        truth.add(sample)
    return truth.hexdigest(), digest.hexdigest()


@cache
def _code() -> str:
    """Of the package's sources, and of numpy's version: a change of how things are computed makes results old."""
    digest = hashlib.sha256(version("numpy").encode())
    root = Path(str(files("snellen")))
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
