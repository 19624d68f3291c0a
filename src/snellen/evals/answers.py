"""Published answers to closed questions: the results files of CIVET's authors, scored as they scored them.

PROTOCOLS section 1, Files and Reading an answer. Counting answers are read by their rule (the first number in the
answer); other answers by the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from snellen.core.errors import SpecError
from snellen.core.stages import Choice, Exchange, Key, Prompt, Reading, Reply, Sample, Task, Turn
from snellen.evals.distractors import with_cells
from snellen.evals.options import checked
from snellen.parsing.choice import read_choice
from snellen.scoring.choice import tabulate
from snellen.stimuli.published import counts_only, read_published


@checked("answers")
def task(setting: str = "", *, file: str, reader: str = "auto", images: str | None = None) -> Task[Choice, str]:
    """The questions of a results file. reader: `first-number`, `options`, or auto: numbers where all targets are.

    images: a folder of `<stim>.png`, where the report should show them. Where each of them shows the things counted
    and one thing more, samples also have `cell_row` and `cell_col` of that one thing, the distractor.
    """
    if setting:
        raise SpecError(f"the task answers has no setting, got {setting!r}")
    samples, _ = _placed(Path(file), None if images is None else Path(images))
    chosen = ("first-number" if counts_only(samples) else "options") if reader == "auto" else reader
    targets = tuple(dict.fromkeys(sample.truth.target for sample in samples))

    def prompts(sample: Sample[Choice]) -> Sequence[Prompt]:
        text = str(sample.attributes.get("text", ""))
        turn = Turn("user", (*sample.pictures, text))
        return (Prompt(Key(sample.id), (turn,), wants="choice", labels=sample.truth.options),)

    def read(sample: Sample[Choice], exchanges: Sequence[Exchange]) -> Reading[str]:
        return read_choice(exchanges[0].reply.text, sample.truth.options or targets, reader=chosen)

    spec = {"task": "answers", "file": file, "reader": chosen, **({"images": images} if images else {})}
    return Task(spec, samples, prompts, read, tabulate)


def replies_of(path: Path) -> Iterator[tuple[Key, Reply]]:
    """The raw replies of a results file, keyed as `task` names its samples."""
    for sample, reply in _read(path, None):
        yield Key(sample.id), reply


def unplaced(file: str, images: str) -> str:
    """Why the samples of a file with pictures have no cells of distractors; "" where they have them."""
    return _placed(Path(file), Path(images))[1]


@lru_cache(maxsize=2)
def _placed(path: Path, images: Path | None) -> tuple[list[Sample[Choice]], str]:
    samples = [sample for sample, _ in _read(path, images)]
    return (samples, "") if images is None or not counts_only(samples) else with_cells(samples)


@lru_cache(maxsize=2)
def _read(path: Path, images: Path | None) -> list[tuple[Sample[Choice], Reply]]:
    return read_published(path, images=images)
