"""`bench.yaml`: what is compared on what, and how far one may go."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from snellen.core.errors import DataError, SpecError, unknown
from snellen.datasets.classfile import read_yaml


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DataEntry(_Strict):
    """A folder of labelled pictures, or an exam. `category` groups data sets (RF100-VL's super-categories).

    regimes: ways of asking about this one, instead of the bench's; an exam's own (default: as it stands) are options
    of the exam. valid: the part on which operating points are chosen.
    """

    path: str | None = None
    exam: str | None = None
    split: str | None = "test"
    valid: str = "valid"
    format: str | None = None
    category: str | None = None
    cluster: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    regimes: dict[str, dict[str, Any]] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_of(self) -> DataEntry:
        if (self.path is None) == (self.exam is None):
            raise ValueError("a data entry has a path or an exam")
        return self


class ModelEntry(_Strict):
    """A model that is asked, or one whose predictions are there already.

    predictions: data set -> file; valid_predictions: the same of the validation part; format, image_refs, class_refs:
    how they are read (see `read_predictions`). notation: how it writes boxes (default: as the prompt prescribes).
    native: the notation that it speaks by itself, where the prompt prescribes another (the score under it is shown
    beside). context: tokens that it can take, single_picture: that it takes one picture a request; prompts beyond that
    are refused. parameters, released: what the figures of score against size and age use. price: USD per million tokens
    (in, out).
    """

    model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    predictions: dict[str, str] | None = None
    valid_predictions: dict[str, str] | None = None
    format: str | None = None
    image_refs: str | None = None
    class_refs: str | None = None
    notation: str | None = None
    native: str | None = None
    prompt: str | None = None
    context: int | None = Field(default=None, ge=1)
    single_picture: bool = False
    parameters: float | None = Field(default=None, gt=0)
    released: str | None = None
    price: tuple[float, float] | None = None
    seconds_per_image: float | None = Field(default=None, gt=0)

    @field_validator("released", mode="before")
    @classmethod
    def _day(cls, value: Any) -> Any:
        """YAML reads 2026-02-01 as a date and 2026 as a number."""
        text = str(value) if isinstance(value, date | int) else value
        if isinstance(text, str) and not re.fullmatch(r"\d{4}(-\d{2}(-\d{2})?)?", text):
            raise ValueError(f"a date is written 2026-02-01, 2026-02 or 2026, got {value!r}")
        return text

    @model_validator(mode="after")
    def _one_of(self) -> ModelEntry:
        if (self.model is None) == (self.predictions is None):
            raise ValueError("a model entry has a model or predictions")
        for field in ("valid_predictions", "image_refs", "class_refs"):
            if getattr(self, field) is not None and self.predictions is None:
                raise ValueError(f"{field} go with predictions")
        return self


class Bench(_Strict):
    """The whole file.

    operating_point: from which score boxes with scores count in F1 and its like: a score, `all`, or the one with the
    best F1 on the validation part (default where there is one, and asking about it costs no money).
    """

    data: dict[str, DataEntry] = Field(min_length=1)
    models: dict[str, ModelEntry] = Field(min_length=1)
    regimes: dict[str, dict[str, Any]] = {"zero-shot": {}}
    metric: str | None = None
    operating_point: Literal["best-f1-on-valid", "all"] | float | None = None
    higher_is_better: bool = True
    sample: int | None = Field(default=None, ge=1)
    seed: int = 0
    seeds: tuple[int, ...] = (0,)
    budget: float | None = Field(default=None, ge=0)
    bootstrap: int = Field(default=1000, ge=100)
    probe: bool = True
    failed: Literal["block", "count"] = "block"

    @field_validator("seeds")
    @classmethod
    def _some(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or len(set(value)) != len(value):
            raise ValueError("seeds are one or more different numbers")
        return value

    @model_validator(mode="after")
    def _categories(self) -> Bench:
        without = [name for name, entry in self.data.items() if entry.category is None]
        if without and len(without) < len(self.data):
            raise ValueError(f"every data set has a category, or none has; without one: {', '.join(without)}")
        return self

    @field_validator("data", "models", "regimes")
    @classmethod
    def _names(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if not name or "/" in name or name.startswith("."):
                raise ValueError(f"names become folders: no slash and no leading point, got {name!r}")
        return value


def read_bench(path: Path) -> Bench:
    """The bench file at `path`, its relative paths resolved beside it. DataError names the entry and what is wrong."""
    whole = read_yaml(path)
    if not isinstance(whole, dict):
        raise DataError(f"a bench file is a mapping with data and models: {path}")
    try:
        bench = Bench.model_validate(whole)
    except ValidationError as error:
        raise DataError(f"{'; '.join(_fault(fault) for fault in error.errors())}: {path}") from error
    return _resolved(bench, path.parent)


def _fault(fault: ErrorDetails) -> str:
    """What is wrong with an entry, and where."""
    *above, name = (str(part) for part in fault["loc"]) if fault["loc"] else ("",)
    place = ".".join([*above, name])
    if fault["type"] == "extra_forbidden":
        entry = {0: Bench, 2: DataEntry if above[:1] == ["data"] else ModelEntry}.get(len(above), Bench)
        return f"{place}: {unknown('entry', name, entry.model_fields)}"
    if fault["type"] == "missing":
        return f"{place} is missing"
    return f"{place}: {fault['msg'].removeprefix('Value error, ')}"


def _resolved(bench: Bench, folder: Path) -> Bench:
    data = {name: _placed(entry, folder) for name, entry in bench.data.items()}
    models = {}
    for name, entry in bench.models.items():
        for field in ("predictions", "valid_predictions"):
            given = getattr(entry, field) or {}
            strange = set(given) - set(bench.data)
            if strange:
                raise SpecError(f"models.{name}.{field}: no data set is called {', '.join(sorted(strange))}")
            if given:
                files = {key: str(folder / file) for key, file in given.items()}
                entry = entry.model_copy(update={field: files})
        models[name] = entry
    return bench.model_copy(update={"data": data, "models": models})


def _placed(entry: DataEntry, folder: Path) -> DataEntry:
    """The entry with the folder of its data, its own or its exam's, as a path from where we are."""
    if entry.path is not None:
        return entry.model_copy(update={"path": str(folder / entry.path)})
    if isinstance(entry.options.get("data"), str):
        return entry.model_copy(update={"options": {**entry.options, "data": str(folder / entry.options["data"])}})
    return entry
