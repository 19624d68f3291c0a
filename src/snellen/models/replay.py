"""`replay`: answers from a file or from the replies of another run. A person is a model whose replies are a file."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snellen.core.errors import DataError, SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Failed, Key, Prompt, Reply
from snellen.models import records
from snellen.models.table import check_options


@dataclass(frozen=True)
class ReplayModel:
    """Stored lines by key; they are read when they are asked for."""

    spec: ModelSpec
    lines: Mapping[Key, bytes] = field(repr=False)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """The stored reply of each key, in order; a key without one is Failed."""
        for prompt in prompts:
            line = self.lines.get(prompt.key)
            yield prompt.key, Failed("missing", "nothing was stored") if line is None else records.read(line)[1]


def replay(spec: ModelSpec, task: AnyTask | None = None) -> ReplayModel:
    """`replay/PATH`: a run folder, or a file of JSON lines (`.gz` too) like `{"sample": "7", "text": "red"}`.

    The canonical spec gains the SHA-256 of what was read. Of several replies to a key the first counts.
    """
    check_options(spec, known=frozenset({"path", "sha256"}))
    place = Path(str(spec.options.get("path", spec.name)))
    if not place.name:
        raise SpecError("replay needs a place: replay/PATH, a run folder or a file of JSON lines")
    lines: dict[Key, bytes] = {}
    digest = hashlib.sha256()
    for file in files_of(place):
        for number, line in enumerate(lines_of(file), 1):
            key, answer = records.read(line, place=f"{file}, line {number}")
            if isinstance(answer, Reply) and key not in lines:
                lines[key] = line
    for key in sorted(lines):
        digest.update(lines[key])
    found = digest.hexdigest()
    if spec.options.get("sha256", found) != found:
        raise DataError(f"the replies have changed: SHA-256 {spec.options['sha256']} expected, got {found}: {place}")
    return ReplayModel(ModelSpec("replay", str(place), {"sha256": found}), lines)


def files_of(place: Path) -> list[Path]:
    """The files of replies of a run folder, in order, or the one file."""
    if place.is_file():
        return [place]
    if not (place / "manifest.json").is_file():
        raise DataError(f"a run folder or a file of replies is expected: {place}")
    return sorted(path for path in (place / "replies").iterdir() if path.name.endswith((".jsonl", ".jsonl.gz")))


def lines_of(file: Path) -> Iterator[bytes]:
    """Whole lines; a last line without its end (a writer was killed) is left out only in a part still open."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
        for line in stream:
            if line.strip() and (line.endswith(b"\n") or file.parent.name != "replies"):
                yield line
