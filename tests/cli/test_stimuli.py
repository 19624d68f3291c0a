from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.cli.app import main


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(words)
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_an_exam_is_made_checked_and_opened_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "exam")
    options = ["-T", "side=120", "-T", "counts=[1,2]", "-T", "scenes=3"]
    code, printed, _ = run("stimuli", "make", "counting", "--out", out, *options, "--json", capsys=capsys)
    assert (code, json.loads(printed)) == (0, {"pictures": 6, "samples": 6, "folder": out})
    code, printed, _ = run("stimuli", "check", out, "--json", capsys=capsys)
    found = json.loads(printed)
    assert (code, found["pictures"]) == (0, {"whole": 6, "equal to their worlds": 6})
    assert found["kinds"]["count"]["n"] == 6


def test_the_certificate_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = run("stimuli", "check", "relative-position", capsys=capsys)
    assert code == 0
    assert "always answering 'above left' 20.0% (F1 33.3% on that label)" in printed
    assert "labels                uneven" in printed


def test_every_exam_is_listed_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = run("stimuli", "list", "--json", capsys=capsys)
    assert code == 0
    found = json.loads(printed)
    assert found["relative-distance"]["options"]["ties"] == "drop"
    assert {"single-object", "counting", "acuity", "detection"} <= set(found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stimuli", "check", "singel-object"], "Did you mean 'single-object'"),
        (["stimuli", "check", "counting", "-T", "colors=1"], "unknown option of civet/counting 'colors'"),
        (["stimuli", "check", "counting", "-T", "arrangement=piled"], "scattered or clustered"),
    ],
)
def test_a_mistake_is_told_with_what_there_is(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(*words, capsys=capsys)
    assert code == 2
    assert message in err
