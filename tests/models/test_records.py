from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.detections import Detections
from snellen.core.errors import DataError
from snellen.core.pictures import Size
from snellen.core.stages import Failed, Key, Reply, Token, Usage
from snellen.models import records

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
finite = st.floats(-1e6, 1e6)
keys = st.builds(Key, texts, texts, st.integers(0, 99))
sizes = st.builds(Size, st.integers(1, 9999), st.integers(1, 9999))


@st.composite
def detections(draw) -> Detections:
    n = draw(st.integers(0, 4))
    column = st.lists(finite, min_size=n, max_size=n).map(np.array)
    scores = st.lists(st.one_of(finite, st.just(float("nan"))), min_size=n, max_size=n).map(np.array)
    return Detections(
        np.array(draw(st.lists(st.tuples(finite, finite, finite, finite), min_size=n, max_size=n))).reshape(n, 4),
        tuple(draw(st.lists(texts, min_size=n, max_size=n))),
        draw(st.none() | scores),
        draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)),
        draw(st.none() | column),
        tuple({"chain": "x", "n": i} for i in range(n)) if draw(st.booleans()) else (),
    )


replies = st.builds(
    Reply,
    text=texts,
    detections=st.none() | detections(),
    option_scores=st.none() | st.lists(finite, max_size=3).map(tuple),
    finish=st.sampled_from(["stop", "length", "refused"]),
    sent=st.lists(sizes, max_size=2).map(tuple),
    seen=st.lists(sizes, max_size=2).map(tuple),
    usage=st.none() | st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    seconds=st.none() | st.floats(0, 1e4),
    tokens=st.none() | st.lists(st.builds(Token, texts, finite), max_size=3).map(tuple),
    served_by=st.none() | texts,
)
failures = st.builds(Failed, texts, texts, st.integers(1, 9), st.none() | st.floats(0, 1e4))


@given(keys, replies | failures)
def test_what_is_written_is_read_again(key, answer) -> None:
    line = records.write(key, answer)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert records.read(line) == (key, answer)
    assert records.read_key(line) == (key, isinstance(answer, Reply))


def test_a_missing_score_stays_missing_and_no_scores_stay_none() -> None:
    some = Reply(detections=Detections(np.zeros((2, 4)), ("a", "b"), np.array([0.5, np.nan])))
    none = Reply(detections=Detections(np.zeros((1, 4)), ("a",)))
    assert np.isnan(records.read(records.write(Key("x"), some))[1].detections.scores[1])
    assert records.read(records.write(Key("x"), none))[1].detections.scores is None


def test_the_least_line_is_a_sample_and_a_text() -> None:
    assert records.read(b'{"sample": "7", "text": "red", "rater": "r1"}') == (Key("7"), Reply("red"))


@pytest.mark.parametrize(
    "line",
    [
        b"", b"red", b"[]", b'{"text": "red"}', b'{"sample": 7, "text": "red"}', b'{"sample": "7"}',
        b'{"sample": "7", "text": 5}', b'{"sample": "7", "text": "red", "finish": "tired"}',
        b'{"sample": "7", "detections": {"boxes": [[1, 2, 3]], "labels": ["a"]}}', b'{"sample": "7", "tex',
    ],
)  # fmt: skip
def test_a_line_that_is_no_reply_is_an_error_that_names_its_place(line) -> None:
    with pytest.raises(DataError, match=r"answers\.jsonl, line 3"):
        records.read(line, place="answers.jsonl, line 3")
