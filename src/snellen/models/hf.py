"""`hf/NAME`: a model of transformers, from a folder or the hub: one that speaks, a detector, or a scorer of options.

Which of the three it is follows from its configuration; `-M kind=` decides where that is not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, cast

from snellen.core.errors import NotInstalledError, SpecError, unknown
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Model
from snellen.models.hf_processors import lacking
from snellen.models.options import Options

Maker: TypeAlias = Callable[[ModelSpec, Any], Model]

KINDS: Mapping[str, tuple[str, str]] = {
    "speaker": ("snellen.models.hf_speakers", "speaker"),
    "grounder": ("snellen.models.hf_detectors", "grounder"),
    "detector": ("snellen.models.hf_detectors", "detector"),
    "scorer": ("snellen.models.clip", "hf_scorer"),
}
"""What a model is -> (module, maker).

`speaker` answers in text, `grounder` takes class names, `detector` has classes of its own, `scorer` compares picture
and text.
"""

_MAPPINGS = (
    ("grounder", "MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES"),
    ("detector", "MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES"),
    ("speaker", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES"),
    ("scorer", "MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES"),
)
"""The first of transformers' tables that holds the model type decides."""


def hf(spec: ModelSpec, task: AnyTask | None = None) -> Model:
    """The model of a folder or hub name. Options: see docs/compatibility.md.

    SpecError for a name that cannot be read or a kind that is not evaluated here; NotInstalledError without the extra.
    """
    if not spec.name:
        raise SpecError("a model of transformers is named hf/FOLDER or hf/OWNER/NAME")
    require_transformers()
    config = read_config(spec)
    kind = str(spec.options.get("kind") or kind_of(config, spec.name))
    if kind not in KINDS:
        raise unknown("kind of model", kind, KINDS)
    module, name = KINDS[kind]
    return cast(Maker, getattr(import_module(module), name))(spec, config)


def require_transformers() -> None:
    """NotInstalledError where torch or transformers are missing."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise NotInstalledError.of(str(error.name or "transformers"), "hf") from error


def read_config(spec: ModelSpec) -> Any:
    """The model's configuration. SpecError where there is none."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(source(spec), **hub_options(spec))
    except ImportError as error:
        raise lacking(spec.name, error) from error
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise SpecError(f"no model of transformers can be read at {spec.name!r}: {first}") from error


def source(spec: ModelSpec) -> str:
    """The folder or hub name."""
    folder = Path(spec.name)
    return str(folder.resolve()) if folder.is_dir() else spec.name


def hub_options(spec: ModelSpec) -> dict[str, Any]:
    """Revision and trust, for every `from_pretrained`."""
    chosen: dict[str, Any] = {"trust_remote_code": bool(spec.options.get("trust_remote_code", False))}
    if "revision" in spec.options:
        chosen["revision"] = str(spec.options["revision"])
    return chosen


def kind_of(config: Any, name: str) -> str:
    """What a model is, by its configuration's type. SpecError where transformers has no such head for it."""
    from transformers.models.auto import modeling_auto

    if auto := _by_remote_code(config):
        return auto
    for kind, table in _MAPPINGS:
        if config.model_type in getattr(modeling_auto, table):
            return kind
    raise SpecError(
        f"{name} is a {config.model_type!r}: transformers has no image-text-to-text, detection or zero-shot "
        f"classification model for it. Say what it is by -M kind=... (one of {', '.join(KINDS)})"
    )


def _by_remote_code(config: Any) -> str | None:
    """Models with code of their own name the class they are used by."""
    heads = getattr(config, "auto_map", None) or {}
    speaks = ("AutoModelForImageTextToText", "AutoModelForCausalLM", "AutoModelForVision2Seq")
    return "speaker" if any(head in heads for head in speaks) else None


def read_common(options: Options) -> None:
    """Checks the options that every model of transformers has."""
    for name in ("device", "dtype", "kind", "revision"):
        options.text(name, "")
    options.flag("trust_remote_code", False)


def device_and_dtype(spec: ModelSpec) -> dict[str, Any]:
    """`device` (auto: cuda, mps, else cpu; or any device map) and `dtype` (auto) for `from_pretrained`."""
    import torch

    device = str(spec.options.get("device", "auto"))
    if device == "auto":
        mps = torch.backends.mps.is_available()
        device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    dtype = str(spec.options.get("dtype", "auto"))
    if dtype != "auto" and not isinstance(getattr(torch, dtype, None), torch.dtype):
        raise unknown("dtype", dtype, ("auto", "float32", "bfloat16", "float16"))
    if dtype == "auto" and device == "cpu":
        dtype = "float32"  # half precision on a CPU is slow, and not the same for every batch
    return {"device_map": device, "dtype": "auto" if dtype == "auto" else getattr(torch, dtype)}
