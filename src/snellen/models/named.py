"""Names for models: `@mine` stands for an entry of a YAML file.

mine:                                  # models.yaml
  model: openai/qwen3-vl-8b
  base_url: http://localhost:8000/v1
  concurrency: 32
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError, SpecError, unknown
from snellen.core.specs import ModelSpec, assignment

FILE = Path("models.yaml")


def resolve(text: str, options: Sequence[str] = (), *, file: Path = FILE) -> ModelSpec:
    """`provider/name` or `@name`, and `key=value` options (which win over those of the file), as a spec."""
    if not text.startswith("@"):
        return ModelSpec.parse(text, options)
    spec = named(text[1:], file)
    return ModelSpec(spec.provider, spec.name, {**spec.options, **dict(assignment(option) for option in options)})


def named(name: str, file: Path = FILE) -> ModelSpec:
    """The model called `name` in `file`. SpecError where it is not there, DataError where the file is wrong."""
    models = read_models(file)
    if name not in models:
        raise unknown(f"model in {file}", f"@{name}", [f"@{other}" for other in models])
    return models[name]


def read_models(file: Path) -> dict[str, ModelSpec]:
    """All models of a YAML file."""
    import yaml

    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"@names stand in a YAML file, and there is none: {file}") from error
    except yaml.YAMLError as error:
        raise DataError(f"this is no YAML ({str(error).splitlines()[0]}): {file}") from error
    if not isinstance(found, Mapping):
        raise DataError(f"a file of models maps names to models, got {type(found).__name__}: {file}")
    return {str(name): from_entry(entry, place=f"{file}, {name}") for name, entry in found.items()}


def from_entry(entry: Any, *, place: str) -> ModelSpec:
    """`openai/x`, or `{"model": "openai/x", ...options}`, as a spec."""
    if isinstance(entry, str):
        return ModelSpec.parse(entry)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
        raise DataError(f"an entry holds 'model: provider/name' and its options, got {entry!r}: {place}")
    spec = ModelSpec.parse(entry["model"])
    return ModelSpec(spec.provider, spec.name, {str(k): v for k, v in entry.items() if k != "model"})
