"""Closed answers against scikit-learn, published figures and hand cases."""

from __future__ import annotations

import gzip
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from snellen.core.estimates import Measure, Ratios
from snellen.core.stages import Choice, Reading, Sample
from snellen.core.tables import CHOICES, OUTCOMES
from snellen.scoring.choice import in_order, measure, tabulate

OPTIONS = ("red", "green", "blue")


def tables_of(rows, options=OPTIONS):
    return tabulate(
        (Sample(str(i), Choice(target, options, "colour")), Reading(answer, words=None if answer is None else 1))
        for i, (target, answer) in enumerate(rows)
    )


def values_of(rows, options=OPTIONS):
    tables = tables_of(rows, options)
    found = measure(tables)(np.ones((1, len(tables.outcomes))))
    return {name: float(value[0]) for name, value in found.items()}


answers = st.lists(
    st.tuples(st.sampled_from(OPTIONS), st.sampled_from([*OPTIONS, "mauve", None])), min_size=1, max_size=40
)


@given(answers)
def test_f1_and_accuracy_are_those_of_scikit_learn(rows):
    found = values_of(rows)
    targets = [target for target, _ in rows]
    said = [answer if answer in OPTIONS else "other" for _, answer in rows]
    labels = sorted(set(targets))
    assert found["accuracy"] == np.mean([t == s for t, s in zip(targets, said, strict=True)])
    expected = f1_score(targets, said, labels=labels, average=None, zero_division=0)
    assert [found[f"f1.{label}"] for label in labels] == pytest.approx(list(expected), abs=1e-15)
    assert found["macro_f1"] == pytest.approx(expected.mean(), abs=1e-15)
    assert found["other_rate"] == np.mean([s == "other" for s in said])


@given(answers, st.data())
def test_weights_mean_repetition(rows, data):
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    tables = tables_of(rows)
    weighted = measure(tables)(np.array([counts], dtype=float))
    repeated = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    expected = values_of(repeated) if repeated else {}
    targets = {target for target, _ in repeated}
    for name, value in weighted.items():
        if name.startswith("precision.") and name.partition(".")[2] not in targets:
            continue  # of a label that is no target a repeated table knows nothing
        np.testing.assert_allclose(value[0], expected.get(name, math.nan), atol=1e-12, err_msg=name)


@given(answers, st.randoms())
def test_the_order_of_samples_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert values_of(shuffled) == pytest.approx(values_of(rows), nan_ok=True)


def test_other_costs_recall_and_has_no_f1_of_its_own():
    found = values_of([("red", "red"), ("red", None), ("blue", "blue"), ("blue", "crimson")])
    assert found["other_rate"] == 0.5
    assert found["recall.red"] == 0.5
    assert found["precision.red"] == 1.0
    assert found["f1.red"] == pytest.approx(2 / 3)
    assert "f1.other" not in found


@pytest.mark.parametrize(
    ("targets", "answer", "accuracy", "f1"),
    [
        pytest.param(["al"] * 20 + ["ar"] * 20 + ["bl"] * 20 + ["br"] * 20 + ["l", "r", "a", "b"] * 5, "al", 0.2, 1 / 3,
                     id="relative position: 20 % accuracy, F1 33 on one label"),
        pytest.param(["same"] * 50 + ["larger"] * 25 + ["smaller"] * 25, "same", 0.5, 2 / 3,
                     id="relative size: 50 % accuracy, F1 67 on one label"),
    ],
)  # fmt: skip
def test_a_constant_answer_shows_the_papers_telltale_values(targets, answer, accuracy, f1):
    found = values_of([(target, answer) for target in targets], options=tuple(set(targets)))
    assert found["accuracy"] == accuracy
    assert found[f"f1.{answer}"] == pytest.approx(f1)
    assert found["macro_f1"] == pytest.approx(f1 / len(set(targets)))


def test_a_tied_answer_counts_as_its_samples_target():
    sample = Sample("1", Choice("red", OPTIONS, also=frozenset({"blue"})))
    tables = tabulate([(sample, Reading("blue"))])
    assert tables.outcomes["answer"][0] == "blue"
    found = measure(tables)(np.ones((1, 1)))
    assert (found["accuracy"][0], found["f1.red"][0]) == (1.0, 1.0)


def test_the_table_holds_places_lengths_reasons_and_attributes():
    sample = Sample("s", Choice("blue", OPTIONS, "colour"), attributes={"cell_row": 3, "shape": "star"}, cluster="w1")
    rows = list(tabulate([
        (sample, Reading("green", words=4)),
        (sample, Reading("mauve")),
        (sample, Reading(None, status="refused", reason="the reply is a refusal")),
    ]).outcomes.rows())  # fmt: skip
    assert [*rows[0]] == [*OUTCOMES, *CHOICES, "attr.cell_row", "attr.shape"]
    assert [(r["answer"], r["place"], r["chosen"]) for r in rows] == [
        ("green", 2, 1),
        ("other", 2, -1),
        ("other", 2, -1),
    ]
    assert [r["reason"] for r in rows] == ["", "answer 'mauve' is not among the options", "the reply is a refusal"]
    assert rows[0]["words"] == 4
    assert math.isnan(rows[1]["words"])
    assert (rows[0]["cluster"], rows[0]["attr.cell_row"], rows[0]["attr.shape"]) == ("w1", 3, "star")


def test_lengths_are_averaged_over_the_replies_that_were_counted():
    lengths = [1, 2, 6, None]
    tables = tabulate((Sample(str(i), Choice("a", ("a",))), Reading("a", words=n)) for i, n in enumerate(lengths))
    found = measure(tables)(np.ones((1, 4)))
    assert found["words"][0] == 3.0
    assert found["words_sd"][0] == pytest.approx(np.std([1, 2, 6], ddof=1))


def test_without_lengths_there_is_no_length():
    tables = tabulate([(Sample("1", Choice("a", ("a", "b"))), Reading("a"))])
    assert "words" not in measure(tables).names


def test_nothing_asked_is_undefined_and_not_zero():
    found = measure(tabulate([]))(np.ones((1, 0)))
    assert all(np.isnan(value).all() for value in found.values())


def test_labels_are_ordered_as_numbers_then_words():
    assert in_order(["10", "9", "b", "a", "2", "9"]) == ["2", "9", "10", "a", "b"]


def test_it_is_a_measure_whose_ratios_agree_with_its_values():
    tables = tables_of([("red", "red"), ("red", "blue"), ("blue", "blue"), ("green", None)])
    found: Measure = measure(tables)
    assert isinstance(found, Ratios)
    values = found(np.ones((1, 4)))
    for name, (above, below) in found.ratios.items():
        expected = above.sum() / below.sum() if below.sum() else math.nan
        np.testing.assert_equal(values[name][0], expected)


def test_published_figures_come_out_to_the_last_digit(shared):
    folder = shared / "data" / "dere_vlm_closed_vqa"
    expected = json.loads((folder / "EXPECTED.json").read_text())
    assert len(expected) >= 9
    for name, figures in expected.items():
        with gzip.open(folder / name / "results.json.gz", "rt") as file:
            results = json.load(file)
        tables = tabulate(published(results))
        found = measure(tables)(np.ones((1, len(tables.outcomes))))
        assert len(tables.outcomes) == figures["n"]
        assert found["accuracy"][0] == figures["accuracy_published"], name
        assert found["macro_f1"][0] == figures["macro_f1_published"], name
        report = json.loads((folder / name / "classification_report.json").read_text())
        for label in tables.classes:
            assert found[f"f1.{label}"][0] == pytest.approx(report[label]["f1-score"], abs=1e-15)


def published(results):
    for stimulus, entities in results.items():
        for entity, questions in entities.items():
            for question, answer in questions.items():
                options = re.search(r"\[(.*)\]", answer["input"])
                truth = Choice(str(answer["target"]), tuple(options[1].split(", ")) if options else (), question)
                yield Sample(f"{stimulus}/{entity}/{question}", truth), Reading(str(answer["pred"]))


@given(answers, st.data())
def test_two_parts_pool_to_the_whole(rows, data):
    split = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    found = measure(tables_of(rows))
    parts = np.stack([split, ~split, np.ones(len(rows), bool)]).astype(float)
    one, two, whole = parts @ found.columns
    np.testing.assert_array_equal(one + two, whole)
    each = found(parts)
    for name, (_, below) in found.ratios.items():
        sizes = parts @ below
        pooled = np.nansum(each[name][:2] * sizes[:2]) / sizes[2] if sizes[2] else math.nan
        np.testing.assert_allclose(each[name][2], pooled, atol=1e-12, err_msg=name)
