"""Intervals of boxes contain the truth about as often as they say, by picture and by site (a small simulation)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("snellen_benchmark_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["60 pictures", "25 sites, 200 pictures"])
def test_intervals_of_f1_ap_and_chair_cover(coverage: ModuleType, name: str) -> None:
    scenes = next(s for s in coverage.SETS if s.name == name)
    names = ("f1", "ap", "chair_i", "chair_s")
    found = coverage.simulate(scenes, 200, draws=300, rng=np.random.default_rng(0), names=names)
    for metric, tally in found.items():
        assert tally.runs == 200
        assert 0.91 <= tally.coverage <= 0.99, metric  # 200 runs know a coverage of 95 % to +- 3 points
