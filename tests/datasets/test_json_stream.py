"""Reading a large JSON in pieces gives what reading it whole gives."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.errors import DataError
from snellen.datasets.json_stream import JsonStream

text = st.text(st.sampled_from('ab"\\{}[],: \n\u00e9\U0001f600'), max_size=8)
plain = st.one_of(st.none(), st.booleans(), st.integers(-99, 10**12), st.floats(allow_nan=False, width=32), text)
nested = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(text, st.lists(st.dictionaries(text, nested, max_size=4), max_size=12) | nested, max_size=5)


def whole(path: Path, piece: int) -> tuple[Any, str]:
    stream = JsonStream(path, piece=piece)
    out: dict[str, Any] = {}
    lists = set()
    for key, value in stream:
        if isinstance(value, list) and key in lists:
            out[key] += value
        else:
            out[key] = value
            if isinstance(value, list):
                lists.add(key)
    return out, stream.sha256


@settings(max_examples=60, deadline=None)
@given(
    document=documents,
    piece=st.sampled_from([16, 50, 400, 1 << 20]),
    indent=st.sampled_from([None, 1]),
    ascii_=st.booleans(),
)
def test_any_document_is_read_as_python_reads_it(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any], piece: int, indent: int | None, ascii_: bool
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=ascii_), encoding="utf-8")
    read, sha = whole(path, piece)
    assert read == document
    assert sha == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_list_at_the_top_has_no_key(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    items = [{"i": i, "t": "},{" * 3} for i in range(500)]
    path.write_text(json.dumps(items))
    pieces = list(JsonStream(path, piece=1000))
    assert {key for key, _ in pieces} == {""}
    assert len(pieces) > 5
    assert [item for _, chunk in pieces for item in chunk] == items


def test_an_empty_list_still_shows_its_key(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"images": [], "n": 1}')
    assert list(JsonStream(path)) == [("images", []), ("n", 1)]


def test_infinity_and_a_byte_order_mark_and_gzip_are_read(tmp_path: Path) -> None:
    text = '\ufeff{"annotations": [{"bbox": [Infinity, NaN, -Infinity, 1]}, {"bbox": [1, 2, 3, 4]}]}'
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(text.encode()))
    ((_, items),) = JsonStream(path)
    assert items[0]["bbox"][0] == float("inf")
    assert items[1]["bbox"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "expected"),
        ("hello", "expected"),
        ('{"a": [{"b": 1}, {"b": ', "cut short"),
        ('{"a": [{"b": 1}]', "cut short"),
        ('{"a": [1, 2', "cut short"),
        ('{"a": {"b": 1', "cut short"),
        ('{"a": [{"b": bad}]}', "no JSON"),
        ('{"a": [1]} tail', "after the end"),
        ("{a: 1}", "quotes"),
    ],
)
def test_what_is_no_json_is_an_error_with_the_byte(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=what) as caught:
        list(JsonStream(path))
    assert "byte" in str(caught.value)
    assert "a.json" in str(caught.value)
