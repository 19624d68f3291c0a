"""Sections as a page: templates, files to download, scripts and styles. Everything from outside is escaped."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from snellen.report.blocks import Gallery, Row, Section
from snellen.report.figures import Figure, png
from snellen.report.grids import Grid
from snellen.report.inputs import View

TABLE_FILES: tuple[tuple[str, str, str, Callable[[Grid], str]], ...] = (
    ("CSV", "csv", "text/csv", Grid.csv),
    ("Markdown", "md", "text/markdown", Grid.markdown),
    ("LaTeX", "tex", "text/x-tex", Grid.latex),
)
"""Name of the link, ending, media type, writer."""

Saved = tuple[str, str, str]
"""A file to download: the link's name, its address, its file name."""

DRAWERS = 2
"""Figures drawn at once: one becomes SVG while another becomes PNG."""


class Drawn(NamedTuple):
    """A figure as SVG and as PNG (empty in a single file), and its specification as text."""

    svg: str
    png: bytes
    spec: str


class Page:
    """A page being written into `out`: figures are drawn once, files land beside it or, in a single file, in it."""

    def __init__(self, out: Path, single: bool) -> None:
        self.out = out
        self.single = single

    def render(self, views: Sequence[View], sections: Sequence[Section]) -> str:
        """The page as HTML; all other files are written."""
        import jinja2

        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("snellen.report", "templates"),
            autoescape=True,
            trim_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        blocks = [block for section in sections for block in section.blocks]
        saved = {("table", block.id): self._save_table(block) for block in blocks if isinstance(block, Grid)}
        figures = [figure for block in blocks if isinstance(block, Row) for figure in block.figures]
        drawings: dict[str, str] = {}
        for figure, drawn in zip(figures, self._draw(figures), strict=True):
            saved["figure", figure.id] = self._save_figure(figure, drawn)
            drawings[figure.id] = figure.inline(drawn.svg)
        environment.globals.update(
            kind=lambda block: type(block).__name__.lower(),
            saved=lambda kind, id: saved[kind, id],
            drawing=lambda figure: drawings[figure.id],
            single=self.single,
        )
        scripts = self._data(sections)
        css, js = (_asset(name) for name in ("report.css", "report.js"))
        if not self.single:
            self._write("assets/report.css", css)
            self._write("assets/report.js", js)
        page: str = environment.get_template("page.html").render(
            title=_title(views),
            subtitle=_subtitle(views),
            chapters=[(part, list(some)) for part, some in groupby(sections, key=lambda section: section.part)],
            version=version("snellen"),
            css=css,
            js=js,
            scripts=scripts,
        )
        return page

    def _save_table(self, grid: Grid) -> list[Saved]:
        return [
            (name, self._save(f"tables/{grid.id}.{ending}", write(grid).encode(), media), f"{grid.id}.{ending}")
            for name, ending, media, write in TABLE_FILES
        ]

    def _draw(self, figures: Sequence[Figure]) -> list[Drawn]:
        """Each figure drawn; those of one specification once together."""
        alike = {figure.json(): figure for figure in figures}

        def draw(figure: Figure) -> tuple[str, bytes]:
            svg = figure.svg()
            return svg, b"" if self.single else png(svg)

        with ThreadPoolExecutor(DRAWERS) as pool:
            made = dict(zip(alike, pool.map(draw, alike.values()), strict=True))
        return [Drawn(*made[spec], spec) for spec in (figure.json() for figure in figures)]

    def _save_figure(self, figure: Figure, drawn: Drawn) -> list[Saved]:
        found = [("SVG", "svg", "image/svg+xml", drawn.svg.encode())]
        if not self.single:
            found.append(("PNG", "png", "image/png", drawn.png))
        found.append(("Vega-Lite", "vl.json", "application/json", drawn.spec.encode()))
        return [
            (name, self._save(f"figures/{figure.id}.{ending}", data, media), f"{figure.id}.{ending}")
            for name, ending, media, data in found
        ]

    def _save(self, path: str, data: bytes, media: str) -> str:
        """The address of a file: written beside the page, or inside it."""
        if self.single:
            return f"data:{media};base64,{base64.b64encode(data).decode()}"
        place = self.out / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return path

    def _write(self, path: str, text: str) -> None:
        place = self.out / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def _data(self, sections: Sequence[Section]) -> list[str]:
        """The galleries' data as scripts: a page opened from a disk may load scripts, and nothing else."""
        scripts = []
        for section in sections:
            for block in section.blocks:
                if isinstance(block, Gallery):
                    script = f"snellenGallery({script_json(block.run)}, {script_json(block.data)});"
                    if self.single:
                        scripts.append(script)
                    else:
                        self._write(f"data/{block.run}.js", script + "\n")
        return scripts


def script_json(value: Any) -> str:
    """`value` as JSON that can stand inside a script element: no `<`, no line separators."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_IN_SCRIPT)


_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def _asset(name: str) -> str:
    return files("snellen.report").joinpath("assets", name).read_text(encoding="utf-8")


def _title(views: Sequence[View]) -> str:
    tasks = list(dict.fromkeys(view.results.task for view in views))
    models = list(dict.fromkeys(view.model for view in views))
    what = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    return f"{what}: {models[0]}" if len(models) == 1 else f"{what}: {len(models)} models"


def _subtitle(views: Sequence[View]) -> str:
    counts = [len(view.outcomes) for view in views]
    if len(counts) == 1:
        said = f"one run, {counts[0]:,} samples"
    elif len(set(counts)) == 1:
        said = f"{len(counts)} runs of {counts[0]:,} samples each"
    else:
        said = f"{len(counts)} runs, {sum(counts):,} samples in all"
    return f"{said}. Brackets hold 95 % intervals."
