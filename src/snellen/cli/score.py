"""`snellen score`: a run, or published answers, or a file of predictions against a file of truth."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from snellen.core.errors import SpecError
from snellen.evals.results import Results

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
    valid_truth: Annotated[
        Path | None,
        typer.Option(help="True boxes of the validation part, to choose the operating point on.", show_default=False),
    ] = None,
    valid_predictions: Annotated[
        Path | None,
        typer.Option(help="Predictions for it: the point is the score with the best F1.", show_default=False),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Also by this: class, image, size, share, place, crowding, or an attribute.", show_default=False
        ),
    ] = None,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="95 % intervals.")] = True,
    draws: Annotated[int, typer.Option(help="Bootstrap draws.", min=100)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 0,
    incomplete: Annotated[bool, typer.Option("--incomplete", help="Score a run with missing answers.")] = False,
    native: Annotated[
        str | None,
        typer.Option(help="Also read boxes in this notation, beside the prescribed one.", show_default=False),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="As JSON: every metric an object with value, low, high.")
    ] = False,
) -> None:
    """Scores what was answered. No model is needed, and it can be repeated.

    Examples:

      snellen score runs/exam

      snellen score runs/wade --native qwen3-vl --by site --by crowding

      snellen score --civet-results results.json.gz --json

      snellen score --truth test/_annotations.coco.json --predictions predictions.json --protocol coco
    """
    given = [run is not None, civet_results is not None, truth is not None or predictions is not None]
    if sum(given) != 1:
        raise SpecError("give a run, or --civet-results FILE, or --truth FILE with --predictions FILE")
    of_predictions = {"--protocol": protocol, "--format": format_, "--split": split, "--min-score": min_score,
                      "--valid-truth": valid_truth, "--valid-predictions": valid_predictions}  # fmt: skip
    _refuse(
        of_predictions if not given[2] else {}, "predictions against truth; a run keeps the options it was made with"
    )
    _refuse({} if given[0] else {"--incomplete": incomplete or None, "--native": native}, "a run")
    if (valid_truth is None) != (valid_predictions is None):
        raise SpecError("--valid-truth and --valid-predictions go together")
    if min_score is not None and math.isnan(min_score):
        raise SpecError("--min-score must be a number, got nan")
    results = (
        _run(run, by=by or (), intervals=intervals, draws=draws, seed=seed, incomplete=incomplete, native=native)
        if run is not None
        else _civet(civet_results, by=by or (), intervals=intervals, draws=draws, seed=seed)
        if civet_results is not None
        else _boxes(truth, predictions, protocol=protocol or "rf100vl", format=format_, split=split,
                    min_score=min_score, by=by or (), intervals=intervals, draws=draws, seed=seed,
                    valid=(valid_truth, valid_predictions) if valid_truth and valid_predictions else None)
    )  # fmt: skip
    from snellen.cli.printing import show_results, warn_of_import

    warn_of_import(results.facts.get("predictions", {}))
    if json_:
        typer.echo(json.dumps(results.to_json(intervals=intervals, flat=True)))
        return
    show_results(results, by=by or ())


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
    native: str | None = None,
) -> Results:
    from snellen.evals.native import add_native
    from snellen.evals.scores import score as score_run
    from snellen.runs.store import Run

    run = Run.open(path)
    results = score_run(run, by=by, intervals=intervals, draws=draws, seed=seed, incomplete=incomplete)
    return results if native is None else add_native(run, native, draws=draws, seed=seed)


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
    valid: tuple[Path, Path] | None,
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
        by=by, intervals=intervals, draws=draws, seed=seed,
    )  # fmt: skip
