from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from command_line import snellen
from snellen.core.stages import Reply
from snellen.runs.store import Run

EXAM = ("civet/single-object", "-T", "side=108")


def test_a_run_asks_stores_scores_and_prints(capsys, tmp_path) -> None:
    code, out, _ = snellen(capsys, "run", *EXAM, "-m", "oracle", "--sample", "80", "-o", tmp_path / "r", "--json")
    assert code == 0
    assert json.loads(out)["accuracy"]["value"] == 1.0
    run = Run.open(tmp_path / "r")
    assert len(dict(run.replies())) == 80
    assert run.results()["metrics"]["accuracy"]["value"] == 1.0
    assert len(run.tables().outcomes) == 80


def test_the_same_command_again_goes_on(capsys, tmp_path) -> None:
    words = ("run", *EXAM, "-m", "random", "--limit", "50", "-o", tmp_path / "r")
    code, _, err = snellen(capsys, *words, "--max-requests", "20")
    assert code == 4
    assert "stopped: 20 requests were allowed" in err
    assert "30 of 50 answers are missing (0 failed). Type the same command again" in err
    code, out, _ = snellen(capsys, *words)
    assert code == 0
    assert "accuracy" in out


def test_failures_end_in_a_code_of_their_own_and_retry_mends_them(capsys, tmp_path, loopback) -> None:
    url = loopback("--faults", '{"500": 0.4}', "--seed", "1")
    words = ("-M", f"base_url={url}", "-M", "attempts=1")
    code, _, err = snellen(capsys, "run", *EXAM, "-m", "openai/x", *words, "--limit", "40", "-o", tmp_path / "r")
    assert code == 4
    assert "snellen retry" in err
    code, _, err = snellen(capsys, "retry", tmp_path / "r", "-M", "attempts=20")
    assert code == 0, err
    assert all(isinstance(answer, Reply) for _, answer in Run.open(tmp_path / "r").replies())


def test_a_dry_run_asks_nothing_and_shows_the_first_prompts(capsys, tmp_path) -> None:
    out = tmp_path / "r"
    code, text, _ = snellen(capsys, "run", *EXAM, "-m", "openai/gpt-4o", "-M", "base_url=http://127.0.0.1:9/v1",
                            "-M", "price=[2.5, 10]", "-o", out, "--dry-run", "--json")  # fmt: skip
    facts = json.loads(text)
    assert code == 0
    assert (facts["samples"], facts["requests"]) == (21_384, 21_384)
    assert 0 < facts["dollars"] <= facts["most_dollars"]
    page = (tmp_path / "r-dry-run" / "prompts.md").read_text()
    assert "Choose from [" in page
    assert "![" in page
    assert len(list((tmp_path / "r-dry-run").glob("*.png"))) == 3
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("civet/singel-object", "-m", "random"), 2, "single-object"),
        (("civet/single-object", "-m", "rndom"), 2, "Did you mean 'random'"),
        (("civet/single-object", "-T", "sied=5", "-m", "random"), 2, "sied"),
        (("civet/single-object", "-m", "random", "--limit", "3", "--sample", "3"), 2, "exclude"),
        (("civet/single-object", "-m", "@mine"), 2, "YAML"),
        (("civet/single-object", "-m", "random", "--budget", "5"), 2, "price"),
        (("civet/single-object",), 2, "--model"),
    ],
)
def test_bad_input_is_told_with_its_code(capsys, tmp_path, monkeypatch, words, code, message) -> None:
    monkeypatch.chdir(tmp_path)
    found, _, err = snellen(capsys, "run", *words, "-o", tmp_path / "r")
    assert (found, message in err) == (code, True), err


def test_a_budget_is_told_kept_and_resumed(capsys, tmp_path, loopback) -> None:
    words = ("run", *EXAM, "-m", "openai/x", "-M", f"base_url={loopback()}", "-M", "price=[10000, 0]", "-M",
             "concurrency=1", "--limit", "30", "-o", tmp_path / "r", "--no-score")  # fmt: skip
    code, _, err = snellen(capsys, *words, "--budget", "1")
    assert code == 4
    assert "30 requests, about " in err
    assert "stopped: the budget of 1 USD is used up" in err
    run = Run.open(tmp_path / "r")
    spent = sum(reply.usage.input_tokens for _, reply in run.replies()) / 100
    assert 0.5 < spent <= 1.2, "a few requests more may be out"
    assert snellen(capsys, *words, "--budget", "1000")[0] == 0


def test_another_run_in_the_same_folder_is_refused(capsys, tmp_path) -> None:
    snellen(capsys, "run", *EXAM, "-m", "random", "--limit", "5", "-o", tmp_path / "r", "--no-score")
    code, _, err = snellen(capsys, "run", *EXAM, "-m", "oracle", "--limit", "5", "-o", tmp_path / "r")
    assert code == 3
    assert "another model" in err


def test_a_model_may_be_named_in_a_file(capsys, tmp_path) -> None:
    (tmp_path / "models.yaml").write_text("chance:\n  model: random\n  seed: 5\n")
    code, _, _ = snellen(capsys, "run", *EXAM, "-m", "@chance", "--models", tmp_path / "models.yaml", "--limit", "5",
                         "-o", tmp_path / "r")  # fmt: skip
    assert code == 0
    assert Run.open(tmp_path / "r").manifest.model["options"] == {"seed": 5}


def test_an_import_cannot_be_retried(capsys, tmp_path) -> None:
    from snellen.runs.manifest import Manifest

    model = {"provider": "import", "name": "x", "options": {}}
    Run.create(tmp_path / "r", Manifest(kind="import", task={"task": "x"}, model=model, samples=1, requests=1))
    code, _, err = snellen(capsys, "retry", tmp_path / "r")
    assert code == 3
    assert "imported" in err


def test_a_dry_run_tells_the_time_where_the_model_has_answered_before(capsys, tmp_path, loopback, monkeypatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache.sqlite"))
    words = ("run", *EXAM, "-m", "openai/x", "-M", f"base_url={loopback('--latency', '0.2')}", "-M", "concurrency=4")
    folders = {name: tmp_path / name / "r" for name in ("one", "two")}
    assert "time unknown" in snellen(capsys, *words, "--limit", "8", "-o", folders["one"], "--dry-run")[1]
    assert snellen(capsys, *words, "--limit", "8", "-o", folders["one"], "-q", "--cache", "--no-score")[0] == 0

    def told(*more: object) -> dict:
        return json.loads(snellen(capsys, *words, *more, "--dry-run", "--json")[1])

    mean = sum(reply.seconds for _, reply in Run.open(folders["one"]).replies()) / 8
    assert mean >= 0.2
    beside = told("--limit", "40", "-o", tmp_path / "one" / "s")
    assert (beside["answered"], beside["seconds"]) == (0, pytest.approx(mean * 40 / 4))
    assert told("--limit", "8", "-o", folders["one"])["seconds"] == 0
    assert told("--limit", "40", "-o", folders["two"])["seconds"] == pytest.approx(mean * 40 / 4), "from the cache"
    other = ("run", *EXAM, "-m", "openai/y", "-M", "base_url=http://x", "-o", tmp_path / "one" / "t", "--dry-run")
    assert json.loads(snellen(capsys, *other, "--json")[1])["seconds"] is None


def test_ctrl_c_leaves_a_run_that_goes_on(capsys, tmp_path, loopback) -> None:
    words = ["run", *EXAM, "-m", "openai/x", "-M", f"base_url={loopback('--latency', '0.4')}", "-M", "concurrency=4",
             "--limit", "60", "-o", str(tmp_path / "r"), "--no-score"]  # fmt: skip
    program = "import sys; from snellen.cli.app import main; main(sys.argv[1:])"
    pipes = {"stderr": subprocess.PIPE, "text": True, "env": {**os.environ, "PYTHONWARNINGS": "default"}}
    # A background shell makes its children deaf to SIGINT; this one listens, whoever runs the tests.
    started = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **pipes,
    )
    while not list(tmp_path.glob("r/replies/*.jsonl")):
        time.sleep(0.02)
        assert started.poll() is None
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert "goes on with the same command" in err
    assert "Traceback" not in err
    run = Run.open(tmp_path / "r")
    assert 0 < len(dict(run.replies())) < 60
    assert run.holder() is None
    assert snellen(capsys, *words)[0] == 0
    assert len(dict(run.replies())) == 60
