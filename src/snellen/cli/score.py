"""`snellen score`: a run, or published answers, or a file of predictions against a file of truth."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from snellen.cli.references import ClassRefs, ImageRefs
from snellen.core.errors import SpecError
from snellen.evals.results import Results

if TYPE_CHECKING:
    from snellen.runs.store import Run
    from snellen.scoring.operating_points import OperatingPoint

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def score(
    run: Annotated[Path | None, typer.Argument(help="A run.", show_default=False)] = None,
    civet_results: Annotated[
        Path | None, typer.Option(help="A results file of CIVET's authors, .json or .json.gz.", show_default=False)
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="True boxes: a COCO file or a data folder.", show_default=False)
    ] = None,
    predictions: Annotated[Path | None, typer.Option(help="Predicted boxes.", show_default=False)] = None,
    protocol: Annotated[
        str | None,
        typer.Option(help="coco, rf100vl or wade: limits and defaults as published.", show_default="rf100vl"),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of the predictions.", show_default="seen from the file")
    ] = None,
    split: Annotated[str | None, typer.Option(help="The part of the data folder.", show_default=False)] = None,
    min_score: Annotated[
        float | None,
        typer.Option(help="Fixed operating point: boxes below it do not count in P, R, F1, counts, CHAIR."),
    ] = None,
    valid: Annotated[
        Path | None,
        typer.Option(
            help="A run of the same model on the validation part: the point is the score with the best F1 there.",
            show_default=False,
        ),
    ] = None,
    at_recall: Annotated[
        str | None,
        typer.Option(
            help="The point at which this recall is reached: a number, or another run whose recall it is.",
            show_default=False,
        ),
    ] = None,
    all_scores: Annotated[bool, typer.Option("--all-scores", help="All boxes count, whatever their score.")] = False,
    nms: Annotated[
        float | None,
        typer.Option(
            help="Leave out the worse of two boxes of a class that overlap by more than this IoU, for detectors that "
            "are asked for one class at a time (1: none).",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="`present` leaves out boxes of classes that are not in the picture (referential).", show_default="all"
        ),
    ] = None,
    valid_truth: Annotated[
        Path | None,
        typer.Option(help="True boxes of the validation part, to choose the operating point on.", show_default=False),
    ] = None,
    valid_predictions: Annotated[
        Path | None,
        typer.Option(help="Predictions for it: the point is the score with the best F1.", show_default=False),
    ] = None,
    image_refs: ImageRefs = None,
    class_refs: ClassRefs = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="Load the truth in spite of a fault: its code (repeat).")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Also by this: class, image, size, share, place, crowding, an attribute, or a run's 'score source'.",
            show_default=False,
        ),
    ] = None,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="95 % intervals.")] = True,
    draws: Annotated[int, typer.Option(help="Bootstrap draws.", min=100)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 0,
    incomplete: Annotated[bool, typer.Option("--incomplete", help="Score a run with missing answers.")] = False,
    native: Annotated[
        str | None,
        typer.Option(
            help="Also read boxes in this notation, beside the prescribed one; none: no longer.",
            show_default="as before",
        ),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="As JSON: every metric an object with value, low, high.")
    ] = False,
) -> None:
    """Scores what was answered. No model is needed, and it can be repeated.

    A run that was scored at an operating point, or in another notation too, is scored so again unless told otherwise.

    Examples:

      snellen score runs/exam

      snellen score runs/wade --native qwen3-vl --by site --by crowding

      snellen score runs/detector --valid runs/detector-on-valid

      snellen score runs/detector --at-recall runs/vlm

      snellen score runs/one-class-at-a-time --nms 0.5

      snellen score --civet-results results.json.gz --json

      snellen score --truth test/_annotations.coco.json --predictions predictions.json --protocol coco

      snellen score --truth my_data/ --split test --predictions labels/ --format yolo --class-refs index0

      snellen score --truth my_data/ --predictions results.json --image-refs stem --allow inverted-box
    """
    given = [run is not None, civet_results is not None, truth is not None or predictions is not None]
    if sum(given) != 1:
        raise SpecError("give a run, or --civet-results FILE, or --truth FILE with --predictions FILE")
    of_predictions = {"--protocol": protocol, "--format": format_, "--split": split, "--classes": classes,
                      "--valid-truth": valid_truth, "--valid-predictions": valid_predictions, "--allow": allow or None,
                      "--image-refs": image_refs, "--class-refs": class_refs}  # fmt: skip
    _refuse(
        of_predictions if not given[2] else {}, "predictions against truth; a run keeps the options it was made with"
    )
    of_runs = {"--incomplete": incomplete or None, "--native": native, "--valid": valid, "--at-recall": at_recall,
               "--all-scores": all_scores or None}  # fmt: skip
    _refuse({} if given[0] else of_runs, "a run")
    _refuse({"--nms": nms} if given[1] else {}, "boxes")
    if (valid_truth is None) != (valid_predictions is None):
        raise SpecError("--valid-truth and --valid-predictions go together")
    if min_score is not None and math.isnan(min_score):
        raise SpecError("--min-score must be a number, got nan")
    results = (
        _run(run, by=by or (), intervals=intervals, draws=draws, seed=seed, incomplete=incomplete, native=native,
             nms=nms, wanted=Wanted(min_score, valid, at_recall, all_scores))
        if run is not None
        else _civet(civet_results, by=by or (), intervals=intervals, draws=draws, seed=seed)
        if civet_results is not None
        else _boxes(truth, predictions, protocol=protocol or "rf100vl", format=format_, split=split,
                    min_score=min_score, nms=nms, classes=classes or "all", by=by or (), intervals=intervals,
                    draws=draws, seed=seed, allow=allow or (), image_refs=image_refs, class_refs=class_refs,
                    valid=(valid_truth, valid_predictions) if valid_truth and valid_predictions else None)
    )  # fmt: skip
    from snellen.cli.printing import show_results, warn_of_import

    for file in ("truth", "predictions"):
        warn_of_import(results.facts.get(file, {}))
    if json_:
        typer.echo(json.dumps(results.to_json(intervals=intervals, flat=True)))
        return
    show_results(results, by=by or ())


class Wanted(NamedTuple):
    """How the operating point of a run was asked for."""

    min_score: float | None
    valid: Path | None
    at_recall: str | None
    all_scores: bool


def _refuse(options: Mapping[str, object], belongs_to: str) -> None:
    """SpecError for an option that would have no effect."""
    for name, value in options.items():
        if value is not None:
            raise SpecError(f"{name} belongs to the scoring of {belongs_to}")


def _run(
    path: Path,
    *,
    by: Sequence[str],
    intervals: bool,
    draws: int,
    seed: int,
    incomplete: bool,
    native: str | None,
    nms: float | None,
    wanted: Wanted,
) -> Results:
    from snellen.evals.native import add_native
    from snellen.evals.scores import score as score_run
    from snellen.runs.store import Run

    run = Run.open(path)
    before = _facts_before(run)
    nms = before.get("nms") if nms is None else nms
    nms = None if nms == run.manifest.task.get("nms") else nms
    if nms is not None and (wanted.valid or wanted.at_recall):
        raise SpecError("--valid and --at-recall look at runs as they were made: make both with -T nms=..., not --nms")
    point = _point(run, wanted, before.get("operating_point"))
    results = score_run(run, by=by, intervals=intervals, draws=draws, seed=seed, incomplete=incomplete, point=point,
                        nms=nms)  # fmt: skip
    if results.facts.get("truth_changed"):
        sys.stderr.write(f"the truth is not the one that {path} was made with: samples, or what is true of them, have "
                         "changed since. This is the score against what is there now\n")  # fmt: skip
    kept = before.get("native") or {}
    notation, source = (native, "declared") if native else (kept.get("notation"), kept.get("source", "declared"))
    if notation is None or notation == "none":
        return results
    return add_native(run, notation, source=source, draws=draws, seed=seed)


def _facts_before(run: Run) -> Mapping[str, Any]:
    """The facts of the results that are there; of damaged ones none: they are made again."""
    from snellen.core.errors import StoreError

    try:
        facts: Mapping[str, Any] = run.results()["facts"]
    except StoreError:
        return {}
    return facts


def _point(run: Run, wanted: Wanted, before: Mapping[str, Any] | None) -> OperatingPoint | None:
    """The operating point asked for; else the one that was chosen before, where it was not the run's own."""
    from snellen.evals import points
    from snellen.evals.native import asks_boxes
    from snellen.runs.store import Run
    from snellen.scoring.operating_points import ALL, OperatingPoint, fixed

    asked = sum(value is not None and value is not False for value in wanted)
    if asked and not asks_boxes(run.manifest.task):
        raise SpecError(f"an operating point belongs to boxes, this run is of {run.manifest.task['task']}: {run.path}")
    if asked > 1:
        raise SpecError("one of --min-score, --valid, --at-recall and --all-scores says where boxes begin to count")
    if wanted.min_score is not None:
        return fixed(wanted.min_score)
    if wanted.valid is not None:
        return points.best_on(Run.open(wanted.valid), of=run)
    if wanted.at_recall is not None:
        return points.reaching(run, wanted.at_recall)
    if wanted.all_scores:
        return ALL
    own = run.manifest.task.get("min_score")
    return None if before is None or before["min_score"] == own else OperatingPoint(**before)


def _civet(path: Path, *, by: Sequence[str], intervals: bool, draws: int, seed: int) -> Results:
    """Sugar over import and score: the run is made in a folder that is gone afterwards."""
    from snellen.evals.imports import import_file
    from snellen.evals.scores import score as score_run

    with tempfile.TemporaryDirectory(prefix="snellen-") as folder:
        run = import_file(path, kind="civet-results", out=Path(folder) / "run")
        return score_run(run, by=by, intervals=intervals, draws=draws, seed=seed)


def _boxes(
    truth: Path | None,
    predictions: Path | None,
    *,
    protocol: str,
    format: str | None,
    split: str | None,
    min_score: float | None,
    nms: float | None,
    classes: str,
    valid: tuple[Path, Path] | None,
    allow: Sequence[str],
    image_refs: str | None,
    class_refs: str | None,
    by: Sequence[str],
    intervals: bool,
    draws: int,
    seed: int,
) -> Results:
    if truth is None or predictions is None:
        raise SpecError("--truth and --predictions go together")
    from snellen.evals.predictions import score_predictions

    return score_predictions(
        truth, predictions, protocol=protocol, format=format, split=split, min_score=min_score, valid=valid,
        nms=nms, classes=classes, allow=allow, image_refs=image_refs, class_refs=class_refs, by=by,
        intervals=intervals, draws=draws, seed=seed,
    )  # fmt: skip
