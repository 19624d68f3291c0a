"""`snellen version`."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)

PACKAGES = ("numpy", "pillow", "scipy", "hotcoco", "pyarrow", "openai", "onnxruntime", "torch", "transformers")


@app.command()
def show(json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The versions of Snellen, Python, and the packages that its numbers rest on.

    Example:  snellen version --json
    """
    versions = {"snellen": version("snellen"), "python": platform.python_version()} | {
        name: _installed(name) for name in PACKAGES
    }
    if json_:
        typer.echo(json.dumps(versions))
    else:
        for name, number in versions.items():
            typer.echo(f"{name:14}{number or 'not installed'}")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
