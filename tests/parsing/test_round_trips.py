"""The laws of reading and writing: the round trip of every form, and replies cut at any place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.detections import Detections
from snellen.core.errors import SpecError
from snellen.core.pictures import Size
from snellen.parsing.boxes import read_reply, write_boxes
from snellen.parsing.formats.table import FORMATS
from snellen.parsing.notations import NOTATIONS, Notation

SIZE, SEEN = Size(640, 480), Size(448, 336)
FORMS = [(name, form) for name, known in NOTATIONS.items() for form in known.formats]
NAMES = ["cat", "red car", "the astronaut's limbs", "3 of clubs", "猫", "wood debris"]

sides = st.tuples(
    st.floats(0, 639, allow_subnormal=False), st.floats(0, 479, allow_subnormal=False),
    st.floats(1, 640, allow_subnormal=False), st.floats(1, 480, allow_subnormal=False),
)  # fmt: skip


@st.composite
def detections(draw: st.DrawFn, names: list[str] = NAMES) -> Detections:
    rows = draw(st.lists(sides, max_size=5))
    boxes = np.array([(x, y, min(x + w, 640), min(y + h, 480)) for x, y, w, h in rows]).reshape(-1, 4)
    labels = tuple(draw(st.sampled_from(names)) for _ in rows)
    scores = draw(st.none() | st.lists(st.floats(0, 1), min_size=len(rows), max_size=len(rows)))
    return Detections(boxes, labels, None if scores is None else np.array(scores))


def step(known: Notation, form: str) -> float:
    """What rounding may move a side by, px."""
    means = known.of(form)
    digits = 2 if form in known.scales else known.rounding if isinstance(known.rounding, int) else 0
    unit = {None: 1.0}.get(means.scale, 640 / (means.scale or 1)) * 10.0**-digits
    return 2 * unit * (640 / 448 if means.frame == "input" else 1) + 1e-6


@pytest.mark.parametrize(("name", "form"), FORMS)
@settings(max_examples=8, deadline=None)
@given(truth=detections())
def test_what_is_written_reads_back(name: str, form: str, truth: Detections) -> None:
    known = NOTATIONS[name]
    names = [label for label in truth.labels if form == "lines" and label[0].isdigit()]
    if names:  # "3 of clubs" in a line of numbers
        with pytest.raises(SpecError, match="cannot carry"):
            write_boxes(truth, notation=name, size=SIZE, input_size=SEEN, format=form)
        return
    text = write_boxes(truth, notation=name, size=SIZE, input_size=SEEN, format=form)
    reading = read_reply(text, notation=name, size=SIZE, input_size=SEEN, finish="stop")
    points = known.points or FORMATS[form].points
    got = reading.points if points else reading.boxes
    assert got.value is not None, text
    assert (got.status, got.unread) == ("ok", 0)
    if FORMATS[form].name == "points-coords":
        assert sorted(got.value.labels) == sorted(truth.labels)
        return
    assert got.value.labels == (("",) * len(truth) if form == "calls" else truth.labels)
    expected = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2 if points else truth.boxes
    values = got.value.points if points else got.value.boxes  # type: ignore[union-attr]
    np.testing.assert_allclose(values, expected, atol=step(known, form))
    if form in {"json", "lines"} and not points and len(truth):
        np.testing.assert_array_equal(got.value.scores, truth.scores)  # type: ignore[union-attr]
    again = got.value if not points else None
    if again is not None and known.of(form).order in {"xyxy", "yxyx"}:
        assert write_boxes(again, notation=name, size=SIZE, input_size=SEEN, format=form) == text


@pytest.mark.parametrize(("name", "form"), FORMS)
@settings(max_examples=5, deadline=None)
@given(truth=detections(["cat", "red car", "wood debris"]), data=st.data())
def test_a_reply_cut_anywhere_reads_as_its_complete_instances(
    name: str, form: str, truth: Detections, data: st.DataObject
) -> None:
    text = write_boxes(truth, notation=name, size=SIZE, input_size=SEEN, format=form)
    whole = read_reply(text + "\n", notation=name, size=SIZE, input_size=SEEN)
    points = NOTATIONS[name].points or FORMATS[form].points
    full = _rows(whole, points=points)
    for end in sorted(set(data.draw(st.lists(st.integers(0, max(len(text) - 1, 0)), max_size=12)))):
        part = read_reply(text[:end], notation=name, size=SIZE, input_size=SEEN)
        got = _rows(part, points=points)
        assert len(got) <= len(full)
        assert got == full[: len(got)], text[:end]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_reply_cut_at_each_of_its_characters_has_no_box_of_another_frame(name: str, form: str) -> None:
    boxes = np.array([[100.75, 1.75, 301.75, 100.75], [8, 16, 640, 480]])
    text = write_boxes(Detections(boxes, ("cat", "cat")), notation=name, size=SIZE, input_size=SEEN, format=form)
    points = NOTATIONS[name].points or FORMATS[form].points
    full = _rows(read_reply(text + "\n", notation=name, size=SIZE, input_size=SEEN), points=points)
    assert len(full) == 2
    for end in range(len(text)):
        got = _rows(read_reply(text[:end], notation=name, size=SIZE, input_size=SEEN), points=points)
        assert got == full[: len(got)], text[:end]


def _rows(reading: object, *, points: bool) -> list[list[float]]:
    value = reading.points.value if points else reading.boxes.value  # type: ignore[attr-defined]
    if value is None:
        return []
    return (value.points if points else value.boxes).tolist()  # type: ignore[no-any-return]


def test_a_small_box_keeps_its_area_in_every_form() -> None:
    dots = Detections(np.array([[100.1, 100.1, 100.2, 100.2], [639.9, 479.9, 640, 480], [0, 0, 1.5, 0.1]]), ("a",) * 3)
    for name, form in FORMS:
        if NOTATIONS[name].points or FORMATS[form].points:
            continue
        text = write_boxes(dots, notation=name, size=SIZE, input_size=SEEN, format=form)
        value = read_reply(text, notation=name, size=SIZE, input_size=SEEN, finish="stop").boxes.value
        assert value is not None, (name, text)
        assert len(value) == 3, (name, text)


def test_a_loop_of_the_same_box_stays_as_long_as_it_is() -> None:
    same = Detections(np.tile([[64.0, 48, 320, 240]], (60, 1)), ("cat",) * 60)
    for name, form in FORMS:
        text = write_boxes(same, notation=name, size=SIZE, input_size=SEEN, format=form)
        reading = read_reply(text, notation=name, size=SIZE, input_size=SEEN, finish="stop")
        points = NOTATIONS[name].points or FORMATS[form].points
        value = reading.points.value if points else reading.boxes.value
        assert value is not None, (name, form)
        assert len(value) == 60, (name, form)


def test_what_a_form_cannot_carry_is_said() -> None:
    for name, label in (("paligemma", "a;b"), ("internvl", "a<b"), ("florence-2", "<x>"), ("yolo", "a: b")):
        with pytest.raises(SpecError, match="cannot carry the label"):
            write_boxes(Detections(np.array([[1, 2, 30, 40]]), (label,)), notation=name, size=SIZE)


def test_json_carries_any_label_and_the_notes() -> None:
    truth = Detections(
        np.array([[64, 48, 128, 96]]), ('a "b"\n};[',), notes=({"id": 3, "chain": {"primary_cue": "ü"}},)
    )
    text = write_boxes(truth, notation="wade", size=SIZE)
    assert read_reply(text, notation="wade", size=SIZE).boxes.value == truth
