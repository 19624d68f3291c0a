"""Coverage by simulation (second tier): 95 % intervals contain the truth in 93 to 97 of 100 exams."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "coverage_answers.py"
RUNS = 1000
SLACK = 0.01
"""Beyond 93..97 %: 1.5 standard errors of a coverage of 95 % over so many runs."""

SIMULATED = runpy.run_path(str(BENCHMARK))
CASES = [pytest.param(simulate, id=f"{i:02} {name}") for i, (name, simulate) in enumerate(SIMULATED["cases"]())]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("simulate", CASES)
def test_intervals_contain_the_truth_as_often_as_they_say(simulate):
    for metric, tally in simulate(RUNS, np.random.default_rng(7)).items():
        assert tally.runs >= 0.9 * RUNS
        assert 0.93 - SLACK <= tally.coverage <= 0.97 + SLACK, (metric, tally)


def test_the_simulation_itself_runs():
    found = CASES[0].values[0](20, np.random.default_rng(0))
    assert set(found) == {"accuracy", "macro_f1", "f1.0"}
    assert all(tally.coverage > 0.7 for tally in found.values())
