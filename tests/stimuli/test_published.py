from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import DataError
from snellen.parsing.choice import read_choice
from snellen.scoring.choice import measure, tabulate
from snellen.stimuli.published import counts_only, read_published


def test_published_answers_give_the_published_figures_to_the_last_digit(shared: Path) -> None:
    folder = shared / "data/dere_vlm_closed_vqa"
    expected = json.loads((folder / "EXPECTED.json").read_text())
    assert len(expected) == 9
    for name, figures in expected.items():
        answers = read_published(folder / name / "results.json.gz")
        assert len(answers) == figures["n"]
        assert counts_only([sample for sample, _ in answers])
        tables = tabulate((s, read_choice(r.text, s.truth.options, reader="first-number")) for s, r in answers)
        found = measure(tables)(np.ones((1, len(answers))))
        assert found["accuracy"][0] == figures["accuracy_published"], name
        report = json.loads((folder / name / "classification_report.json").read_text())
        target_f1 = [report[label]["f1-score"] for label in tables.classes]
        assert found["macro_f1"][0] == pytest.approx(np.mean(target_f1), abs=1e-15), name


def entry(**fields: object) -> dict[str, object]:
    return {"target": 2, "input": "How many red stars are there? Choose from [3, 2].", "original_pred": "2"} | fields


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_an_answer_becomes_a_sample_with_what_its_names_say(tmp_path: Path) -> None:
    data = {"7": {"red_stars": {"count_closed": entry()}}}
    (found,) = read_published(written(tmp_path / "r.json", data))
    sample, reply = found
    assert (sample.id, sample.cluster, reply.text) == ("7/red_stars/count", "7", "2")
    assert (sample.truth.target, sample.truth.options, sample.truth.question) == ("2", ("3", "2"), "count")
    assert sample.attributes == {
        "entity": "red_stars", "colour": "red", "shape": "star", "text": "How many red stars are there?",
    }  # fmt: skip


def test_gzip_and_nested_properties_and_answers_without_options_are_read(tmp_path: Path) -> None:
    data = {"0": {"e1": {"properties": {"shape": {"target": "star", "pred": "circle", "prob": 0.4}}}}}
    (tmp_path / "r.json.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    ((sample, reply),) = read_published(tmp_path / "r.json.gz")
    assert (sample.id, sample.truth.options, reply.text) == ("0/e1/shape", (), "circle")
    assert not counts_only([sample])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"0": {"e": {"count_closed": entry(target=None)}}}, "text or a whole number, got None.*0 / e / count_closed"),
        ({"0": {"e": {"count_closed": entry(target=True)}}}, "got True"),
        ({"0": {"e": {"count_closed": {"target": 1}}}}, "needs original_pred or pred"),
        ({"0": {"e": {"count_closed": 3}}}, "expected stim -> entity -> kind -> answer, got int.*0 / e / count_closed"),
        ({"0": {"e": entry()}}, "stands under stim, entity and kind"),
        ({"0": {"e": {"k": entry(input="How many? Choose from [1, 2")}}}, "ends with `Choose from"),
        ({}, "at least one answer"),
        ([], "got list: .*the top"),
    ],
)
def test_what_is_no_results_file_is_refused_with_its_place(tmp_path: Path, data: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_published(written(tmp_path / "r.json", data))


@pytest.mark.parametrize("content", [b"{", b"\x1f\x8b broken", b"\xff\xfe"])
def test_broken_files_are_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.json").write_bytes(content)
    with pytest.raises(DataError, match=r"broken\.json"):
        read_published(tmp_path / "broken.json")
