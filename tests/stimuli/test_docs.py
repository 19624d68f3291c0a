"""What the pages say about exams of one's own is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snellen.stimuli.custom import custom
from snellen.stimuli.render import render

PAGES = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```(yaml|python)\n(.*?)```", (PAGES / "custom-exam.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_exam_of_the_page_is_built_and_drawn(number: int, tmp_path: Path) -> None:
    language, text = BLOCKS[number]
    path = tmp_path / f"exam.{'py' if language == 'python' else 'yaml'}"
    path.write_text(text, encoding="utf-8")
    exam = custom(file=str(path))
    assert len(exam) >= len(exam.worlds) > 50
    assert render(exam.worlds[-1]).startswith(b"\x89PNG")
    assert all(question.target in question.options for question in exam.questions)


def test_every_exam_stands_in_the_table_of_the_page() -> None:
    from snellen.stimuli.table import EXAMS

    page = (PAGES / "stimuli.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in [*EXAMS, "detection", "folder"])
