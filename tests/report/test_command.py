"""`snellen report` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.cli.app import main
from snellen.runs.store import Run


def test_a_report_is_written_and_its_page_named(
    star: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r"
    with pytest.raises(SystemExit) as end:
        main(["report", star["large"].path, "--out", str(out), "--pictures", "1", "--json"])
    assert end.value.code == 0
    page = Path(json.loads(capsys.readouterr().out)["page"])
    assert page == out / "index.html"
    assert len(list((out / "pictures").iterdir())) == 1


def test_a_place_without_a_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "nothing"), "--out", str(tmp_path / "r")])
    assert end.value.code == 3
    assert "there is no run" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
