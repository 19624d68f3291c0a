"""Ratings: what people answered. A person is a model whose replies are a file; a rater is a draw.

The file is CSV (comma, semicolon or tab), a row per rating, with the columns `sample`, `rater` and `answer`, and where
the samples are no exam's, `target` and `options` (separated by `|`). Other columns are left alone.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import DataError
from snellen.core.labels import normal
from snellen.core.stages import Choice, Key, Reply, Sample
from snellen.datasets.text import DELIMITERS, read_text

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "sample": ("sample", "stimulus", "stim", "item", "image", "id"),
    "rater": ("rater", "annotator", "worker", "participant", "subject"),
    "answer": ("answer", "rating", "response", "label"),
}
"""What a rating needs, and the names under which it is looked for, the first that is there counts."""

OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "question": ("question",),
    "target": ("target", "truth"),
    "options": ("options", "choices"),
}


@dataclass(frozen=True)
class Rating:
    """One answer of one rater to one sample, as written; `line` is its place in the file (the header is line 1)."""

    sample: str
    rater: str
    answer: str
    line: int
    question: str = ""
    target: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ratings:
    """All ratings of a file, in its order. empty: rows without an answer, which are no ratings and stand aside."""

    ratings: tuple[Rating, ...]
    empty: tuple[Rating, ...] = ()

    @property
    def raters(self) -> tuple[str, ...]:
        """Names of the raters, in order of appearance."""
        return tuple(dict.fromkeys(rating.rater for rating in self.ratings))

    @property
    def samples(self) -> tuple[str, ...]:
        """Samples that were rated, in order of appearance."""
        return tuple(dict.fromkeys(rating.sample for rating in self.ratings))

    @property
    def complete(self) -> bool:
        """Whether every rater answered every sample."""
        return len(self.ratings) == len(self.raters) * len(self.samples)

    @property
    def draws(self) -> int:
        """How many answers the sample with most of them has."""
        return max(Counter(rating.sample for rating in self.ratings).values(), default=0)

    def replies(self) -> Iterator[tuple[Key, Reply]]:
        """The ratings as replies. The draw is the rater's number where every rater answered every sample, else the
        number of the rating among those of its sample; `served_by` names the rater.
        """
        number = {rater: i for i, rater in enumerate(self.raters)}
        complete = self.complete
        seen: Counter[str] = Counter()
        for rating in self.ratings:
            draw = number[rating.rater] if complete else seen[rating.sample]
            seen[rating.sample] += 1
            yield Key(rating.sample, "", draw), Reply(rating.answer, served_by=rating.rater)

    def truths(self) -> list[Sample[Choice]]:
        """The samples as the file itself knows them, one each. DataError where it names no or several targets."""
        found: dict[str, list[Rating]] = defaultdict(list)
        for rating in self.ratings:
            found[rating.sample].append(rating)
        return [_sample(name, rows) for name, rows in found.items()]


def read_ratings(path: Path | str, *, known: Collection[str] | None = None) -> Ratings:
    """The ratings in a CSV file. `known`: ids of the samples that may be rated (an exam's).

    DataError for a missing column, a rating without sample or rater, a sample that is not known, and a rater who
    answers a sample twice; each names file and line.
    """
    place = Path(path)
    text = io.StringIO(read_text(place), newline=None).read()  # whatever ends its lines
    delimiter, columns = _columns(place, text)
    rows = list(_rows(place, text, delimiter, columns))
    ratings = tuple(row for row in rows if row.answer)
    if not ratings:
        raise DataError(f"{place}: holds no ratings")
    _check_known(place, rows, known)
    _check_once(place, ratings)
    return Ratings(ratings, tuple(row for row in rows if not row.answer))


def _columns(place: Path, text: str) -> tuple[str, dict[str, int]]:
    """The delimiter and the position of each column that is there."""
    first = text.partition("\n")[0]
    headers = {d: [name.strip().casefold() for name in next(csv.reader([first], delimiter=d), [])] for d in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda d: sum(any(n in headers[d] for n in names) for names in COLUMNS.values()))
    header = headers[delimiter]
    found = {
        column: header.index(name)
        for column, names in {**COLUMNS, **OPTIONAL}.items()
        for name in [next((name for name in names if name in header), None)]
        if name is not None
    }
    twice = [header[i] for i in found.values() if header.count(header[i]) > 1]
    if twice:
        raise DataError(f"{place}, line 1: the column {twice[0]!r} stands twice")
    missing = [column for column in COLUMNS if column not in found]
    if missing:
        raise DataError(
            f"{place}, line 1: ratings need the columns sample, rater and answer; "
            f"{' and '.join(missing)} missing, there are: {', '.join(header) or 'none'}"
        )
    return delimiter, found


def _rows(place: Path, text: str, delimiter: str, columns: Mapping[str, int]) -> Iterator[Rating]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        next(reader)
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            cells = {name: row[i].strip() if i < len(row) else "" for name, i in columns.items()}
            for name in ("sample", "rater"):
                if not cells[name]:
                    raise DataError(f"{place}, line {reader.line_num}: a rating names its {name}, this one is empty")
            options = tuple(part.strip() for part in cells.pop("options", "").split("|") if part.strip())
            yield Rating(line=reader.line_num, options=options, **cells)
    except csv.Error as error:
        raise DataError(f"{place}, line {reader.line_num}: not CSV: {error}") from error


def _check_known(place: Path, rows: list[Rating], known: Collection[str] | None) -> None:
    strange = [row for row in rows if known is not None and row.sample not in known]
    if strange:
        first = strange[0]
        raise DataError(
            f"{place}, line {first.line}: sample {first.sample!r} is not in the exam "
            f"({len(strange)} ratings of {len({row.sample for row in strange})} unknown samples)"
        )


def _check_once(place: Path, ratings: tuple[Rating, ...]) -> None:
    first: dict[tuple[str, str], int] = {}
    for row in ratings:
        line = first.setdefault((row.sample, row.rater), row.line)
        if line != row.line:
            raise DataError(
                f"{place}, line {row.line}: rater {row.rater!r} answers sample {row.sample!r} again "
                f"(first in line {line})"
            )


def _sample(name: str, rows: list[Rating]) -> Sample[Choice]:
    """One sample from the ratings of it."""
    for column in ("target", "options", "question"):
        values = list(dict.fromkeys(getattr(row, column) for row in rows))
        if len(values) > 1:
            raise DataError(f"sample {name!r} has several values of {column}: {values[0]!r} and {values[1]!r}")
    first = rows[0]
    if not first.target:
        raise DataError(f"sample {name!r}: the file has no target for it; name the exam that it belongs to")
    if first.options and normal(first.target) not in map(normal, first.options):
        raise DataError(
            f"sample {name!r}: the target {first.target!r} is none of its options {'|'.join(first.options)}"
        )
    return Sample(name, Choice(first.target, first.options, first.question))
