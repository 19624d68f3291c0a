"""Tables, specs, errors."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core.errors import ShapeError, SpecError, unknown
from snellen.core.estimates import Estimate
from snellen.core.specs import ModelSpec, canonical, fingerprint
from snellen.core.tables import Table


def test_rows_become_typed_columns() -> None:
    table = Table.of_rows([{"a": 1, "b": "x", "c": True}, {"a": 2, "b": "y", "c": False, "d": 0.5}])
    assert [table[name].dtype.kind for name in table.names] == ["i", "U", "b", "f"]
    assert np.isnan(table["d"][0])
    assert list(table.take([1]).rows()) == [{"a": 2, "b": "y", "c": False, "d": 0.5}]


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ShapeError, match="one length"):
        Table({"a": np.zeros(2), "b": np.zeros(3)})


def test_an_unknown_column_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match="there are: a"):
        Table({"a": np.zeros(1)})["b"]


def test_equal_specs_have_equal_fingerprints_whatever_the_order_of_keys() -> None:
    assert canonical({"b": 1, "a": [1, 2]}) == '{"a":[1,2],"b":1}'
    assert fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    with pytest.raises(SpecError, match="finite plain JSON"):
        canonical({"a": float("nan")})


def test_a_model_spec_reads_json_values_and_keeps_other_text() -> None:
    spec = ModelSpec.parse("hf/Qwen/Qwen3-VL-2B", ["base_url=http://x", "concurrency=8", "greedy=true", "p=NaN"])
    assert (spec.provider, spec.name) == ("hf", "Qwen/Qwen3-VL-2B")
    assert spec.options == {"base_url": "http://x", "concurrency": 8, "greedy": True, "p": "NaN"}
    with pytest.raises(SpecError, match="key=value"):
        ModelSpec.parse("fake", ["oops"])


def test_an_unknown_name_says_what_is_close() -> None:
    assert "Did you mean 'openai'?" in str(unknown("model", "opnai", ["openai", "fake"]))


def test_an_undefined_estimate_is_null_and_never_zero() -> None:
    assert Estimate(float("nan"), 0.0, 1.0).to_json() == {"value": None, "low": 0.0, "high": 1.0}
    assert Estimate(0.5, n=1).to_json() == {"value": 0.5, "low": None, "high": None, "n": 1}
    assert Estimate(0.5, 0.4, 0.6, n=10).to_json(intervals=False) == {"value": 0.5, "n": 10}
