"""What the viewer shows: samples of up to four runs, side by side, searched and filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from snellen.core.errors import GuardError, InputError, SnellenError, SpecError
from snellen.core.stages import AnyTask, Key, Prompt, Reply, Sample
from snellen.core.tables import Tables
from snellen.evals.comparison import check_guard
from snellen.evals.results import Results
from snellen.evals.scores import score, task_of
from snellen.report.inputs import names_of
from snellen.runs.store import Answers, Run

MOST = 4
PAGE = 200
SHOWS = ("all", "all right", "all wrong", "disagree", "unreadable")
"""What can be asked for: of boxes, `right` means every truth found and nothing else."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A run as the viewer holds it. right: per sample, whether all of it is right."""

    name: str
    run: Run
    tables: Tables
    results: Results
    right: np.ndarray[Any, np.dtype[np.bool_]]
    rows: Mapping[str, int]
    answers: Answers
    lock: Lock = field(default_factory=Lock)

    def replies(self, keys: Sequence[Key]) -> list[Reply]:
        """The replies there are. One request at a time: answers are held in a memory of their own."""
        with self.lock:
            found = [self.answers.get(key) for key in keys]
        return [reply for reply in found if isinstance(reply, Reply)]


class Browser:
    """Up to four runs of the same samples. GuardError where they must not stand beside each other."""

    def __init__(self, runs: Sequence[Run]) -> None:
        if not 1 <= len(runs) <= MOST:
            raise SpecError(f"one to {MOST} runs can be looked at together, got {len(runs)}")
        self.runs = tuple(_seen(run, name) for run, name in zip(runs, names_of(runs), strict=True))
        for other in self.runs[1:]:
            try:
                check_guard(self.runs[0].results, other.results, ignore=("samples",))
            except GuardError as error:
                raise GuardError(f"{self.runs[0].run.path} and {other.run.path}: {error}") from None
        self.boxes = self.runs[0].tables.kind == "boxes"
        self.ids: tuple[str, ...] = tuple(i for i in self.runs[0].rows if all(i in run.rows for run in self.runs))

    @cached_property
    def task(self) -> AnyTask | str:
        """The task of the first run, from which pictures come; where its data are gone, what is known of that."""
        try:
            return task_of(self.runs[0].run)
        except InputError as error:
            return "; ".join([str(error), *getattr(error, "__notes__", ())])

    @cached_property
    def samples(self) -> Mapping[str, Sample[Any]]:
        """The samples by id; pictures are made when they are looked at. None where the data are gone."""
        wanted = set(self.ids)
        samples = () if isinstance(self.task, str) else self.task.samples
        return {sample.id: sample for sample in samples if sample.id in wanted}

    def prompts(self, name: str) -> Sequence[Prompt]:
        """What was asked about a sample; nothing where the data are gone."""
        sample = self.samples.get(name)
        return [] if sample is None or isinstance(self.task, str) else self.task.prompts(sample)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """What search looks in: id, question, target, answers and replies of each sample, in small letters."""
        found: dict[str, list[str]] = {name: [name] for name in self.ids}
        for seen in self.runs:
            outcomes = seen.tables.outcomes
            columns = [outcomes[c].tolist() for c in ("question", "target", "answer", "reason") if c in outcomes]
            for name, *cells in zip(outcomes["sample"].tolist(), *columns, strict=True):
                if name in found:
                    found[name] += cells
            for key, answer in seen.run.replies():
                if key.sample in found and isinstance(answer, Reply):
                    found[key.sample].append(answer.text)
        return {name: "\n".join(cells).casefold() for name, cells in found.items()}

    def listed(
        self, *, query: str = "", show: str = "all", attribute: str = "", page: int = 0, around: str = ""
    ) -> dict[str, Any]:
        """The samples that fit, a page of them. attribute: `name=value`. show: one of SHOWS, or `wrong 1` for a run.
        around: the id whose page is wanted instead of `page`, where it fits.
        """
        words = query.casefold().split()
        chosen = [name for name in self.ids if self._fits(name, show, attribute)]
        if words:
            chosen = [name for name in chosen if all(word in self.texts[name] for word in words)]
        page = chosen.index(around) // PAGE if around in chosen else max(0, page)
        rows = [
            {"id": name, "right": [bool(s.right[s.rows[name]]) for s in self.runs]}
            for name in chosen[page * PAGE :][:PAGE]
        ]
        return {"total": len(chosen), "page": page, "size": PAGE, "rows": rows}

    def _fits(self, name: str, show: str, attribute: str) -> bool:
        right = [bool(seen.right[seen.rows[name]]) for seen in self.runs]
        fits = {
            "all": True,
            "all right": all(right),
            "all wrong": not any(right),
            "disagree": len(set(right)) > 1,
            "unreadable": any(s.tables.outcomes["status"][s.rows[name]] != "ok" for s in self.runs),
        }
        if show.startswith("wrong ") and show[6:].isdecimal() and int(show[6:]) <= len(right):
            wanted = not right[int(show[6:]) - 1]
        elif show in fits:
            wanted = fits[show]
        else:
            raise SpecError(f"what to show is one of {', '.join(SHOWS)} or 'wrong N', got {show!r}")
        column, equals, value = attribute.partition("=")
        if not wanted or not equals:
            return wanted
        first = self.runs[0]
        table = first.tables.outcomes
        stored = column if column in table else f"attr.{column}"
        return stored in table and str(table[stored][first.rows[name]]) == value

    def sample(self, name: str) -> dict[str, Any]:
        """All that is known of one sample. SpecError for an unknown id."""
        if name not in self.runs[0].rows:
            raise SpecError(f"no such sample: {name!r}")
        sample = self.samples.get(name)
        size = None
        if sample is not None and sample.pictures:
            try:
                size = list(sample.pictures[-1].upright_size())
            except SnellenError:
                size = None
        return {
            "id": name,
            "size": size,
            "doubt": self.task if isinstance(self.task, str) else "",
            "prompts": [prompt.text for prompt in self.prompts(name)[:4]],
            "truth": self._truth(name),
            "attributes": {} if sample is None else {k: v for k, v in sample.attributes.items() if v not in (None, "")},
            "runs": [self._answer(seen, name) for seen in self.runs],
        }

    def picture(self, name: str) -> bytes:
        """The picture asked about, as it lies. SpecError where there is none."""
        sample = self.samples.get(name)
        if sample is None or not sample.pictures:
            raise SpecError(f"no picture: {name!r}")
        return sample.pictures[-1].encoded()

    def attributes(self) -> dict[str, list[str]]:
        """Attributes of few values, for the filter."""
        table = self.runs[0].tables.outcomes
        names = [n for n in table.names if n in {"question", "target"} or n.startswith("attr.")]
        values = {n.removeprefix("attr."): sorted({str(v) for v in table[n].tolist()}) for n in names}
        return {name: found for name, found in values.items() if 1 < len(found) <= 24}

    def _truth(self, name: str) -> Any:
        seen = self.runs[0]
        if not self.boxes:
            return str(seen.tables.outcomes["target"][seen.rows[name]])
        return _boxes(seen, name, truth=True)

    def _answer(self, seen: Seen, name: str) -> dict[str, Any]:
        row = seen.rows[name]
        outcomes = seen.tables.outcomes
        draws = range(seen.run.manifest.draws)
        keys = [prompt.key._replace(draw=d) for prompt in self.prompts(name) for d in draws]
        keys = keys or [Key(name, draw=d) for d in draws]
        replies = seen.replies(keys)
        return {
            "name": seen.name,
            "right": bool(seen.right[row]),
            "status": str(outcomes["status"][row]),
            "reason": str(outcomes["reason"][row]),
            "answer": str(outcomes["answer"][row]) if "answer" in outcomes else None,
            "boxes": _boxes(seen, name, truth=False) if self.boxes else [],
            "missed": _missed(seen, name) if self.boxes else [],
            "replies": [reply.text for reply in replies if reply.text],
            "seconds": [reply.seconds for reply in replies if reply.seconds is not None],
        }


def _seen(run: Run, name: str) -> Seen:
    results = Results.from_json(run.results()) if run.scored() else score(run)
    tables = run.tables()
    outcomes = tables.outcomes
    if tables.kind == "answers":
        right = np.asarray(outcomes["correct"], dtype=np.bool_)
    else:
        table = tables.instances
        lonely = (table["partner"] < 0) & ~table["crowd"] & (table["truth"] | table["kept"])
        wrong = np.bincount(table["sample"][lonely], minlength=len(outcomes)) + outcomes["unread"]
        right = np.asarray(wrong == 0, dtype=np.bool_)
    rows: dict[str, int] = {}
    for i, sample in enumerate(outcomes["sample"].tolist()):
        rows.setdefault(sample, i)
    return Seen(name, run, tables, results, right, rows, run.answers())


def _missed(seen: Seen, name: str) -> list[int]:
    """Which of a sample's truths (their places in the list) a run has no match for; crowds cannot be missed."""
    table = seen.tables.detections
    assert table is not None
    rows = np.flatnonzero((table["sample"] == seen.rows[name]) & table["truth"])
    return np.flatnonzero((table["partner"][rows] < 0) & ~table["crowd"][rows]).tolist()


def _boxes(seen: Seen, name: str, *, truth: bool) -> list[dict[str, Any]]:
    table = seen.tables.instances
    rows = np.flatnonzero((table["sample"] == seen.rows[name]) & (table["truth"] == truth))
    names = (*seen.tables.classes, "?")
    return [
        {
            "label": names[int(table["label"][i])],
            "box": [float(table[side][i]) for side in ("x1", "y1", "x2", "y2")],
            "score": None if np.isnan(table["score"][i]) else float(table["score"][i]),
            "matched": bool(table["partner"][i] >= 0),
            "counts": bool(truth or table["kept"][i]),
        }
        for i in rows.tolist()
    ]
