"""Scorers of options: CLIP, SigLIP and their kin, through transformers or as a pair of ONNX files.

The question is ignored; each option becomes a text by the prompt's template ("a photo of a {label}"), and the answer is
the option whose text is most like the last picture (PROTOCOLS section 1). The scores are the model's logits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SpecError
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply
from snellen.models.looking import Opened, in_batches, only_choices
from snellen.models.options import Options

Float = NDArray[np.float64]
Compare: TypeAlias = Callable[[Sequence[Any], Sequence[str]], Float]
"""Pictures (n) and texts (m) -> logits (n, m)."""


@dataclass(frozen=True)
class Scorer:
    """A model that compares pictures and texts. `template`, where given, replaces the prompts' own."""

    speaks: ClassVar[bool] = False

    spec: ModelSpec
    compare: Compare = field(repr=False)
    batch_size: int = 8
    template: str = ""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """The best option and all scores, in order. A picture that cannot be read is Failed.

        SpecError for a prompt that asks for something else than one of several options.
        """
        return in_batches(prompts, self._scored, check=only_choices, batch_size=self.batch_size)

    def _scored(self, asked: Sequence[Opened]) -> Iterator[tuple[Key, Reply]]:
        started = time.monotonic()
        texts = {text: i for i, text in enumerate(dict.fromkeys(t for p, _ in asked for t in self._texts(p)))}
        logits = self.compare([image for _, image in asked], list(texts))
        seconds = (time.monotonic() - started) / len(asked)
        for row, (prompt, image) in zip(logits, asked, strict=True):
            scores = tuple(float(row[texts[text]]) for text in self._texts(prompt))
            best = prompt.labels[int(np.argmax(scores))]
            yield prompt.key, Reply(best, option_scores=scores, sent=(Size(*image.size),), seconds=seconds)

    def _texts(self, prompt: Prompt) -> list[str]:
        return [(self.template or prompt.template).replace("{label}", label) for label in prompt.labels]


def hf_scorer(spec: ModelSpec, config: Any) -> Scorer:
    """A CLIP-like model of transformers. Options: template (a text with {label}), batch_size, and the common ones."""
    import torch
    from transformers import AutoModelForZeroShotImageClassification

    from snellen.models.hf import device_and_dtype, hub_options, read_common, source
    from snellen.models.hf_processors import lacking, load_processor

    options = Options(spec)
    read_common(options)
    settings = scorer_settings(options)
    processor = load_processor(source(spec), config.model_type, **hub_options(spec))
    try:
        model = AutoModelForZeroShotImageClassification.from_pretrained(
            source(spec), **device_and_dtype(spec), **hub_options(spec)
        ).eval()
    except ImportError as error:
        raise lacking(spec.name, error) from error
    except (OSError, ValueError) as error:
        raise SpecError(f"the weights of {spec.name} cannot be loaded: {str(error).strip().splitlines()[0]}") from error
    padding = "max_length" if config.model_type.startswith("siglip") else True

    def compare(images: Sequence[Any], texts: Sequence[str]) -> Float:
        inputs = processor(images=list(images), text=list(texts), padding=padding, truncation=True, return_tensors="pt")
        inputs = {k: v.to(model.device) for k, v in inputs.items()}
        inputs = {k: v.to(model.dtype) if v.is_floating_point() else v for k, v in inputs.items()}
        with torch.inference_mode():
            return np.asarray(model(**inputs).logits_per_image.double().cpu().numpy())

    return Scorer(spec, compare, **settings)


def scorer_settings(options: Options) -> dict[str, Any]:
    """Template and batch size; SpecError for options that nobody asked for."""
    template = options.text("template", "")
    if template and "{label}" not in template:
        raise SpecError(f"a template holds {{label}}, got {template!r}")
    settings = {"batch_size": options.whole("batch_size", 8), "template": template}
    options.done()
    return settings
