"""What stands around a reply (line ends, marks, end tokens, prose, reasoning) changes nothing of what it means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from golden.test_vlm_outputs import found, read
from snellen.parsing.choice import read_choice

FRAMES: dict[str, Callable[[str], str]] = {
    "a line end": lambda text: text + "\n",
    "Windows line ends": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n") + "\r\n",
    "a byte-order mark": lambda text: "\ufeff" + text.removeprefix("\ufeff"),
    "blanks in front": lambda text: "\n\n " + text,
    "an end token": lambda text: text + "<|im_end|>",
    "reasoning": lambda text: "<think>hmm, maybe</think>\n" + text,
    "answer tags": lambda text: f"<answer>{text}</answer>",
    "prose in front": lambda text: "Here is what I found.\n" + text,
    "prose behind": lambda text: text + "\n\nLet me know if you need anything else.",
    "a fence": lambda text: text if "```" in text else f"```json\n{text}\n```",
    "blanks that do not break": lambda text: text.replace(" ", "\u00a0"),
}
OF_SHORT_ANSWERS = ("a line end", "a byte-order mark", "blanks in front", "an end token", "reasoning", "answer tags")


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_changes_nothing(name: str, shared: Path) -> None:
    lines = (shared / "cases/vlm_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["task"] != "closed_ended_vqa"]
    for row in rows:
        bare, framed = found(read(row)), found(read({**row, "text": FRAMES[name](row["text"])}))
        if row.get("truncated") and FRAMES[name]("x").rstrip() != "x":
            framed, bare = framed[: len(bare)], bare[: len(framed)]  # text behind a cut may show that it ends there
        assert [label.replace("\u00a0", " ") for label, _ in framed] == [label for label, _ in bare], row["id"]
        for (_, one), (_, other) in zip(framed, bare, strict=True):
            np.testing.assert_allclose(one, other, err_msg=row["id"])


@pytest.mark.parametrize("name", OF_SHORT_ANSWERS)
def test_a_frame_changes_no_answer(name: str, shared: Path) -> None:
    lines = (shared / "cases/vlm_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    for row in (row for row in map(json.loads, lines) if row["task"] == "closed_ended_vqa"):
        options = row["expected"].get("options", ())
        reader = "options" if options else "first-number"
        bare, framed = (
            read_choice(text, options, reader=reader).value for text in (row["text"], FRAMES[name](row["text"]))
        )
        assert framed == bare, row["id"]
