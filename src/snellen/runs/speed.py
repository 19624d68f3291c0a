"""How long a model takes for a request: known from what it answered before, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import StoreError
from snellen.core.specs import ModelSpec, canonical
from snellen.core.stages import Failed, Reply
from snellen.models.cache import ReplyCache, cache_file
from snellen.models.table import identity
from snellen.runs.manifest import Manifest
from snellen.runs.store import MANIFEST, Run, exists

LOOKED_AT = 500
"""So many replies tell how fast a model is; so many folders beside a run are looked into."""


class Speed(NamedTuple):
    """Mean seconds a request took, over `replies` of them, and where they are stored."""

    seconds: float
    replies: int
    source: str


def lanes(spec: ModelSpec) -> int:
    """Requests that are out at a time."""
    given = spec.options.get("concurrency", 16 if spec.provider == "openai" else 1)
    return given if isinstance(given, int) and given > 0 else 1


def speed_of(spec: ModelSpec, out: str | Path) -> Speed | None:
    """From the run at `out`, else from one of the same model in a folder beside it, else from this machine's cache."""
    if exists(out):
        found = _mean((answer for _, answer in Run.open(out).replies()), str(out))
        if found is not None:
            return found
    for place in [] if "://" in str(out) else _beside(spec, Path(out)):
        found = _mean((answer for _, answer in Run.open(place).replies()), str(place))
        if found is not None:
            return found
    file = cache_file()
    return _mean(ReplyCache(file).latest(str(spec), count=LOOKED_AT), str(file)) if file.exists() else None


def _beside(spec: ModelSpec, out: Path) -> Iterable[Path]:
    """Runs of the same model in the folder that holds `out`, the newest first."""
    who = canonical(identity(spec))
    files = [file for file in islice(out.parent.glob(f"*/{MANIFEST}"), LOOKED_AT) if file.parent != out]
    for file in sorted(files, key=lambda file: -file.stat().st_mtime):
        try:
            manifest = Manifest.from_bytes(file.read_bytes(), place=str(file))
        except StoreError:
            continue
        if manifest.kind == "run" and canonical(identity(manifest.model_spec)) == who:
            yield file.parent


def _mean(answers: Iterable[Reply | Failed], source: str) -> Speed | None:
    known = (a.seconds for a in answers if isinstance(a, Reply) and a.seconds is not None)
    found = list(islice(known, LOOKED_AT))
    return Speed(sum(found) / len(found), len(found), source) if found else None
