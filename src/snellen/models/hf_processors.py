"""Processors of transformers where torchvision is absent: the stock classes, without their video part.

Processors whose `__init__` names a video processor (Qwen2-VL and its successors, SmolVLM, LLaVA-OneVision, InternVL,
Gemma 4 and more) need torchvision for that part alone. `without_video` makes a subclass that neither loads nor needs
it; everything said about pictures and text stays the stock code.
"""

from __future__ import annotations

import importlib.util
import inspect
from functools import lru_cache
from typing import Any

from snellen.core.errors import NotInstalledError, SpecError


def load_processor(name: str, model_type: str, **options: Any) -> Any:
    """The processor of a model folder or hub name; `model_type` is its config's. SpecError where there is none."""
    from transformers import AutoProcessor
    from transformers.processing_utils import ProcessorMixin

    stock = _stock(model_type)
    try:
        if stock is not None and needs_video(stock) and importlib.util.find_spec("torchvision") is None:
            return without_video(stock).from_pretrained(name, **options)
        processor = AutoProcessor.from_pretrained(name, **options)
    except (ImportError, OSError, ValueError) as error:
        raise lacking(name, error) from error
    if not isinstance(processor, ProcessorMixin):
        kind = type(processor).__name__
        raise SpecError(f"{name} has no processor for pictures and text, transformers found only a {kind}")
    return processor


def lacking(name: str, error: Exception) -> NotInstalledError | SpecError:
    """Why a part of model `name` cannot be loaded: a package, with the line to type where that is known, or the files.

    transformers tells missing packages by ImportError, those of picture processors by ValueError.
    """
    said = str(error).strip()
    if not isinstance(error, ImportError) and MISSING not in said:
        return SpecError(f"the processor of {name} cannot be loaded: {said.splitlines()[0]}")
    for package, line in LINES.items():
        if package in said.casefold():
            return NotInstalledError(f"{name} needs {package}. Type:  {line}")
    return NotInstalledError(f"{name} needs a package: {said.splitlines()[0]}")


MISSING = "Missing optional dependencies"
"""What a ValueError of transformers says where a package is absent."""


LINES = {
    "torchvision": "pip install --upgrade torch torchvision",
    "num2words": "pip install num2words",
    "timm": "pip install timm",
    "scipy": "pip install scipy",
}
"""Package that some models need beside `snellen[hf]` -> what to type. torchvision fits one version of torch alone."""


def needs_video(stock: Any) -> bool:
    """Whether a processor class loads a video processor."""
    return "video_processor" in stock.get_attributes()


def _stock(model_type: str) -> Any | None:
    """transformers' class for a model type, or None."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES, processor_class_from_name

    name = PROCESSOR_MAPPING_NAMES.get(model_type)
    return None if name is None else processor_class_from_name(name)


@lru_cache(maxsize=32)
def without_video(stock: Any) -> Any:
    """A subclass of the processor class `stock` that has no video processor."""
    from transformers.processing_utils import ProcessorMixin

    attributes = stock.get_attributes()
    accepted = set(inspect.signature(stock.__init__).parameters) - {"self", "kwargs", "video_processor"}

    class Sifted(ProcessorMixin):  # type: ignore[misc]
        """Stands between the stock class and its base: takes the video processor out of what is handed on."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            given = {**dict(zip(attributes, args, strict=False)), **kwargs}
            given.pop("video_processor", None)
            ProcessorMixin.__init__(self, **given)

    class WithoutVideo(stock, Sifted):  # type: ignore[misc]
        """The stock processor for pictures and text."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            given = {**dict(zip(self.get_attributes(), args, strict=False)), **kwargs, "video_processor": None}
            stock.__init__(self, **given)

        @classmethod
        def get_attributes(cls) -> list[str]:
            """What is loaded and saved."""
            return [name for name in attributes if name != "video_processor"]

        @classmethod
        def from_args_and_dict(cls, args: Any, processor_dict: Any, **kwargs: Any) -> Any:
            """The processor from its parts and its configuration."""
            unused = kwargs.pop("return_unused_kwargs", False)
            parts = dict(zip(cls.get_attributes(), args, strict=True))
            options = {**processor_dict, **kwargs}
            processor = cls(**parts, **{k: v for k, v in options.items() if k in accepted and k not in parts})
            return (processor, {}) if unused else processor

    taken = [p for name, p in inspect.signature(stock.__init__).parameters.items() if name != "video_processor"]
    setattr(WithoutVideo.__init__, "__signature__", inspect.Signature(taken))  # noqa: B010 (what is saved: mypy knows no such attribute)
    WithoutVideo.__name__ = stock.__name__
    return WithoutVideo
