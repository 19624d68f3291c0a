"""Models of the cases live as long as the session."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.cases import Case, Place
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import Model, Task
from snellen.models.table import build

Build = Callable[..., Model]


@pytest.fixture(scope="session")
def model_of(tmp_path_factory: pytest.TempPathFactory, loopback: Callable[..., str]) -> Iterator[Build]:
    """`model_of(case, task, ...)`: the model of a case, made once for the same options unless `fresh`."""
    place = Place(tmp_path_factory.mktemp("conformance"), loopback)
    made: dict[tuple[Any, ...], Model] = {}

    def of(
        case: Case, task: Task[Any, Any], *, fresh: bool = False, spec: ModelSpec | None = None,
        refusing: bool = False, **options: Json,
    ) -> Model:  # fmt: skip
        for name in case.needs:
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"{case} needs {name}")
        if spec is None:
            wanted = case.refuses if refusing else case.spec
            assert wanted is not None
            spec = wanted(place)
            spec = ModelSpec(spec.provider, spec.name, {**spec.options, **options})
        key = (str(case), str(spec.to_json()), id(task) if case.of_task else 0)
        if fresh or key not in made:
            found = build(spec, task=task)
            made[(*key, len(made)) if fresh else key] = found
            return found
        return made[key]

    yield of
    for model in made.values():
        getattr(model, "close", lambda: None)()
