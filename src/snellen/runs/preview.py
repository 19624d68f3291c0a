"""The first prompts of a task, written out to be looked at, pictures beside."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path

from PIL import Image

from snellen.core.pictures import Picture
from snellen.core.specs import canonical
from snellen.core.stages import AnyTask, Prompt
from snellen.runs.selection import walk


def write_prompts(task: AnyTask, out: Path, *, ids: frozenset[str] | None = None, count: int = 3) -> Path:
    """`prompts.md` in `out`, with the first `count` prompts as they will be asked, and their pictures as files."""
    out.mkdir(parents=True, exist_ok=True)
    every = (prompt for sample in walk(task, ids) for prompt in task.prompts(sample))
    pages = [_page(prompt, out, number) for number, prompt in enumerate(islice(every, count), 1)]
    target = out / "prompts.md"
    target.write_text("\n".join(pages), encoding="utf-8")
    return target


def _page(prompt: Prompt, out: Path, number: int) -> str:
    call = f", call {prompt.key.call!r}" if prompt.key.call else ""
    lines = [f"# {number}. sample {prompt.key.sample!r}{call}", ""]
    pictures = 0
    for turn in prompt.turns:
        lines += [f"## {turn.role}", ""]
        for part in turn.parts:
            if isinstance(part, Picture):
                pictures += 1
                name = _write(part, out, f"{number}-{pictures}")
                size = part.upright_size()
                lines += [f"![{part.name}]({name})", "", f"({size.width} x {size.height} px)", ""]
            else:
                lines += ["```", part, "```", ""]
    lines += [f"wants: {prompt.wants}; at most {prompt.max_tokens} tokens; labels: {', '.join(prompt.labels)}", ""]
    if prompt.schema is not None:
        lines += ["schema:", "", "```json", canonical(prompt.schema), "```", ""]
    return "\n".join(lines)


def _write(picture: Picture, out: Path, stem: str) -> str:
    data = picture.encoded()
    form = (Image.open(io.BytesIO(data)).format or "png").lower()
    name = f"{stem}.{'jpg' if form == 'jpeg' else form}"
    (out / name).write_bytes(data)
    return name
