"""Where prompts worked on together may change an answer: how often they do. Hardly ever; in float32 never."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.tier2,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not any(importlib.util.find_spec(name) for name in ("xllamacpp", "torch")), reason="no model is there"
    ),
]


def test_few_answers_change_with_company_and_none_in_float32(tmp_path):
    script = Path(__file__).parents[2] / "benchmarks" / "batching.py"
    out = tmp_path / "rates.json"
    done = subprocess.run(
        [sys.executable, str(script), "--questions", "60", "--boxes", "8", "--json", str(out)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    assert rows
    for row in rows:
        if "float32" in row["path"]:
            assert row["changed"] == 0, row
        elif row["kind"] == "closed questions":
            assert row["rate"] <= 0.1, row
