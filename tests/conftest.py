"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real pictures, answers and cases that lies outside the repository; skips where it is absent."""
    place = os.environ.get("SNELLEN_SHARED") or str(Path(__file__).parents[2] / "shared")
    folder = Path(place)
    if not (folder / "PROTOCOLS.md").is_file():
        pytest.skip(f"SNELLEN_SHARED names no folder of shared data: {folder}")
    return folder
