"""`snellen parse` and `snellen list`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from snellen.cli.app import app
from snellen.core.errors import DataError, SpecError
from snellen.parsing.notations import NOTATIONS


def parse(text: str | bytes, *arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["parse", *arguments], input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_a_reply_is_printed_in_px_of_the_picture() -> None:
    scored = '{"bbox_2d": [100, 200, 500, 900], "label": "cat", "confidence": 0.5}'
    text = f'[{scored}, {{"bbox_2d": [0, 0, 10, 10], "label": "b"}}]'
    assert parse(text, "--notation", "qwen3-vl", "--size", "640x480") == {
        "status": "ok",
        "salvage": "intact",
        "reason": "",
        "unread": 0,
        "instances": [
            {"label": "cat", "box": [64.0, 96.0, 320.0, 432.0], "score": 0.5},
            {"label": "b", "box": [0.0, 0.0, 6.4, 4.8], "score": None},
        ],
        "points": [],
    }


def test_points_are_printed_beside_boxes() -> None:
    found = parse('<point x="50" y="25" alt="cat">cat</point>', "--notation", "molmo", "--size", "640x480")
    assert (found["status"], found["instances"]) == ("ok", [])
    assert found["points"] == [{"label": "cat", "point": [320.0, 120.0]}]


def test_the_input_is_the_picture_unless_its_size_is_given() -> None:
    text = '[{"bbox_2d": [10, 10, 20, 20], "label": "cat"}]'
    same = parse(text, "--notation", "qwen2.5-vl", "--size", "200x100")
    half = parse(text, "--notation", "qwen2.5-vl", "--size", "200x100", "--input-size", "100x50")
    assert same["instances"][0]["box"] == [10, 10, 20, 20]
    assert half["instances"][0]["box"] == [20, 20, 40, 40]


def test_failures_are_told_not_raised() -> None:
    for text, status in (("", "malformed"), ("I'm sorry, I can't help with that.", "refused"), ("[{", "truncated")):
        found = parse(text, "--notation", "wade", "--size", "640x480")
        assert found["status"] == status
        assert found["instances"] == []
        assert found["reason"]


def test_one_class_names_unlabelled_boxes_and_format_and_strict_are_obeyed() -> None:
    size = ("--size", "100x100")
    assert (
        parse("[[1, 2, 3, 4]]", "--notation", "glm-4.5v", *size, "--classes", "cat")["instances"][0]["label"] == "cat"
    )
    assert parse("[[1, 2, 3, 4]]", "--notation", "glm-4.5v", *size)["instances"][0]["label"] is None
    assert parse("[[1, 2, 3, 4]]", "--notation", "glm-4.5v", *size, "--format", "json")["status"] == "malformed"
    loose = '[{"box": [1, 2, 3, 4], "label": "a",}]'
    assert parse(loose, "--notation", "wade", *size)["status"] == "ok"
    assert parse(loose, "--notation", "wade", *size, "--strict")["status"] == "malformed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--notation", "qwen4", "--size", "1x1"), "qwen3-vl"),
        (("--notation", "wade", "--size", "640"), "640x480"),
        (("--notation", "wade", "--size", "0x10"), "640x480"),
        (("--notation", "wade", "--size", "9x9", "--format", "xml"), "brackets"),
        (("--notation", "wade", "--size", "9x9", "--finish", "end"), "refused"),
    ],
)
def test_bad_options_say_what_is_known(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse("[]", *arguments)


def test_a_reply_that_is_no_utf_8_is_an_error_with_its_place() -> None:
    with pytest.raises(DataError, match="0xff at 2"):
        parse(b"[]\xff", "--notation", "wade", "--size", "9x9")


def test_every_list_prints_plain_and_as_json() -> None:
    runner = CliRunner()
    lists = json.loads(runner.invoke(app, ["list", "--json"]).stdout)
    assert "notations" in lists
    for name in lists:
        plain = runner.invoke(app, ["list", name])
        rows = json.loads(runner.invoke(app, ["list", name, "--json"]).stdout)
        assert plain.exit_code == 0
        assert rows
        assert all(row in plain.stdout and "help" in known for row, known in rows.items())
    notations = json.loads(runner.invoke(app, ["list", "notations", "--json"]).stdout)
    assert list(notations) == list(NOTATIONS)
    assert isinstance(runner.invoke(app, ["list", "notation"]).exception, SpecError)
