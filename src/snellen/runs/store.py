"""A run: a folder (or any place fsspec reaches) with all that was asked and answered, and what was derived from it.

manifest.json       what the run was made of                 written once
samples.json        the ids chosen, where not all were       written once
replies/*.jsonl.gz  replies and failures, verbatim           immutable parts (`.jsonl`: the one being written)
lease.json          who is writing                           while someone is
outcomes.arrow, detections.arrow, results.json               derived: `snellen score` writes them again
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from snellen.core.errors import StoreError
from snellen.core.stages import AnyTask, Exchange, Failed, Key, Reply, Sample
from snellen.core.tables import Tables
from snellen.models import records
from snellen.runs import arrow
from snellen.runs.lease import Lease, holder
from snellen.runs.manifest import Manifest
from snellen.runs.parts import OPEN, Limits, PartWriter, close_part, part_lines, part_names
from snellen.runs.places import LocalPlace, Place, place_of
from snellen.runs.selection import walk

MANIFEST, SAMPLES, RESULTS = "manifest.json", "samples.json", "results.json"
PARTS_HELD = 16


class Run:
    """An open run. Cheap to make; everything is read when it is asked for."""

    def __init__(self, place: Place, manifest: Manifest) -> None:
        self.place = place
        self.manifest = manifest

    def __repr__(self) -> str:
        return f"Run({str(self.place)!r})"

    @property
    def path(self) -> str:
        """Where the run lies: a path or a URL."""
        return str(self.place)

    @property
    def name(self) -> str:
        """The last part of its place."""
        return self.path.rstrip("/").rpartition("/")[2]

    @classmethod
    def create(cls, where: str | Path, manifest: Manifest, *, ids: frozenset[str] | None = None) -> Run:
        """A new run. StoreError where there is one, or a folder with other things in it."""
        place = place_of(where)
        if exists(where):
            raise StoreError(f"there is a run already: {place}")
        if isinstance(place, LocalPlace) and place.path.exists():
            if not place.path.is_dir():
                raise StoreError(f"a run needs a folder, this is a file: {place}")
            if any(not entry.name.startswith(".") and entry.name != SAMPLES for entry in place.path.iterdir()):
                raise StoreError(f"a run needs a new or empty folder, this one holds other files: {place}")
        if ids is not None:
            place.write(SAMPLES, orjson.dumps(sorted(ids)))
        place.write(MANIFEST, manifest.to_bytes())
        return cls(place, manifest)

    @classmethod
    def open(cls, where: str | Path) -> Run:
        """An existing run, of this or an older format version. StoreError where there is none."""
        place = place_of(where)
        try:
            data = place.read(MANIFEST)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise StoreError(f"there is no run (no {MANIFEST}): {place}") from error
        return cls(place, Manifest.from_bytes(data, place=f"{place}/{MANIFEST}"))

    def selected(self) -> frozenset[str] | None:
        """The ids of the samples that the run asks about; None: all of the task's."""
        if self.manifest.selection.everything:
            return None
        try:
            return frozenset(orjson.loads(self.place.read(SAMPLES)))
        except FileNotFoundError as error:
            raise StoreError(f"the list of chosen samples is missing: {self.place}/{SAMPLES}") from error

    def replies(self) -> Iterator[tuple[Key, Reply | Failed]]:
        """One answer per key, in the order in which they were stored: its first reply; else, last of all, a failure."""
        done: set[Key] = set()
        failed: dict[Key, Failed] = {}
        for key, answer in self.entries():
            if isinstance(answer, Failed):
                failed[key] = answer
            elif key not in done:
                done.add(key)
                yield key, answer
        yield from ((key, answer) for key, answer in failed.items() if key not in done)

    def entries(self) -> Iterator[tuple[Key, Reply | Failed]]:
        """All that was stored, every attempt, in order."""
        for name in part_names(self.place):
            for number, line in enumerate(part_lines(self.place, name), 1):
                yield records.read(line, place=f"{self.place}/{name}, line {number}")

    def answered(self) -> tuple[set[Key], set[Key]]:
        """The keys that have a reply, and those that have failures only."""
        done: set[Key] = set()
        failed: set[Key] = set()
        for name in part_names(self.place):
            for number, line in enumerate(part_lines(self.place, name), 1):
                key, good = records.read_key(line, place=f"{self.place}/{name}, line {number}")
                (done if good else failed).add(key)
        return done, failed - done

    def answers(self) -> Answers:
        """The answers by key, read from the parts when they are looked at."""
        return Answers(self.place)

    def exchanges(self, task: AnyTask) -> Iterator[tuple[Sample[Any], list[Exchange]]]:
        """Each selected sample, in the task's order, with the prompts that have a reply, and those replies."""
        answers = self.answers()
        for sample in walk(task, self.selected()):
            found = []
            for prompt in task.prompts(sample):
                for drawn in map(prompt.drawn, range(self.manifest.draws)):
                    answer = answers.get(drawn.key)
                    if isinstance(answer, Reply):
                        found.append(Exchange(drawn, answer))
            yield sample, found

    @contextmanager
    def writing(self, *, limits: Limits | None = None) -> Iterator[PartWriter]:
        """Holds the lease and gives a writer; on the way out the last part is closed, whatever happened."""
        writer = PartWriter(self.place, limits)
        lease = Lease(self.place, tick=writer.tick)
        lease.take()
        try:
            self._adopt()
            yield writer
            lease.check()
        finally:
            try:
                writer.close()
            finally:
                lease.release()

    def holder(self) -> dict[str, Any] | None:
        """Which process is writing to the run, if one is."""
        return holder(self.place)

    def write_tables(self, tables: Tables) -> None:
        """Writes the derived tables."""
        for name, data in arrow.tables_to_files(tables).items():
            self.place.write(name, data)
        if tables.detections is None:
            self.place.remove("detections.arrow")

    def tables(self) -> Tables:
        """The derived tables. StoreError where the run was not scored."""
        outcomes = self._derived("outcomes.arrow")
        try:
            detections = self.place.read("detections.arrow")
        except FileNotFoundError:
            detections = None
        try:
            return arrow.tables_from_files(outcomes, detections)
        except (ValueError, OSError) as error:
            raise self._damaged("outcomes.arrow or detections.arrow", error) from error

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Writes `results.json`."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        self.place.write(RESULTS, orjson.dumps(dict(results), option=options))

    def results(self) -> dict[str, Any]:
        """What `score` found. StoreError where the run was not scored."""
        try:
            found: dict[str, Any] = orjson.loads(self._derived(RESULTS))
        except orjson.JSONDecodeError as error:
            raise self._damaged(RESULTS, error) from error
        return found

    def scored(self) -> bool:
        """Whether there are results."""
        try:
            self.place.read(RESULTS)
        except FileNotFoundError:
            return False
        return True

    def forget_results(self) -> None:
        """Removes what was derived: new answers have made it old."""
        for name in (RESULTS, "outcomes.arrow", "detections.arrow"):
            self.place.remove(name)

    def _derived(self, name: str) -> bytes:
        try:
            return self.place.read(name)
        except FileNotFoundError as error:
            raise StoreError(f"this run has not been scored. Type:  snellen score {self.path}") from error

    def _damaged(self, name: str, error: Exception) -> StoreError:
        return StoreError(f"{name} is damaged ({error}); it can be made again. Type:  snellen score {self.path}")

    def _adopt(self) -> None:
        """Closes the parts that killed writers left open. Only the holder of the lease may."""
        if isinstance(self.place, LocalPlace):
            self.place.sweep("replies")
        for name in self.place.names("replies"):
            if name.endswith(OPEN):
                close_part(self.place, name)


class Answers(Mapping[Key, Reply | Failed]):
    """Answers by key. Holds an index and a few parts, not the replies: quick in the order of storing."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._names = part_names(place)
        self._index: dict[Key, tuple[int, int]] = {}
        self._held: OrderedDict[int, list[bytes]] = OrderedDict()
        good_keys: set[Key] = set()
        for part, name in enumerate(self._names):
            for number, line in enumerate(part_lines(place, name)):
                key, good = records.read_key(line, place=f"{place}/{name}, line {number + 1}")
                if key not in good_keys:
                    self._index[key] = part, number
                if good:
                    good_keys.add(key)

    def __getitem__(self, key: Key) -> Reply | Failed:
        part, number = self._index[key]
        return records.read(self._lines(part)[number], place=f"{self._place}/{self._names[part]}, line {number + 1}")[1]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def _lines(self, part: int) -> list[bytes]:
        if part in self._held:
            self._held.move_to_end(part)
        else:
            self._held[part] = list(part_lines(self._place, self._names[part]))
            if len(self._held) > PARTS_HELD:
                self._held.popitem(last=False)
        return self._held[part]


def exists(where: str | Path) -> bool:
    """Whether there is a run at `where`."""
    try:
        place_of(where).read(MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
