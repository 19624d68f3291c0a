"""Where the distractor stood: the cell of the one thing in a picture that a counting question is not about.

Published results hold no positions of objects, their pictures do. Where each picture of a file shows as many of the
things asked about as the target says, and exactly one thing more, that thing's cell is an attribute of the sample.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from snellen.core.errors import DataError, SpecError
from snellen.core.specs import Json, fingerprint
from snellen.core.stages import Choice, Sample
from snellen.models import observers, seeing
from snellen.models.cache import cache_file

CELLS = 9
"""Cells a side of CIVET's grid."""

SIGHT = 168
"""Resolution at which pictures are looked at, px of the longest side: 4 px of the release's pictures in one."""

MARGIN = 0.2
"""How far from the middle of its cell a thing may stand, in cells: objects of this grid stand at the middle."""


def with_cells(samples: Sequence[Sample[Choice]]) -> tuple[list[Sample[Choice]], str]:
    """The samples with `cell_row` and `cell_col` (from 0, top left) of the lone distractor, and "".

    Where one picture leaves any doubt, no sample gets them, and the text says which picture and why. To look at
    thousands of pictures takes its time: what was seen is kept beside this machine's cache, until a picture changes.
    """
    memory = cache_file().parent / "cells" / f"{_state(samples)}.json"
    try:
        cells, doubt = json.loads(memory.read_text())
    except (OSError, ValueError):
        cells, doubt = _looked(samples)
        with contextlib.suppress(OSError):
            memory.parent.mkdir(parents=True, exist_ok=True)
            written = memory.with_suffix(f".{os.getpid()}")
            written.write_text(json.dumps([cells, doubt]))
            written.replace(memory)
    if doubt:
        return list(samples), doubt
    placed = zip(samples, cells, strict=True)
    return [replace(s, attributes={**s.attributes, "cell_row": r, "cell_col": c}) for s, (r, c) in placed], ""


def _looked(samples: Sequence[Sample[Choice]]) -> tuple[list[tuple[int, int]], str]:
    """The cells, or none and the doubt."""
    try:
        return [_cell(sample) for sample in samples], ""
    except (DataError, SpecError) as error:
        return [], f"no cells of distractors: {error}"


def _state(samples: Sequence[Sample[Choice]]) -> str:
    """SHA-256 of what the cells follow from: questions, sizes and times of the picture files, the code that looks."""
    rows: list[Json] = [inspect.getsource(module) for module in (seeing, observers, sys.modules[__name__])]
    for sample in samples:
        path = sample.pictures[0].path
        known = path.stat() if path is not None and path.exists() else None
        file: list[Json] = [] if known is None else [str(path), known.st_size, known.st_mtime_ns]
        rows.append([sample.id, sample.truth.target, str(sample.attributes["entity"]), *file])
    return fingerprint(rows)


def _cell(sample: Sample[Choice]) -> tuple[int, int]:
    asked = str(sample.attributes["entity"]).replace("_", " ")
    picture = sample.pictures[0]
    things = seeing.look(picture.encoded(), seeing.held(picture.image()), pixels=SIGHT, noise=0.0, seed=0)
    fitting, others = observers.apart(things, asked)
    if str(len(fitting)) != sample.truth.target or len(others) != 1:
        raise DataError(
            f"{picture.name} shows {asked}: {len(fitting)}, other things: {len(others)}; "
            f"expected {sample.truth.target} and 1"
        )
    x, y = (CELLS * part for part in others[0].centre)
    if max(abs(x % 1 - 0.5), abs(y % 1 - 0.5)) > MARGIN:
        raise DataError(f"the other thing in {picture.name} stands between the cells of a {CELLS} x {CELLS} grid")
    return int(y), int(x)
