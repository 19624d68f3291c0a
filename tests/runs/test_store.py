from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import DataError, StoreError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Reply
from snellen.core.tables import Table, Tables
from snellen.models import records
from snellen.runs.manifest import FORMAT_VERSION, Manifest
from snellen.runs.parts import Limits
from snellen.runs.store import Run, exists

GOLDEN = Path(__file__).parents[1] / "golden"


def manifest(**fields) -> Manifest:
    given = {"task": {"task": "toy"}, "model": ModelSpec("fake", "").to_json(), "samples": 3, "requests": 3}
    return Manifest(**(given | fields))


@pytest.fixture(params=["local", "memory"])
def where(request, tmp_path):
    if request.param == "local":
        yield str(tmp_path / "run")
        return
    import fsspec

    yield f"memory://{tmp_path.name}/run"
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def filled(where: str, *answers: tuple[str, Reply | Failed], **options) -> Run:
    run = Run.open(where) if exists(where) else Run.create(where, manifest())
    with run.writing(**options) as writer:
        for name, answer in answers:
            writer.append(Key(name), answer)
    return run


def test_what_is_stored_is_read_again(where) -> None:
    filled(where, ("a", Reply("red")), ("b", Failed("timeout", "60 s", 3)))
    assert list(Run.open(where).replies()) == [(Key("a"), Reply("red")), (Key("b"), Failed("timeout", "60 s", 3))]


def test_the_first_success_of_a_key_wins_over_failures_and_later_ones(where) -> None:
    filled(where, ("a", Failed("x")), ("a", Reply("first")), ("a", Reply("second")), ("a", Failed("y")))
    filled(where, ("a", Reply("third")))
    run = Run.open(where)
    assert dict(run.replies()) == {Key("a"): Reply("first")}
    assert dict(run.answers()) == {Key("a"): Reply("first")}
    assert run.answered() == ({Key("a")}, set())
    assert len(list(run.entries())) == 5


def test_parts_are_closed_as_they_fill(where) -> None:
    names = [f"{i:03}" for i in range(25)]
    run = filled(where, *((name, Reply(name)) for name in names), limits=Limits(replies=10))
    parts = run.place.names("replies")
    assert len(parts) == 3
    assert all(name.endswith(".jsonl.gz") for name in parts)
    assert [key.sample for key, _ in run.replies()] == names


def test_an_old_part_is_closed_by_a_tick(where) -> None:
    run = Run.create(where, manifest())
    with run.writing(limits=Limits(seconds=0)) as writer:
        writer.append(Key("a"), Reply("x"))
        writer.tick()
        assert [name for name in run.place.names("replies") if name.endswith(".gz")]


def test_several_writers_each_write_parts_of_their_own(where) -> None:
    from snellen.runs.parts import PartWriter

    run = Run.create(where, manifest())
    one, two = PartWriter(run.place), PartWriter(run.place)
    for i in range(10):
        one.append(Key(f"a{i}"), Reply("one"))
        two.append(Key(f"b{i}"), Reply("two"))
    one.close()
    two.close()
    assert len(run.place.names("replies")) == 2
    assert len(dict(run.replies())) == 20


def test_a_reply_can_be_read_the_moment_it_is_stored(tmp_path) -> None:
    run = Run.create(tmp_path / "r", manifest())
    with run.writing() as writer:
        writer.append(Key("a"), Reply("x"))
        assert dict(Run.open(tmp_path / "r").replies()) == {Key("a"): Reply("x")}


@pytest.mark.parametrize("cut", range(1, 45))
def test_a_writer_killed_at_any_byte_loses_that_line_alone(tmp_path, cut) -> None:
    run = Run.create(tmp_path / "r", manifest())
    whole = b'{"sample":"a","text":"one"}\n{"sample":"b","text":"two"}\n'
    (tmp_path / "r" / "replies").mkdir()
    (tmp_path / "r" / "replies" / "20260101T000000000000-dead-00000.jsonl").write_bytes(whole[:cut])
    kept = {Key(name): Reply(text) for name, text, end in (("a", "one", 28), ("b", "two", 56)) if end <= cut}
    assert dict(run.replies()) == kept
    with run.writing() as writer:
        writer.append(Key("c"), Reply("three"))
    assert dict(run.replies()) == {**kept, Key("c"): Reply("three")}
    assert not [name for name in run.place.names("replies") if name.endswith(".jsonl")]


def test_a_part_closed_but_not_yet_removed_counts_once(tmp_path) -> None:
    run = filled(str(tmp_path / "r"), ("a", Reply("x")), ("a", Failed("late")))
    (closed,) = (tmp_path / "r" / "replies").iterdir()
    closed.with_name(closed.name.removesuffix(".gz")).write_bytes(gzip.decompress(closed.read_bytes()))
    assert len(list(run.entries())) == 2


def test_a_damaged_part_is_told_not_skipped(tmp_path) -> None:
    run = filled(str(tmp_path / "r"), ("a", Reply("x")))
    (closed,) = (tmp_path / "r" / "replies").iterdir()
    closed.write_bytes(closed.read_bytes()[:-9])
    with pytest.raises(StoreError, match="damaged"):
        list(run.replies())


def test_a_full_disk_is_told_and_spoils_nothing(tmp_path, monkeypatch) -> None:
    run = Run.create(tmp_path / "r", manifest())
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        return real(descriptor, data if b'"a"' in data else data[:7])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="disk full"):
        filled(str(tmp_path / "r"), ("a", Reply("x")), ("b", Reply("y")))
    monkeypatch.undo()
    filled(str(tmp_path / "r"), ("b", Reply("again")))
    assert dict(run.replies()) == {Key("a"): Reply("x"), Key("b"): Reply("again")}


def test_answers_are_looked_up_without_holding_them(tmp_path) -> None:
    names = [f"{i:04}" for i in range(500)]
    run = filled(str(tmp_path / "r"), *((name, Reply(name)) for name in names), limits=Limits(replies=10))
    answers = run.answers()
    assert [answers[Key(name)].text for name in names] == names
    assert len(answers._held) <= 16
    assert Key("9999") not in answers


def test_a_second_process_is_refused_while_one_writes(tmp_path) -> None:
    run = Run.create(tmp_path / "r", manifest())
    with (
        run.writing(),
        pytest.raises(StoreError, match=f"process {os.getpid()} on .* is writing"),
        Run.open(tmp_path / "r").writing(),
    ):
        raise AssertionError
    with Run.open(tmp_path / "r").writing():
        pass


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(StoreError, match="holds no password") as found:
        Run.open("ftp://me:hunter2@host/run")
    assert "hunter2" not in str(found.value)


def test_a_run_is_not_made_over_another_or_among_other_files(tmp_path) -> None:
    Run.create(tmp_path / "r", manifest())
    with pytest.raises(StoreError, match="a run already"):
        Run.create(tmp_path / "r", manifest())
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "notes.txt").touch()
    with pytest.raises(StoreError, match="other files"):
        Run.create(tmp_path / "x", manifest())
    with pytest.raises(StoreError, match="a file"):
        Run.create(tmp_path / "x" / "notes.txt", manifest())


def test_a_run_killed_while_it_was_made_can_be_made(tmp_path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "samples.json").write_text('["a"]')
    (tmp_path / "r" / ".manifest.json.1234.tmp").write_text("{")
    assert Run.create(tmp_path / "r", manifest(), ids=frozenset("ab")).manifest.samples == 3


def test_half_written_files_of_killed_writers_are_swept_away(tmp_path) -> None:
    run = filled(str(tmp_path / "r"), ("a", Reply("x")))
    old, young = (tmp_path / "r" / "replies" / f".part.{name}.tmp" for name in ("old", "young"))
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    with run.writing():
        assert (old.exists(), young.exists()) == (False, True)


def test_a_line_that_is_damaged_is_told_with_its_place(tmp_path) -> None:
    run = filled(str(tmp_path / "r"), ("a", Reply("x")))
    (closed,) = (tmp_path / "r" / "replies").iterdir()
    closed.write_bytes(gzip.compress(b'{"sample":"a","text":"x"}\nrubbish\n'))
    for read in (run.answered, run.answers, lambda: list(run.replies())):
        with pytest.raises(DataError, match="line 2"):
            read()


@pytest.mark.parametrize("made", [False, True])
def test_where_there_is_no_run_it_is_said(tmp_path, made) -> None:
    if made:
        (tmp_path / "r").write_text("a file")
    with pytest.raises(StoreError, match="there is no run"):
        Run.open(tmp_path / "r")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (json.dumps({"format_version": FORMAT_VERSION + 1}), "update Snellen"),
        ("{", "no manifest"),
        ("[]", "no manifest"),
        (json.dumps({"format_version": 1}), r"damaged \(task"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_told(tmp_path, text, word) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match=word):
        Run.open(tmp_path)


def test_derived_tables_and_results_come_back_as_they_were(where) -> None:
    outcomes = Table({"sample": ["a", "b"], "correct": [True, False], "words": [1, 2], "x": [0.5, np.nan],
                      "attr.light": ["", "dim"]})  # fmt: skip
    boxes = Table({"sample": np.array([0, 1]), "score": np.array([np.nan, 0.25])})
    run = Run.create(where, manifest())
    run.write_tables(Tables(outcomes, boxes, ("cat", "dog"), {"answered": 2}))
    run.write_results({"metrics": {"accuracy": {"value": np.float64(0.5)}}})
    found = Run.open(where).tables()
    for mine, theirs in ((outcomes, found.outcomes), (boxes, found.detections)):
        assert mine.names == theirs.names
        for name in mine.names:
            assert mine[name].dtype.kind == theirs[name].dtype.kind
            np.testing.assert_array_equal(mine[name], theirs[name])
    assert (found.classes, found.facts) == (("cat", "dog"), {"answered": 2})
    assert run.results() == {"metrics": {"accuracy": {"value": 0.5}}}
    assert run.scored()
    run.write_tables(Tables(outcomes))
    assert run.tables().detections is None


def test_empty_tables_keep_their_columns(where) -> None:
    run = Run.create(where, manifest())
    run.write_tables(Tables(Table({"sample": np.array([], dtype=np.str_), "correct": np.array([], dtype=bool)})))
    assert run.tables().outcomes.names == ("sample", "correct")


def test_a_run_that_was_not_scored_says_what_to_type(where) -> None:
    run = Run.create(where, manifest())
    assert not run.scored()
    for read in (run.results, run.tables):
        with pytest.raises(StoreError, match=r"snellen score .*run"):
            read()


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("run_v*") if path.is_dir()))
def test_runs_of_old_versions_stay_readable(tmp_path, name) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / name)
    run = Run.open(tmp_path / name)
    expected = json.loads((GOLDEN / f"{name}.expected.json").read_text())
    found = {f"{key.sample}|{key.call}|{key.draw}": json.loads(records.write(key, a)) for key, a in run.replies()}
    assert found == expected["replies"]
    assert run.manifest.model_name == expected["model"]
    assert run.manifest.draws == expected["draws"]
    assert sorted(run.selected()) == expected["selected"]
    assert run.results() == expected["results"]
    assert list(run.tables().outcomes.rows()) == expected["outcomes"]
    with run.writing() as writer:
        writer.append(Key("new"), Reply("still writable"))
    assert len(dict(run.replies())) == len(expected["replies"]) + 1
