from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.cli.app import main
from snellen.core.errors import SpecError
from snellen.evals.suites import suite


def test_the_ablation_has_every_size_with_and_without_the_instruction(tmp_path: Path) -> None:
    specs = suite("ablation")
    assert len(specs) == 12
    assert {(s["side"], s["size"], s["short_answers"]) for s in specs.values()} == {
        (side, size, short) for side in (336, 672, 1344) for size in ("regular", "small") for short in (True, False)
    }
    assert len(suite("ablation", images=str(tmp_path))) == 18
    assert len(suite("paper", images=str(tmp_path))) == 5
    with pytest.raises(SpecError, match="Known: ablation, paper"):
        suite("ablations")


def test_a_suite_is_run_and_the_same_samples_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["suite", "paper", "-m", "random", "--sample", "10", "-o", str(tmp_path), "--quiet", "--json"]
    with pytest.raises(SystemExit) as end:
        main(words)
    assert not end.value.code
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"single-object", "relative-position", "relative-size", "relative-distance"}
    assert all(0 <= estimate["value"] <= 1 for estimate in found.values())
    assert (tmp_path / "relative-size" / "results.json").is_file()
