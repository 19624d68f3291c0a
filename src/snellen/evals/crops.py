"""Crops for image objects: every box of a data set as a picture of its own, ranked by a scorer (CIVET, section 4.1).

The paper classifies each box crop by CLIP, takes the three categories of the best accuracy, looks at the ten crops
most similar to each, and a person picks one. Here any model that answers closed questions may rank; where it gives
option scores, similarity is the score of the crop's own category.
"""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture, Size, encode_png
from snellen.core.specs import Json
from snellen.core.stages import Choice, Exchange, Prompt, Reading, Reply, Sample, Task
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.evals.civet import read_one
from snellen.evals.options import checked
from snellen.prompts.choice import INSTRUCTION, closed_prompt, option_orders
from snellen.runs.store import Run
from snellen.scoring.choice import tabulate

TEXT = "What is the category of the object?"


@checked("crops")
def task(
    setting: str = "",
    *,
    data: str,
    split: str | None = None,
    format: str | None = None,
    min_side: int = 32,
    seed: int = 0,
) -> Task[Choice, str]:
    """Each box of `data` with sides of at least `min_side` px, cut out; the category is asked. Crowds are left out."""
    if setting:
        raise SpecError(f"the task crops has no setting, got {setting!r}")
    if min_side < 1:
        raise SpecError(f"min_side is at least 1 px, got {min_side}")
    crops = Crops(load_data(Path(data), format=format, split=split), min_side, seed)
    spec: dict[str, Json] = {"task": "crops", "data": data, "split": split, "format": format, "min_side": min_side,
                             "seed": seed}  # fmt: skip

    def prompts(sample: Sample[Choice]) -> Sequence[Prompt]:
        return (closed_prompt(sample, TEXT, instruction=INSTRUCTION),)

    def read(sample: Sample[Choice], exchanges: Sequence[Exchange]) -> Reading[str]:
        (exchange,) = exchanges
        return read_one(sample, exchange.prompt.labels, exchange.reply, "options")

    return Task(spec, crops, prompts, read, tabulate, lambda sample, _: Reply(sample.truth.target))


@dataclass(frozen=True, eq=False)
class Crops:
    """The boxes of a data set as samples, in its order; options in balanced orders."""

    dataset: Dataset
    min_side: int
    seed: int

    @cached_property
    def rows(self) -> list[int]:
        """The rows of the truth that are cut out."""
        truth = self.dataset.truth
        sides = truth.boxes[:, 2:] - truth.boxes[:, :2]
        good = (sides >= self.min_side).all(axis=1) & ~truth.crowd & (truth.label >= 0)
        return [int(row) for row in good.nonzero()[0]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Sample[Choice]]:
        truth, rows = self.dataset.truth, self.rows
        targets = [truth.classes[truth.label[row]] for row in rows]
        orders = option_orders(targets, truth.classes, seed=f"{self.seed} crops")
        for row, target, order in zip(rows, targets, orders, strict=True):
            name = truth.images[truth.image[row]]
            x1, y1, x2, y2 = (round(side) for side in truth.boxes[row].tolist())
            crop = _Crop(self.dataset.pictures[int(truth.image[row])], (x1, y1, x2, y2))
            shown = Picture(f"{name}#{row}.png", crop, Size(x2 - x1, y2 - y1))
            known = {"image": name, "width": x2 - x1, "height": y2 - y1}
            yield Sample(f"{name}#{row}", Choice(target, order, "category"), (shown,), known, name)


@dataclass(frozen=True, eq=False)
class _Crop:
    picture: Picture
    box: tuple[int, int, int, int]

    def __call__(self) -> bytes:
        return encode_png(self.picture.image().crop(self.box))


@dataclass(frozen=True)
class Ranked:
    """A category: how many crops, the share named right, and the best crops: (sample id, similarity or None)."""

    category: str
    n: int
    accuracy: float
    best: tuple[tuple[str, float | None], ...]


def ranked(run: Run, *, best: int = 10) -> list[Ranked]:
    """The categories of a finished run of crops, by accuracy (ties: by number, then name), each with its `best` crops.

    Crops are ranked by the score of their own category; without scores by being named right, then by area.
    """
    task_ = open_crops(run)
    answers = run.answers()
    rows: dict[str, list[tuple[bool, float | None, int, str]]] = defaultdict(list)
    for sample in task_.samples:
        (prompt,) = task_.prompts(sample)
        reply = answers.get(prompt.key)
        if not isinstance(reply, Reply):
            continue
        right = task_.read(sample, [Exchange(prompt, reply)]).value == sample.truth.target
        scores = reply.option_scores
        similar = None if scores is None else scores[prompt.labels.index(sample.truth.target)]
        area = int(str(sample.attributes["width"])) * int(str(sample.attributes["height"]))
        rows[sample.truth.target].append((right, similar, area, sample.id))
    if not rows:
        raise DataError(f"the run holds no answer about a crop: {run.path}")
    found = [
        Ranked(
            name,
            len(crops),
            sum(right for right, *_ in crops) / len(crops),
            tuple((row[3], row[1]) for row in sorted(crops, key=_rank)[:best]),
        )
        for name, crops in rows.items()
    ]
    return sorted(found, key=lambda each: (-each.accuracy, -each.n, each.category))


def open_crops(run: Run) -> Task[Choice, str]:
    """The task of a run of crops. SpecError for another run."""
    spec = dict(run.manifest.task)
    if spec.pop("task", None) != "crops":
        raise SpecError(f"this is no run of crops: {run.path}")
    return task(**spec)


def _rank(row: tuple[bool, float | None, int, str]) -> tuple[float, bool, int, str]:
    right, similar, area, name = row
    return (-similar if similar is not None else 0.0, not right, -area, name)


def write_gallery(run: Run, folder: Path, *, categories: int = 10, best: int = 10) -> list[Ranked]:
    """Writes the best crops of the best categories: `<category>/<rank>.png`, `crops.json`, and a page to look at."""
    found = ranked(run, best=best)[:categories]
    wanted = {name: (each.category, i) for each in found for i, (name, _) in enumerate(each.best, start=1)}
    for sample in open_crops(run).samples:
        if sample.id in wanted:
            category, rank = wanted[sample.id]
            path = folder / safe(category) / f"{rank:02d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sample.pictures[0].encoded())
    told = [
        {"category": e.category, "n": e.n, "accuracy": e.accuracy, "best": [list(b) for b in e.best]} for e in found
    ]
    (folder / "crops.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    (folder / "index.html").write_text(_page(found, str(run.manifest.model_name)), encoding="utf-8")
    return found


def pick(folder: Path, choices: dict[str, int], out: Path) -> list[Path]:
    """Copies the crops a person chose, category -> rank, to `out/<category>.png`: what `single-object-image` takes."""
    sources = {}
    for category, rank in choices.items():
        sources[category] = folder / safe(category) / f"{rank:02d}.png"
        if not sources[category].is_file():
            known = sorted(path.parent.name for path in folder.glob("*/01.png"))
            raise SpecError(f"there is no crop {rank} of {category!r}; categories here: {', '.join(known)}: {folder}")
    out.mkdir(parents=True, exist_ok=True)
    for category, source in sources.items():
        (out / f"{safe(category)}.png").write_bytes(source.read_bytes())
    return [out / f"{safe(category)}.png" for category in sources]


def safe(category: str) -> str:
    """A category as the name of a file."""
    return re.sub(r"[^\w .-]", "_", category).strip(" .") or "_"


def _page(found: Sequence[Ranked], model: str) -> str:
    parts = [
        "<!doctype html><meta charset='utf-8'><title>Crops</title>",
        "<style>body{font:15px sans-serif;margin:2rem;max-width:70rem}figure{display:inline-block;margin:.4rem}"
        "img{height:120px;max-width:240px;object-fit:contain;background:#000}figcaption{font-size:12px}</style>",
        f"<h1>Crops ranked by {html.escape(model)}</h1>",
        "<p>Take crops with one whole, unhidden object, and type  "
        "<code>snellen stimuli pick FOLDER category=rank ... --to images</code></p>",
    ]
    for each in found:
        name = html.escape(each.category)
        parts.append(f"<h2>{name}</h2><p>{each.accuracy:.1%} of {each.n:,} crops named right</p>")
        for i, (_, similar) in enumerate(each.best, start=1):
            note = "" if similar is None else f" · {similar:.3f}"
            source = html.escape(quote(f"{safe(each.category)}/{i:02d}.png"))
            parts.append(
                f"<figure><img src='{source}' alt='{name}, rank {i}' loading='lazy'>"
                f"<figcaption>{i}{note}</figcaption></figure>"
            )
    return "\n".join(parts)
