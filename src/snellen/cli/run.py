"""`snellen run`: ask a model, store the answers, score them."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from snellen.core.errors import IncompleteError, SpecError
from snellen.core.specs import Json, assignment
from snellen.core.stages import Failed

if TYPE_CHECKING:
    from snellen.core.stages import AnyTask, Key, Model
    from snellen.runs.loop import Choices, Progress
    from snellen.runs.store import Run

app = typer.Typer(add_completion=False)

INTERRUPTED = 130


@app.command(no_args_is_help=True)
def run(
    task: Annotated[str, typer.Argument(help="An exam (civet/single-object), or detect.", show_default=False)],
    data: Annotated[str | None, typer.Argument(help="The data, where the task needs some.", show_default=False)] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="provider/name, or @name from models.yaml.", show_default=False)
    ] = "",
    out: Annotated[
        str, typer.Option("--out", "-o", help="The run: a new folder, or the one to go on with.", show_default=False)
    ] = "",
    model_option: Annotated[
        list[str] | None, typer.Option("-M", help="An option of the model, key=value.", show_default=False)
    ] = None,
    task_option: Annotated[
        list[str] | None, typer.Option("-T", help="An option of the task, key=value.", show_default=False)
    ] = None,
    models: Annotated[Path, typer.Option(help="The YAML file in which @names stand.")] = Path("models.yaml"),
    limit: Annotated[int | None, typer.Option(help="The first N samples.", min=1, show_default=False)] = None,
    sample: Annotated[
        int | None, typer.Option(help="N samples at random, in strata.", min=1, show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample.", min=0)] = 0,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Attribute that strata are made of.", show_default="question and target"),
    ] = None,
    draws: Annotated[int, typer.Option(help="How often each prompt is asked.", min=1)] = 1,
    max_requests: Annotated[
        int | None, typer.Option(help="Stop cleanly after so many requests.", min=1, show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Stop cleanly at so many USD.", min=0, show_default=False)
    ] = None,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Take replies from this machine's cache, and keep them there.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask nothing: write the first prompts with their pictures, and count.")
    ] = False,
    score: Annotated[bool, typer.Option("--score/--no-score", help="Score the run when it is complete.")] = True,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Run against what a probe of the model found.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="The results as JSON; progress goes to stderr.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Asks a model all questions of a task, stores the answers as they come, and scores them.

    The same command again goes on where it was stopped (Ctrl-C, a crash, a budget) and asks again what failed.
    Exit codes: 0 complete, 2 bad input, 3 the folder cannot be used, 4 answers are missing, 130 interrupted.

    Examples:

      snellen run civet/single-object -m openai/my-vlm -M base_url=http://localhost:8000/v1 --sample 400 -o runs/exam

      snellen run civet/single-object -T side=336 -m random -o runs/chance

      snellen run detect my_data/ -T split=test -T notation=qwen3-vl -m @mine -o runs/mine

      snellen run detect my_data/ -m @mine -o runs/mine --dry-run
    """
    from snellen.evals.native import check_examples
    from snellen.evals.tasks import open_task
    from snellen.models.named import resolve
    from snellen.models.table import build
    from snellen.runs.capacity import check_capacity
    from snellen.runs.loop import Choices
    from snellen.runs.manifest import Selection

    if not model or not out:
        raise SpecError("a run needs --model and --out")
    if by and sample is None:
        raise SpecError("--by says what --sample draws from in equal shares, and there is no --sample")
    asked = open_task(task_spec(task, data, task_option or []))
    spec = resolve(model, model_option or [], file=models)
    selection = Selection(
        limit=limit, sample=sample, seed=seed if sample else 0, by=tuple(by) if by and sample else None
    )
    choices = Choices(draws=draws, selection=selection, max_requests=max_requests)
    answering = build(spec, task=asked)
    if cache:
        from snellen.models.cache import CachedModel, ReplyCache, cache_file

        answering = CachedModel(answering, ReplyCache(cache_file()))
    check_capacity(asked, spec, requests=len(asked.samples))
    check_examples(asked, spec)
    if dry_run:
        _dry_run(asked, answering, choices, out, as_json=json_)
        return
    native = None if no_probe else check_probe(asked, answering)
    here = carry_out(asked, answering, choices, out, budget=budget, quiet=quiet)
    finish(here, score=score, as_json=json_, native=native)


def check_probe(task: AnyTask, model: Model) -> str | None:
    """GuardError where a probe of `model` contradicts the notation that the task declares; a hint where none was made.

    Where the protocol prescribes one notation to every model (WADE), that one is scored all the same: the result is
    the notation to read the replies in beside it. None where nothing is to be read otherwise.
    """
    from snellen.core.errors import GuardError
    from snellen.evals.native import asks_boxes, detection_spec, fixes_notation, prescribed
    from snellen.models.table import speaks
    from snellen.probing.contradiction import preset
    from snellen.probing.memory import recall

    if not speaks(model) or not asks_boxes(task.spec):
        return None
    prompt, notation = str(detection_spec(task.spec)["prompt"]), prescribed(task.spec)
    found = recall(model, prompt=prompt, notation=notation)
    if found is None:
        how = f"snellen probe {model.spec} --prompt {prompt} --notation {notation}"
        _say(f"{model.spec} was not probed: that it writes boxes as declared is taken on trust ({how})")
        return None
    if not found.contradicted:
        return None
    if not fixes_notation(task.spec):
        raise GuardError(
            f"{found.reason}. Declare that notation (-T notation=...; where a preset fixes it, of the task detect), "
            "or go on with --no-probe"
        )
    native = preset(found.best)
    beside = "" if native is None else f"; the score of the same replies read as {native} stands beside it"
    _say(f"{found.reason}. {task.spec['task']} prescribes {notation}, which is scored{beside}")
    return native


def task_spec(name: str, data: str | None, options: Sequence[str]) -> dict[str, Json]:
    """The words of the command line as a task's spec."""
    given: dict[str, Json] = {"task": name, **dict(assignment(option) for option in options)}
    if data is not None:
        if "data" in given:
            raise SpecError(f"the data are named twice: {data!r} and -T data={given['data']}")
        given["data"] = data
    return given


def carry_out(
    task: AnyTask, model: Model, choices: Choices, out: str, *, budget: float | None = None, quiet: bool = False
) -> Run:
    """Opens or creates the run and works on it, with progress; an early end is told on stderr."""
    from dataclasses import replace

    from snellen.cli.watching import watching
    from snellen.runs import cost
    from snellen.runs.loop import open_or_create, work

    here = open_or_create(task, model, out, choices)
    price = cost.price_of(model.spec)
    if budget is not None:
        choices = replace(choices, stop=cost.budget(here, price, budget))
    if price is not None and not quiet:
        left = here.manifest.requests - len(here.answered()[0])
        planned = cost.plan(task, model.spec, ids=here.selected(), requests=left, draws=here.manifest.draws)
        _say(f"{left:,} requests, about {planned.dollars:.3g} USD, at most {planned.most_dollars:.3g} ({price.source})")
    with watching(here, price, quiet=quiet) as watch:
        try:
            state = work(here, task, model, choices, progress=watch)
        except KeyboardInterrupt:
            _say(f"interrupted. {here.path} goes on with the same command.")
            raise typer.Exit(INTERRUPTED) from None
    _tell(state)
    return here


def finish(here: Run, *, score: bool, as_json: bool, native: str | None = None) -> None:
    """Scores a complete run, also as read in the notation `native`, and prints the results.

    IncompleteError where answers are missing.
    """
    done, failed = here.answered()
    missing = here.manifest.requests - len(done)
    if missing:
        how = f"Type:  snellen retry {here.path}" if len(failed) == missing else "Type the same command again"
        count = f"{len(failed):,} failed{_why(here, failed)}"
        raise IncompleteError(
            f"{missing:,} of {here.manifest.requests:,} answers are missing ({count}). {how}, "
            f"or score what there is:  snellen score {here.path} --incomplete"
        )
    if not score:
        _say(f"{here.path}: {len(done):,} answers")
        return
    from snellen.evals.scores import score as score_run

    results = score_run(here)
    if native is not None:
        from snellen.evals.native import add_native

        results = add_native(here, native, source="probed")
    if as_json:
        typer.echo(json.dumps(results.to_json(flat=True)))
        return
    from snellen.cli.printing import show_results

    show_results(results)
    typer.echo(f"{here.path}    next:  snellen report {here.path} --out report")


def _why(here: Run, failed: Collection[Key]) -> str:
    """What happened to the first of the failed requests, in the order of the samples' names."""
    for key in sorted(failed)[:1]:
        answer = here.answers()[key]
        if isinstance(answer, Failed):
            return f"; sample {key.sample!r}: {answer.cause}{answer.message and ': '}{answer.message[:200]}"
    return ""


def _dry_run(task: AnyTask, model: Model, choices: Choices, out: str, *, as_json: bool) -> None:
    from snellen.cli.watching import duration
    from snellen.runs.cost import plan
    from snellen.runs.preview import write_prompts
    from snellen.runs.selection import survey
    from snellen.runs.speed import lanes, speed_of
    from snellen.runs.store import Run, exists

    found = survey(task, choices.selection, draws=choices.draws)
    planned = plan(task, model.spec, ids=found.ids, requests=found.requests, draws=choices.draws)
    beside = out.rstrip("/").rpartition("/")[2] if "://" in out else out.rstrip("/")
    page = write_prompts(task, Path(beside + "-dry-run"), ids=found.ids)
    answered = len(Run.open(out).answered()[0]) if exists(out) else 0
    left, speed = found.requests - answered, speed_of(model.spec, out)
    seconds = None if speed is None else speed.seconds * left / lanes(model.spec)
    facts: Mapping[str, Any] = {"samples": found.samples, **planned.to_json(), "answered": answered, "seconds": seconds,
                                "prompts": str(page)}  # fmt: skip
    if as_json:
        typer.echo(json.dumps(facts))
        return
    typer.echo(f"{found.samples:,} samples, {found.requests:,} requests to {model.spec}")
    typer.echo(
        f"about {planned.usage.input_tokens:,} tokens in and {planned.usage.output_tokens:,} out "
        f"(at most {planned.most.output_tokens:,})"
    )
    if planned.price is None:
        typer.echo("price unknown; give it with  -M price='[0.5, 1.5]'  (USD per million tokens in, out)")
    else:
        typer.echo(f"about {planned.dollars:.4g} USD, at most {planned.most_dollars:.4g} ({planned.price.source})")
    if speed is None or seconds is None:
        typer.echo("time unknown: there is no earlier reply of this model, beside this run or in the cache")
    else:
        which = f"{left:,} left, {lanes(model.spec)} at a time" if answered else f"{lanes(model.spec)} at a time"
        known = f"{speed.seconds:.2g} s a request, measured on {speed.replies:,} replies in {speed.source}"
        typer.echo(f"about {duration(seconds)} ({which}; {known})")
    typer.echo(f"the first prompts: {page}")


def _tell(state: Progress) -> None:
    if state.stopped:
        _say(f"stopped: {state.stopped}")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
