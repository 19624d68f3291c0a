from __future__ import annotations

from importlib import metadata

from typer.testing import CliRunner

from snellen.cli.app import app


def test_the_version_is_told_without_a_verb() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"snellen {metadata.version('snellen')}\n"
