"""A run against a server that misbehaves on purpose, killed with -9 again and again, ends as an undisturbed one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snellen.core.stages import Failed, Key, Reply
from snellen.runs.store import Run

FAULTS = {"429": 0.02, "500": 0.02, "hang": 0.001, "cut": 0.01, "empty": 0.01, "garbage": 0.01, "refuse": 0.02}
SPEEDS = {"concurrency": 32, "timeout": 2, "attempts": 8}


def command(url: str, out: Path, *more: str) -> list[str]:
    options = [word for name, value in {"base_url": url, **SPEEDS}.items() for word in ("-M", f"{name}={value}")]
    return [sys.executable, "-c", "from snellen.cli.app import main; main()", "run", "civet/single-object",
            "-T", "side=108", "-m", "openai/vlm", "-o", str(out), "--no-score", "--quiet", *options, *more]  # fmt: skip


def finished(words: list[str]) -> int:
    """Runs to the end; the most memory it took, KiB."""
    started = subprocess.Popen(words)
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    assert started.returncode == 0
    return usage.ru_maxrss


def killed(words: list[str], out: Path, *, after: float) -> bool:
    """Kills the run `after` seconds from its first request; whether it was still running then."""
    started = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    while started.poll() is None and not (out / "lease.json").exists():
        time.sleep(0.01)
    time.sleep(after)
    running = started.poll() is None
    started.send_signal(signal.SIGKILL)
    started.wait()
    return running


def said(run: Run) -> dict[Key, tuple[str, str, tuple]]:
    found = dict(run.replies())
    assert not [answer for answer in found.values() if isinstance(answer, Failed)]
    return {key: (reply.text, reply.finish, reply.sent) for key, reply in found.items() if isinstance(reply, Reply)}


def check(tmp_path: Path, url: str, calm: str, *, kills: int, longest: float, more: tuple[str, ...] = ()) -> Run:
    finished(command(calm, tmp_path / "calm", *more))
    rng = random.Random(0)
    out = tmp_path / "killed"
    hits = sum(killed(command(url, out, *more), out, after=rng.uniform(0, longest)) for _ in range(kills))
    assert hits >= kills // 2, "most kills must hit a run at work"
    finished(command(url, out, *more))
    run = Run.open(out)
    assert said(run) == said(Run.open(tmp_path / "calm"))
    assert any(finish == "refused" for _, finish, _ in said(run).values())
    assert not [name for name in run.place.names("replies") if name.endswith(".jsonl")]
    return run


def test_a_run_killed_at_random_moments_gives_the_replies_of_an_undisturbed_one(tmp_path, loopback) -> None:
    url = loopback("--faults", json.dumps(FAULTS), "--latency", "0.05")
    calm = loopback("--faults", json.dumps({"refuse": FAULTS["refuse"]}))
    check(tmp_path, url, calm, kills=2, longest=0.4, more=("--limit", "300"))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_whole_exam_killed_20_times_gives_the_replies_of_an_undisturbed_one(tmp_path, loopback) -> None:
    url = loopback("--faults", json.dumps(FAULTS), "--latency", "0.02")
    calm = loopback("--faults", json.dumps({"refuse": FAULTS["refuse"]}))
    run = check(tmp_path, url, calm, kills=20, longest=5.0)
    assert run.manifest.requests == 21_384
    assert len({key.sample.rsplit("/", 1)[0] for key, _ in run.replies()}) >= 5_832


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_does_not_grow_with_the_exam(tmp_path, loopback) -> None:
    url = loopback()
    tenth = finished(command(url, tmp_path / "a", "--limit", "2138"))
    whole = finished(command(url, tmp_path / "b"))
    assert whole - tenth < 15 * 1024, f"{tenth} KiB for a tenth, {whole} KiB for the whole"
