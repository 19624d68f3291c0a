"""The command line, as tests type it."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.cli.app import main


def snellen(capsys: Any, *words: object) -> tuple[int, str, str]:
    """Types `snellen words...`: the exit code, what stands on standard output, and on standard error."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return ended.value.code or 0, out, err
