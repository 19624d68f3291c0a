"""The report: a folder (or one file) that opens in a browser without a network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from snellen.core.errors import InputError, StoreError
from snellen.report import answers, boxes, examples, overview, provenance
from snellen.report.blocks import Block, Row, Section
from snellen.report.figures import Figure
from snellen.report.grids import Grid
from snellen.report.inputs import View, parts, views_of
from snellen.report.rendering import Page
from snellen.report.shared_samples import on_common
from snellen.report.thumbnails import Cabinet
from snellen.runs.store import Run

MARKER = "report.json"
FOLDERS = ("assets", "data", "figures", "pictures", "tables")
"""What a report's folder holds beside `index.html`; written anew each time."""

MOST = {"answers": 120, "boxes": 5000}
EMBEDDED = 24
"""Pictures per run in a single file."""
SIDE = 400
"""The longer side of a small picture, px."""


def report(
    runs: Sequence[Run],
    out: str | Path,
    *,
    single_file: bool = False,
    pictures: int | None = None,
    opening: Sequence[Section] = (),
    names: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    on: Literal["all", "common"] = "all",
) -> Path:
    """Writes the report of scored `runs` into the folder `out` and returns the page's path.

    single_file: everything stands in `index.html`; PNG files are left out. pictures: at most so many per run (by
    default 5,000 with boxes, 120 answers, 24 of either in a single file). opening: sections that stand first.
    names: what the runs are called, all different (by default: by what tells them apart). data: which data set of a
    bench each is about: those of different ones stand in parts of their own. on: all samples, or those
    that every run answered.
    StoreError where a run was not scored or `out` holds other files.
    """
    if not runs:
        raise InputError("a report needs at least one run")
    out = Path(out)
    views = views_of(runs, names, data)
    if on == "common":
        views = on_common(views)
    prepare(out, views)
    most = {kind: EMBEDDED if single_file else number for kind, number in MOST.items()}
    if pictures is not None:
        most = dict.fromkeys(most, pictures)
    cabinet = Cabinet(None if single_file else out / "pictures", side=SIDE)
    sections = distinct([*opening, *_sections(views, cabinet, most)])
    path = out / "index.html"
    path.write_text(Page(out, single_file).render(views, sections), encoding="utf-8")
    return path


def prepare(out: Path, views: Sequence[View]) -> None:
    """Makes the folder and marks it, or clears an earlier report from it. StoreError where it holds anything else."""
    if out.exists() and not out.is_dir():
        raise StoreError(f"a report needs a folder, this is a file: {out}")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise StoreError(f"a report needs a new or empty folder, or one that holds a report; this holds others: {out}")
    for name in FOLDERS:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
    out.mkdir(parents=True, exist_ok=True)
    marker = {"made_by": f"snellen {version('snellen')}", "runs": [view.run.path for view in views]}
    (out / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="utf-8")


def distinct(sections: Sequence[Section]) -> list[Section]:
    """The same sections with every id (of sections, tables and figures) used once: a second one gets `-2`."""
    seen: dict[tuple[str, str], int] = {}

    def fresh(kind: str, id: str) -> str:
        seen[kind, id] = seen.get((kind, id), 0) + 1
        return id if seen[kind, id] == 1 else f"{id}-{seen[kind, id]}"

    def renamed(block: Block) -> Block:
        if isinstance(block, Grid):
            return replace(block, id=fresh("table", block.id))
        if isinstance(block, Row):
            return replace(
                block, figures=tuple(_figure(figure, fresh("figure", figure.id)) for figure in block.figures)
            )
        return block

    return [replace(s, id=fresh("section", s.id), blocks=tuple(renamed(block) for block in s.blocks)) for s in sections]


def _figure(figure: Figure, id: str) -> Figure:
    return replace(figure, id=id)


def _sections(views: Sequence[View], cabinet: Cabinet, most: dict[str, int]) -> list[Section]:
    made: list[Section] = []
    groups = parts(views)
    for number, group in enumerate(groups, 1):
        found = [overview.section(group), *_about(group, cabinet, most)]
        if len(groups) > 1:
            name = f"{number}. {overview.about(group)}"
            found = [replace(section, part=name) for section in found]
            found[0] = replace(found[0], lead=_APART)
        made += found
    last = [provenance.failures(views), provenance.manifests(views)]
    return [*made, *(replace(section, part="All runs" if len(groups) > 1 else "") for section in last)]


_APART = "Runs whose truth or samples differ stand in different parts: their figures must not be compared."


def _about(group: Sequence[View], cabinet: Cabinet, most: dict[str, int]) -> list[Section]:
    """What there is to say about runs of one kind: boxes, or closed questions."""
    if group[0].grounded:
        runs = [boxes.Boxes.of(view) for view in group]
        return [*boxes.sections(runs), examples.boxes(runs, cabinet, most["boxes"])]
    return [*answers.sections(group), examples.answers(group, cabinet, most["answers"])]
