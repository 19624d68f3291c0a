"""The table of models. Adding one touches its own file, one line here, and a row of the conformance suite.

Another package adds a provider by an entry point in the group `snellen.models`: name = provider, value = a factory
`(ModelSpec, AnyTask | None) -> Model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple, TypeAlias, cast

from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import AnyTask, Model

Factory: TypeAlias = Callable[[ModelSpec, AnyTask | None], Model]


class Provider(NamedTuple):
    """A module, its factory, a line of help. speaks: its models write boxes as text, and their notation is probed."""

    module: str
    factory: str
    help: str
    speaks: bool = False


MODELS: Mapping[str, Provider] = {
    "fake": Provider("snellen.models.fake", "fake", "scripted texts, for dry work"),
    "random": Provider("snellen.models.chance", "random_model", "a uniform choice; random boxes"),
    "majority": Provider("snellen.models.chance", "majority", "the commonest right option of the task"),
    "oracle": Provider("snellen.models.oracle", "oracle", "the truth: shows that a task can be passed"),
    "observer": Provider("snellen.models.observers", "observer", "an ideal observer of so many pixels: observer/48px"),
    "replay": Provider("snellen.models.replay", "replay", "answers of a file or of another run: replay/PATH"),
    "openai": Provider("snellen.models.openai", "openai", "any server of chat completions: openai/NAME", True),
    "embedded": Provider("snellen.models.embedded", "embedded", "the small model that travels with the package", True),
    "hf": Provider("snellen.models.hf", "hf", "transformers, from a folder or the hub: hf/NAME", True),
    "onnx": Provider("snellen.models.onnx", "onnx", "an exported detector or CLIP pair: onnx/PATH"),
}
"""The providers; a module is imported when a model of it is built."""

SPEAKING = frozenset(name for name, provider in MODELS.items() if provider.speaks)
"""Providers of models that write boxes as text. `hf` also has detectors and scorers of options: ask `speaks`."""

GROUP = "snellen.models"

OPERATIONAL = frozenset(
    {"attempts", "base_url", "concurrency", "context", "key_env", "price", "requests_per_second", "single_picture",
     "timeout"}
)  # fmt: skip
"""Options that say how a model is reached, not what it answers: they may differ between a run and its resumption."""


def build(spec: ModelSpec, *, task: AnyTask | None = None) -> Model:
    """The model that `spec` names. `task` serves those that need its samples (majority, oracle).

    SpecError where the provider is unknown (the known ones are listed) or an option is.
    """
    if spec.provider in MODELS:
        module, factory, *_ = MODELS[spec.provider]
        return cast(Factory, getattr(import_module(module), factory))(spec, task)
    added = {entry.name: entry for entry in entry_points(group=GROUP)}
    if spec.provider not in added:
        raise unknown("model provider", spec.provider, {**MODELS, **added})
    return cast(Factory, added[spec.provider].load())(spec, task)


def speaks(model: Model) -> bool:
    """Whether a model writes boxes as text, so that its notation is probed: as its class says, else its provider."""
    return bool(getattr(model, "speaks", model.spec.provider in SPEAKING))


def identity(spec: ModelSpec) -> dict[str, Json]:
    """What decides a model's answers: its canonical spec without the operational options."""
    kept = {name: value for name, value in spec.options.items() if name not in OPERATIONAL}
    return ModelSpec(spec.provider, spec.name, kept).to_json()


def check_options(spec: ModelSpec, *, known: frozenset[str], needs_name: bool = False) -> None:
    """SpecError for an option that `spec`'s provider does not have, or a missing name."""
    for name in spec.options:
        if name not in known:
            raise unknown(f"option of {spec.provider}", name, known or {"(none)"})
    if needs_name and not spec.name:
        raise SpecError(f"a model of {spec.provider} is named {spec.provider}/NAME, got {str(spec)!r}")
