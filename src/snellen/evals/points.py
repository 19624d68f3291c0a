"""Where boxes with scores begin to count: a fixed score, the best F1 on a run of the validation part, or a recall.

PROTOCOLS section 2, Operating point: never chosen on the pictures that are scored.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np

from snellen.core.errors import GuardError, IncompleteError, SpecError
from snellen.core.tables import Tables
from snellen.evals.results import Results
from snellen.evals.scores import answers_of, tabulate, task_of
from snellen.models.table import identity
from snellen.runs.selection import walk
from snellen.runs.store import Run
from snellen.scoring.operating_points import OperatingPoint, at_recall, best_f1
from snellen.scoring.tabulation import boxes_of

LOOKED_AT = 50
"""So many samples tell whether a model gives its boxes scores."""


def gives_scores(run: Run) -> bool:
    """Whether boxes of the run's first samples have scores, so that an operating point means something."""
    task, answers = task_of(run), answers_of(run)
    ids = frozenset(sample.id for sample in islice(walk(task, run.selected()), LOOKED_AT))
    tables, _ = tabulate(task, answers, draws=run.manifest.draws, selection=ids, ragged=True)
    return tables.kind == "boxes" and boxes_of(tables)[1].scores is not None


def best_on(valid: Run, *, of: Run) -> OperatingPoint:
    """The score with the best F1 in `valid`, a run of the same model on the validation part, for `of`.

    GuardError where the two share pictures or differ in the model; IncompleteError where answers are missing; SpecError
    where the boxes have no scores: then there is nothing to choose.
    """
    if "run" == valid.manifest.kind == of.manifest.kind:
        one, other = identity(of.manifest.model_spec), identity(valid.manifest.model_spec)
        if one != other:
            raise GuardError(f"an operating point is chosen on a run of the same model: {of.path} is of "
                             f"{of.manifest.model_name}, {valid.path} of {valid.manifest.model_name}")  # fmt: skip
    shared = _pictures(of) & _pictures(valid)
    if shared:
        raise GuardError(f"an operating point is never chosen on the pictures that are scored: {len(shared):,} of them "
                         f"are in both {of.path} and {valid.path}, for example {min(shared)}")  # fmt: skip
    tables = _whole(valid)
    truth, predicted = boxes_of(tables)
    if predicted.scores is None:
        raise SpecError(f"its boxes have no scores, so that there is no operating point to choose: {valid.path}")
    point = best_f1(truth, predicted, unread=int(np.sum(tables.outcomes["unread"])))
    return replace(point, on=valid.path)


def reaching(run: Run, recall: str) -> OperatingPoint:
    """The highest score at which `run` has this recall: a number, or the place of a scored run whose recall it is.

    SpecError where it never does.
    """
    number, on = _share(recall)
    truth, predicted = boxes_of(_whole(run))
    found = at_recall(truth, predicted, number)
    if found is None:
        raise SpecError(f"its boxes do not reach a recall of {number:.3f}: {run.path}")
    return replace(found, on=on)


def _share(recall: str) -> tuple[float, str]:
    """A share as written, or the recall of a scored run, and that run's place."""
    try:
        number = float(recall)
    except ValueError:
        found = Results.from_json(Run.open(recall).results()).metrics.get("recall")
        if found is None or found.value is None:
            raise SpecError(f"a run of boxes has a recall, this one has none: {recall}") from None
        return found.value, recall
    if not 0 < number <= 1:
        raise SpecError(f"a recall is a share above 0 and up to 1, or a run, got {recall}")
    return number, ""


def _whole(run: Run) -> Tables:
    task = task_of(run)
    tables, missing = tabulate(task, answers_of(run), draws=run.manifest.draws, selection=run.selected(),
                               ragged=run.manifest.kind == "import")  # fmt: skip
    if tables.kind != "boxes":
        raise SpecError(f"an operating point belongs to boxes, this run is of {task.spec['task']}: {run.path}")
    if missing:
        raise IncompleteError(f"{len(missing)} answers are missing. Type:  snellen retry {run.path}")
    return tables


def _pictures(run: Run) -> frozenset[str]:
    """The files of the pictures asked about, where they are files."""
    samples = walk(task_of(run), run.selected())
    paths = (sample.pictures[-1].path for sample in samples if sample.pictures)
    return frozenset(str(path.resolve()) for path in paths if path is not None)
