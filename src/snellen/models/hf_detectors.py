"""Detectors of transformers: those that are told class names (Grounding DINO, OWL) and those with classes of their own.

Every query of a detector is scored against every class, and the best pairs are kept: nothing is suppressed here (no
NMS), and the scores are the model's own. Boxes are px of the upright picture.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Detections
from snellen.core.errors import SpecError
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply
from snellen.models.hf import device_and_dtype, hub_options, read_common, source
from snellen.models.hf_phrases import Phrases, chunks_of
from snellen.models.hf_processors import lacking
from snellen.models.looking import Opened, in_batches, only_boxes
from snellen.models.options import Options

Float = NDArray[np.float64]


class Found(NamedTuple):
    """What a model said of one picture: boxes (queries, 4) as `cxcywh` of 0..1, scores (queries, classes)."""

    boxes: Float
    scores: Float


class Looked(NamedTuple):
    """What was found in a picture, the names of the classes in its columns, and the size that the picture had in the
    network's input, without what it was padded with.
    """

    found: Found
    names: tuple[str, ...]
    seen: Size


Look: TypeAlias = Callable[[Sequence[Any], Sequence[tuple[str, ...]]], list[Looked]]
"""Pictures and the labels asked for -> what was found in each."""

SOFTMAX = frozenset({"detr", "yolos", "table-transformer", "maskformer"})
"""Detectors whose last class means "nothing"; the others give every class a sigmoid of its own."""


@dataclass(frozen=True)
class Detector:
    """A loaded detector. `look` runs the network; at most `most` detections of at least `min_score` are kept."""

    speaks: ClassVar[bool] = False

    spec: ModelSpec
    look: Look = field(repr=False)
    batch_size: int = 1
    min_score: float = 0.01
    most: int = 300

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Detections on the last picture of each prompt, in order. A picture that cannot be read is Failed.

        SpecError for a prompt that asks for something else than boxes.
        """
        return in_batches(prompts, self._detect, check=only_boxes, batch_size=self.batch_size)

    def _detect(self, asked: Sequence[Opened]) -> Iterator[tuple[Key, Reply]]:
        started = time.monotonic()
        found = self.look([image for _, image in asked], [prompt.labels for prompt, _ in asked])
        seconds = (time.monotonic() - started) / len(asked)
        for (prompt, image), (said, names, seen) in zip(asked, found, strict=True):
            size = Size(*image.size)
            detections = best(said, names, size=size, most=self.most, min_score=self.min_score)
            yield prompt.key, Reply(detections=detections, sent=(size,), seen=(seen,), seconds=seconds)


def best(found: Found, names: Sequence[str], *, size: Size, most: int, min_score: float) -> Detections:
    """The best pairs of query and class, falling by score: at most `most`, of at least `min_score`."""
    scores = found.scores.ravel()
    order = np.argsort(-scores, kind="stable")[:most]
    order = order[scores[order] >= min_score]
    centre, side = found.boxes[order // max(1, len(names))].reshape(-1, 2, 2).transpose(1, 0, 2)
    corners = np.concatenate([centre - side / 2, centre + side / 2], axis=1) * np.tile(np.asarray(size, float), 2)
    return Detections(corners, tuple(names[i] for i in order % max(1, len(names))), scores[order])


def detector(spec: ModelSpec, config: Any) -> Detector:
    """A detector with classes of its own (RT-DETR, D-FINE, RF-DETR, DETR, YOLOS ...), in `id2label`.

    Its labels are its own words; the task maps them to classes. A class `N/A` is never found.
    """
    from transformers import AutoModelForObjectDetection

    settings = _settings(Options(spec))
    model, shown = _load(spec, AutoModelForObjectDetection), _image_processor(spec, config.model_type)
    names = [str(config.id2label.get(i, f"class {i}")) for i in range(len(config.id2label))]
    last = config.model_type in SOFTMAX

    def see(images: Sequence[Any], labels: Sequence[tuple[str, ...]]) -> list[Looked]:
        inputs = shown(images=list(images), return_tensors="pt")
        logits, boxes = _run(model, inputs)
        scores = _softmax(logits)[..., :-1] if last else _sigmoid(logits)
        kept = [i for i in range(min(len(names), scores.shape[-1])) if names[i] != "N/A"]
        chosen = tuple(names[i] for i in kept)
        sizes = _seen(inputs)
        return [Looked(Found(b, s[:, kept]), chosen, n) for b, s, n in zip(boxes, scores, sizes, strict=True)]

    return Detector(spec, see, **settings)


def grounder(spec: ModelSpec, config: Any) -> Detector:
    """A detector that is told class names: `Prompt.labels`. Lists beyond its text limit are asked in chunks."""
    from transformers import AutoModelForZeroShotObjectDetection

    options = Options(spec)
    template = options.text("template", "{label}")
    settings = _settings(options)
    families: Mapping[str, Callable[[Any, Any, str], Look]] = {
        "grounding-dino": _dino,
        "mm-grounding-dino": _dino,
        "owlv2": _owl,
        "owlvit": _owl,
    }
    if config.model_type not in families:
        raise SpecError(
            f"{config.model_type} takes class names, but is not run here: import its prediction file instead"
        )
    if "{label}" not in template:
        raise SpecError(f"a template holds {{label}}, got {template!r}")
    from snellen.models.hf_processors import load_processor

    processor = load_processor(source(spec), config.model_type, **hub_options(spec))
    model = _load(spec, AutoModelForZeroShotObjectDetection)
    return Detector(spec, families[config.model_type](model, processor, template), **settings)


def _dino(model: Any, processor: Any, template: str) -> Look:
    """Grounding DINO: one text "a. b. c."; a class scores as its best token does."""
    limit = int(getattr(model.config, "max_text_len", 256))

    def see(images: Sequence[Any], labels: Sequence[tuple[str, ...]]) -> list[Looked]:
        return [_one(image, names) for image, names in zip(images, labels, strict=True)]

    def _one(image: Any, names: tuple[str, ...]) -> Looked:
        parts, seen = [], Size(*image.size)
        for phrases in chunks_of([template.format(label=n) for n in names], processor.tokenizer, limit=limit):
            inputs = processor(images=image, text=phrases.text, return_tensors="pt")
            logits, boxes = _run(model, inputs)
            (seen,) = _seen(inputs)
            parts.append(Found(boxes[0], _by_phrase(_sigmoid(logits[0]), phrases)))
        return Looked(_side_by_side(parts), names, seen)

    return see


def _owl(model: Any, processor: Any, template: str) -> Look:
    """OWL-ViT and OWLv2: a text per class; boxes are parts of the picture padded to a square (right and bottom)."""
    padded = model.config.model_type == "owlv2"

    def see(images: Sequence[Any], labels: Sequence[tuple[str, ...]]) -> list[Looked]:
        return [_one(image, names) for image, names in zip(images, labels, strict=True)]

    def _one(image: Any, names: tuple[str, ...]) -> Looked:
        texts = [template.format(label=name) for name in names]
        inputs = processor(images=image, text=[texts], return_tensors="pt", truncation=True)
        logits, boxes = _run(model, inputs)
        square = np.array(image.size) / max(image.size) if padded else np.ones(2)  # the picture's share of the input
        (size,) = _seen(inputs)
        seen = Size(*(max(1, round(side * share)) for side, share in zip(size, square.tolist(), strict=True)))
        return Looked(Found(boxes[0] / np.tile(square, 2), _sigmoid(logits[0])[:, : len(names)]), names, seen)

    return see


def _by_phrase(scores: Float, phrases: Phrases) -> Float:
    """(queries, tokens) -> (queries, classes): the best of each class's tokens."""
    return np.stack([scores[:, list(tokens)].max(axis=1) for tokens in phrases.tokens], axis=1)


def _side_by_side(parts: Sequence[Found]) -> Found:
    """Chunks of classes as one: the queries of each stand below one another, and score nothing in others' classes."""
    if not parts:
        return Found(np.zeros((0, 4)), np.zeros((0, 0)))
    scores = np.zeros((sum(len(p.boxes) for p in parts), sum(p.scores.shape[1] for p in parts)))
    row = column = 0
    for part in parts:
        scores[row : row + len(part.boxes), column : column + part.scores.shape[1]] = part.scores
        row, column = row + len(part.boxes), column + part.scores.shape[1]
    return Found(np.concatenate([part.boxes for part in parts]), scores)


def _settings(options: Options) -> dict[str, Any]:
    read_common(options)
    settings = {
        "batch_size": options.whole("batch_size", 1),
        "min_score": options.number("min_score", 0.01, low=0, high=1),
        "most": options.whole("most", 300),
    }
    options.done()
    return settings


def _load(spec: ModelSpec, loader: Any) -> Any:
    try:
        return loader.from_pretrained(source(spec), **device_and_dtype(spec), **hub_options(spec)).eval()
    except ImportError as error:
        raise lacking(spec.name, error) from error
    except (OSError, ValueError) as error:
        raise SpecError(f"the weights of {spec.name} cannot be loaded: {str(error).strip().splitlines()[0]}") from error


def _image_processor(spec: ModelSpec, model_type: str) -> Any:
    """The model's image processor. RF-DETR's needs torchvision; RT-DETR's does the same steps without."""
    from transformers import AutoImageProcessor

    try:
        return AutoImageProcessor.from_pretrained(source(spec), **hub_options(spec))
    except (ImportError, ValueError) as error:
        if model_type != "rf_detr":
            raise lacking(spec.name, error) from error
        from transformers.models.rt_detr.image_processing_pil_rt_detr import RTDetrImageProcessorPil

        return RTDetrImageProcessorPil.from_pretrained(source(spec), **hub_options(spec))


def _seen(inputs: Any) -> list[Size]:
    """The size of each picture in the input: of a batch padded to one size what its mask leaves, else all of it."""
    height, width = inputs["pixel_values"].shape[-2:]
    mask = inputs.get("pixel_mask")
    if mask is None:
        return [Size(int(width), int(height))] * len(inputs["pixel_values"])
    return [Size(int(one.any(0).sum()), int(one.any(1).sum())) for one in mask.bool()]


def _run(model: Any, inputs: Any) -> tuple[Float, Float]:
    """Logits and boxes as float64."""
    import torch

    inputs = {k: v.to(model.device) for k, v in inputs.items() if k != "labels"}
    inputs = {k: v.to(model.dtype) if v.is_floating_point() else v for k, v in inputs.items()}
    with torch.inference_mode():
        said = model(**inputs)
    return said.logits.double().cpu().numpy(), said.pred_boxes.double().cpu().numpy()


def _sigmoid(logits: Float) -> Float:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500))))


def _softmax(logits: Float) -> Float:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
