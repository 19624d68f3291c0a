"""What README.md says in Python is run as it stands, on fewer samples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_example_runs_in_a_fresh_python(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert "sample=400" in code
    done = subprocess.run(
        [sys.executable, "-c", code.replace("sample=400", "sample=20")], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Estimate(value=" in done.stdout
    assert (tmp_path / "report" / "index.html").is_file()


def test_every_public_name_is_what_it_says_before_and_after_its_module_was_imported() -> None:
    import snellen.report.pages

    assert callable(snellen.report), "the package of reports has the name of the function"
    for name in snellen.__all__:
        assert callable(getattr(snellen, name)), name
