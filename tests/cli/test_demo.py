"""The demo, as it is typed: every model on every exam, and a report that opens with the decision."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import snellen
from snellen.cli import demo

pytestmark = [pytest.mark.tier2, pytest.mark.timeout(400)]


def test_the_demo_ends_by_naming_a_report_with_a_part_for_each_exam(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said, told = snellen(capsys, "demo", "--out", tmp_path / "report", "--sample", 10)
    assert code == 0
    assert told.count(" done\n") == len(list((tmp_path / "report-runs").glob("runs/*/*/*/seed-*")))
    assert [line.partition(":")[0] for line in said.splitlines()] == [*demo.DATA, "report"]
    page = Path(said.splitlines()[-1].partition(": ")[2])
    assert page == (tmp_path / "report" / "index.html").resolve()
    text = page.read_text()
    assert re.findall(r'<li class="part">\d\. (\w+):', text) == list(demo.DATA)
    assert text.index('id="decision"') < text.index('id="overview"')
