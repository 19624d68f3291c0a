from __future__ import annotations

import json

import pytest

from snellen.cli.app import main
from snellen.core.stages import Key
from snellen.runs.store import Run


def snellen(capsys, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert not ended.value.code
    return capsys.readouterr().out


def test_a_run_fills_the_cache_and_the_next_one_uses_it(capsys, tmp_path, monkeypatch, loopback) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache.sqlite"))
    options = ("-m", "openai/x", "-M", f"base_url={loopback()}", "--limit", "20", "--cache", "-q")
    snellen(capsys, "run", "civet/counting", *options, "-o", tmp_path / "a", "--no-score")
    facts = json.loads(snellen(capsys, "cache", "--json"))
    assert (facts["replies"], facts["models"]) == (20, {"openai/x": 20})
    snellen(capsys, "run", "civet/counting", *options, "-o", tmp_path / "b", "--no-score")
    first, second = (dict(Run.open(tmp_path / name).replies()) for name in "ab")
    assert first == second, "latencies too: nothing was asked again"
    assert json.loads(snellen(capsys, "cache", "--clear", "--model", "openai/x", "--json"))["forgotten"] == 20
    assert "0 replies" in snellen(capsys, "cache")
    assert isinstance(next(iter(first)), Key)
