"""The rules of the house, on the tracked files themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
BANNED = {"utils", "util", "helpers", "helper", "common", "misc", "base"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_is_over_400_lines_or_has_an_empty_name(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert path.stem not in BANNED
    assert path.parent.name not in BANNED


def test_import_snellen_loads_none_of_the_heavy_libraries() -> None:
    code = (
        "import sys, snellen, snellen.cli.app\n"
        "heavy = {'torch', 'transformers', 'pyarrow', 'openai', 'altair', 'scipy', 'duckdb', 'hotcoco', 'pandas'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_import_contract_refuses_a_planted_fault(tmp_path: Path) -> None:
    """The gate is shown to fail: a copy of the package in which `core` imports `cli`."""
    pytest.importorskip("importlinter")
    import shutil

    shutil.copytree(ROOT / "src" / "snellen", tmp_path / "src" / "snellen", ignore=shutil.ignore_patterns("weights"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    fault = tmp_path / "src" / "snellen" / "core" / "boxes.py"
    fault.write_text(fault.read_text() + "\nimport snellen.cli.app  # planted\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'src')!r});"
        "from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "snellen.core.boxes -> snellen.cli.app" in done.stdout


def test_no_tracked_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:work|farm|root|home)/")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    guilty = []
    for name in done.stdout.split():
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".html", ".js", ".css", ""}
            and path.is_file()
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            guilty += [f"{name}: {line}" for line in text.splitlines() if pattern.search(line)]
    assert not [line for line in guilty if "test_house_rules" not in line]
