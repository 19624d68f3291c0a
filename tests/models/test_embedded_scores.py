"""The embedded model does on other questions what its card (docs/embedded.md) says."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path

import pytest

from snellen.core.specs import ModelSpec
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.table import build
from snellen.runs.loop import run

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.tier2,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]


def _recipe():
    sys.path.insert(0, str(ROOT / "recipes"))
    try:
        return importlib.import_module("embedded_card")
    finally:
        sys.path.remove(str(ROOT / "recipes"))


card = _recipe()
ROW = re.compile(r"^\| (?P<exam>[^|]+) \| [\d,]+ \| (?P<value>\.\d+|1\.000) \((?P<low>\S+) to (?P<high>\S+)\) \|", re.M)
STATED = {
    row["exam"]: tuple(float(row[k]) for k in ("value", "low", "high"))
    for row in ROW.finditer((ROOT / "docs" / "embedded.md").read_text())
}


@pytest.fixture(scope="module")
def model():
    made = build(ModelSpec.parse("embedded/snellen-tiny"))
    yield made
    made.close()


@pytest.mark.parametrize("exam", [*card.CLOSED, *card.BOXES])
def test_other_questions_are_answered_as_the_card_says(model, tmp_path, exam):
    """Another sample (or other scenes): the difference from the card is within 3.3 standard errors, 1 in 1,000."""
    closed = exam in card.CLOSED
    task = {**{**card.CLOSED, **card.BOXES}[exam].task, **({} if closed else {"seed": 1, "scenes": 100})}
    made = run(open_task(task), model, tmp_path / "run", sample=200 if closed else None, seed=1)
    found = score(made, draws=400).metrics["accuracy" if closed else "f1"]
    value, low, high = STATED[exam]
    error = math.hypot(high - low, found.high - found.low) / 3.92
    assert abs(found.value - value) < 3.3 * error, (found, STATED[exam])
