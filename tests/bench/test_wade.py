"""WADE's prompt and a model that keeps its own order, in a bench and in a run: scored as prescribed, its own beside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from snellen.bench.config import read_bench
from snellen.bench.execute import execute
from snellen.bench.plan import jobs_of
from snellen.bench.table import conclude
from snellen.cli.app import app
from snellen.datasets.load import load_data
from snellen.evals.results import Results
from snellen.probing.scenes import probe_scenes
from snellen.runs.store import Run
from snellen.stimuli.scenes import detection


@pytest.fixture
def served(tmp_path: Path, loopback: Callable[..., Any]) -> tuple[Path, Any]:
    """A data set of five pictures, and a server whose `own` writes x first whatever it is told; `told` does as told."""
    folder = tmp_path / "set"
    detection(scenes=5, objects=(2,), seed=1).write(folder / "test")
    server = loopback({"own": {"notation": "qwen3-vl", "noise": 0.02}, "told": {"notation": "wade", "noise": 0.02}})
    server.knows(probe_scenes())
    server.knows(tuple(load_data(folder, split="test").samples()))
    return folder, server


def _scored(run: Run) -> Results:
    return Results.from_json(run.results())


def test_a_bench_scores_what_wade_prescribes_and_shows_the_models_own_order_beside(
    served: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, server = served
    models = {name: {"model": f"openai/{name}", "options": {"base_url": server.url}} for name in ("own", "told")}
    data = {"water": {"exam": "wade/zero-shot", "options": {"data": str(folder), "split": "test"}}}
    file = tmp_path / "bench.yaml"
    file.write_text(yaml.safe_dump({"data": data, "models": models, "metric": "f1", "bootstrap": 100}))
    bench = read_bench(file)
    own, told = execute(bench, jobs_of(bench), tmp_path / "out")
    assert (own.state, told.state) == ("done", "done")
    assert own.probe is not None
    assert own.probe.contradicted
    assert "declares wade (yxyx 0..1000) but speaks xyxy 0..1000" in own.probe.reason
    assert own.run is not None
    assert told.run is not None
    found = _scored(own.run)
    assert not found.metrics["f1"].value
    assert found.groups["notation"]["thousand (native)"]["f1"].value == 1.0
    assert found.facts["native"] == {"notation": "thousand", "prescribed": "wade", "source": "probed"}
    assert _scored(told.run).metrics["f1"].value == 1.0
    assert "notation" not in _scored(told.run).groups
    outcome = conclude(bench, [own, told])
    from snellen.report.decision import bench_report

    page = bench_report(bench, [own, told], outcome, tmp_path / "report").read_text()
    assert "f1 100.0 % where the same replies are read as thousand (probed) instead of wade" in page


def test_a_run_hints_at_the_probe_then_shows_both_readings_and_needs_none_of_it_with_no_probe(
    served: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, server = served
    at = ["-M", f"base_url={server.url}"]

    def run(out: str, *more: str) -> tuple[Any, Results]:
        asked = ["run", "wade/zero-shot", str(folder), "-T", "split=test", "-m", "openai/own", *at]
        result = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / out), *more])
        assert result.exit_code == 0, result.output
        return result, _scored(Run.open(tmp_path / out))

    result, found = run("before")
    assert "openai/own was not probed" in result.stderr
    assert "--prompt wade" in result.stderr
    assert "notation" not in found.groups

    probed = CliRunner().invoke(app, ["probe", "openai/own", *at, "--prompt", "wade", "--json"])
    assert probed.exit_code == 6, probed.output
    assert json.loads(probed.stdout)["contradicted"]
    result, found = run("after")
    assert "wade/zero-shot prescribes wade, which is scored" in result.stderr
    assert not found.metrics["f1"].value
    assert (found.groups["notation"]["thousand (native)"]["f1"].value or 0) > 0.9
    assert "the same replies read in another notation" in result.stdout

    result, found = run("trusting", "--no-probe")
    assert "prescribes" not in result.stderr
    assert "notation" not in found.groups


def test_where_the_wording_is_chosen_freely_a_contradicted_run_stops(served: tuple[Path, Any], tmp_path: Path) -> None:
    folder, server = served
    at = ["-M", f"base_url={server.url}"]
    assert CliRunner().invoke(app, ["probe", "openai/own", *at, "--prompt", "wade"]).exit_code == 6
    before = sum(server.answered.values())
    asked = ["run", "detect", str(folder), "-T", "split=test", "-T", "prompt=wade", "-m", "openai/own", *at]
    result = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "run")])
    assert result.exit_code != 0
    assert "go on with --no-probe" in str(result.exception) + result.output
    assert sum(server.answered.values()) == before
    assert not (tmp_path / "run").exists()
