"""Everything imported is a run: predictions, published answers and human ratings come in as replies to a task."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from snellen.core.detections import Detections
from snellen.core.errors import DataError, SpecError, unknown
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import Key, Reply
from snellen.datasets.load import load_data
from snellen.datasets.predictions import read_predictions
from snellen.evals.imported import Imported
from snellen.evals.ratings import imported
from snellen.evals.tasks import open_task
from snellen.runs.manifest import Manifest, Selection
from snellen.runs.selection import survey
from snellen.runs.store import Run


def import_file(
    path: str | Path,
    *,
    kind: str,
    out: str | Path,
    name: str | None = None,
    selection: Selection | None = None,
    **options: Any,
) -> Run:
    """A file of answers as a run in `out`, ready to be scored.

    kind: `coco` (and other formats of predictions: needs `truth`), `civet-results`, `ratings`. name: what the model
    is called in reports (the file's name by default). selection: the samples that count (all by default), drawn as
    `run` draws them, so that a model asked about some compares with a file about all.
    """
    if kind not in IMPORTS:
        raise unknown("kind of import", kind, IMPORTS)
    path, out = Path(path), Path(out)
    if not path.exists():
        raise DataError(f"there is no such file: {path}")
    given = {option: value for option, value in options.items() if value is not None}
    _check(kind, given)
    made = IMPORTS[kind](path, **given)
    content = digest(path)
    spec = ModelSpec("import", name or path.name.partition(".")[0], {"as": kind, "sha256": content})
    chosen = selection or Selection()
    found = survey(made.task, chosen, draws=made.draws)
    manifest = Manifest(
        kind="import",
        task=dict(made.task.spec),
        model=spec.to_json(),
        draws=made.draws,
        selection=chosen,
        samples=found.samples,
        requests=found.requests,
        data={"truth": found.truth, path.name: content},
        notes={"file": str(path), **made.facts},
    )
    run = Run.create(out, manifest, ids=found.ids)
    with run.writing() as writer:
        for key, reply in made.replies:
            writer.append(key, reply)
    return run


_OF_BOXES = frozenset({"format", "split", "images", "nms", "classes", "image_refs", "class_refs"})
"""Options that ratings, which pass others on to their exam, do not take."""


def _check(kind: str, given: Mapping[str, Any]) -> None:
    """SpecError for an option that the kind of import does not take, or that it needs and was not given."""
    known = inspect.signature(IMPORTS[kind]).parameters
    free = any(declared.kind is declared.VAR_KEYWORD for declared in known.values())
    for option in given:
        if option not in known and (not free or option in _OF_BOXES):
            takes = ", ".join(name for name, declared in known.items() if declared.kind is declared.KEYWORD_ONLY)
            raise SpecError(f"an import as {kind} takes no {option}; it takes {takes}")
    for option, declared in known.items():
        if declared.kind is declared.KEYWORD_ONLY and declared.default is declared.empty and option not in given:
            raise SpecError(f"an import as {kind} needs {option}: the file or folder that says what is true")


def _predictions(
    path: Path,
    *,
    truth: str,
    format: str | None = None,
    split: str | None = None,
    nms: float | None = None,
    classes: str | None = None,
    image_refs: str | None = None,
    class_refs: str | None = None,
) -> Imported:
    given = {"split": split, "nms": nms, "classes": classes}
    spec: dict[str, Json] = {"task": "detect", "data": str(truth)} | {k: v for k, v in given.items() if v is not None}
    dataset = load_data(Path(truth), split=split)
    found = read_predictions(path, dataset, format=format, image_refs=image_refs, class_refs=class_refs)
    return Imported(open_task(spec), _boxes(found.table.rows()), found.facts())


def _boxes(rows: Iterable[tuple[str, Detections]]) -> Iterator[tuple[Key, Reply]]:
    for image, detections in rows:
        yield Key(image), Reply(detections=detections)


def _civet(path: Path, *, reader: str = "auto", images: str | None = None) -> Imported:
    from snellen.evals.answers import replies_of, unplaced

    if images is not None and not Path(images).is_dir():
        raise DataError(f"there is no such folder of pictures: {images}")
    shown = {} if images is None else {"images": images}
    task = open_task({"task": "answers", "file": str(path), "reader": reader, **shown})
    doubt = "" if images is None else unplaced(str(path), images)
    return Imported(task, replies_of(path), {"findings": [doubt]} if doubt else {})


IMPORTS: Mapping[str, Callable[..., Imported]] = {
    "coco": _predictions,
    "predictions": _predictions,
    "civet-results": _civet,
    "ratings": imported,
}
"""Kind -> function (path, **options)."""


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder: of the names and contents of the files in it."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for entry in sorted(path.rglob("*")):
        if entry.is_file():
            found.update(f"{entry.relative_to(path)} {digest(entry)}\n".encode())
    return found.hexdigest()
