"""`onnx/FILE`: an exported detector, with its layout declared; `onnx/FOLDER`: a CLIP pair. Runs without torch.

onnx/best.onnx -M layout=yolov8                    class names from the export's own notes, or -M classes=FILE
onnx/clip/ ...                                     visual.onnx, textual.onnx and tokenizer.json in one folder
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.errors import DataError, NotInstalledError, SpecError, unknown
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Failed, Key, Model, Prompt, Reply
from snellen.models.clip import Scorer, scorer_settings
from snellen.models.looking import in_batches, only_boxes
from snellen.models.onnx_layouts import IMAGENET, LAYOUTS, Candidates, Layout, detections, frame, read, suppressed
from snellen.models.options import Options

CLIP_MEAN = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
CANDIDATES = 30_000
"""Candidates looked at before doubles are removed."""


@dataclass(frozen=True)
class OnnxDetector:
    """A session and how to read it. `nms` replaces the layout's own limit; None keeps doubles."""

    spec: ModelSpec
    session: Any = field(repr=False)
    layout: Layout
    names: tuple[str, ...]
    size: Size
    nms: float | None
    min_score: float = 0.01
    most: int = 300

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Detections on the last picture of each prompt, in order. A picture that cannot be read is Failed.

        SpecError for a prompt that asks for something else than boxes.
        """
        return in_batches(prompts, lambda asked: [(p.key, self._detect(image)) for p, image in asked], check=only_boxes)

    def _detect(self, image: Image.Image) -> Reply:
        started = time.monotonic()
        size = Size(*image.size)
        framed = frame(image, self.layout, self.size)
        outputs = _run(self.session, framed.pixels, size)
        most = self.most if self.nms is None else CANDIDATES
        found = read(outputs, self.layout, framed, size=size, most=most)
        strong = found.scores >= self.min_score
        found = Candidates(found.boxes[strong], found.scores[strong], found.classes[strong])
        if self.nms is not None:
            found = suppressed(found, self.nms)
        said = detections(found, self.names, min_score=self.min_score, most=self.most)
        return Reply(detections=said, sent=(size,), seen=(self.size,), seconds=time.monotonic() - started)


def onnx(spec: ModelSpec, task: AnyTask | None = None) -> Model:
    """An exported detector, or a CLIP pair. SpecError for a wrong name, layout or option."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise NotInstalledError.of("onnxruntime", "onnx") from error
    place = Path(spec.name)
    if place.is_dir():
        return _pair(spec, place)
    if not spec.name or not place.is_file():
        raise SpecError(f"onnx needs a file or a folder: onnx/PATH, got {str(spec)!r}")
    return _detector(spec, place)


def _detector(spec: ModelSpec, file: Path) -> OnnxDetector:
    options = Options(spec)
    name = options.text("layout", "")
    if name not in LAYOUTS:
        raise unknown("layout (-M layout=...)", name, LAYOUTS)
    layout = LAYOUTS[name]
    side, classes, threads = options.whole("size", None), options.text("classes", ""), options.whole("threads", 1)
    limit = options.number("nms", layout.nms, low=0, high=1)
    min_score, most = options.number("min_score", 0.01, low=0, high=1), options.whole("most", 300)
    options.done()
    session = _session(file, threads or 1)
    notes = session.get_modelmeta().custom_metadata_map
    names = tuple(_names_of(Path(classes)) if classes else _noted(notes, file))
    return OnnxDetector(
        spec, session, layout, names, _input_size(session, side, file), limit, min_score or 0, most or 1
    )


def _session(file: Path, threads: int) -> Any:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(file), settings, providers=onnxruntime.get_available_providers())
    except Exception as error:  # onnxruntime's own exceptions share no base
        raise DataError(f"this ONNX model cannot be loaded ({str(error).splitlines()[0]}): {file}") from error


def _run(session: Any, pixels: NDArray[np.float32], size: Size) -> dict[str, Any]:
    """The named outputs for one picture; a second input is told the picture's size (w, h)."""
    first, *others = session.get_inputs()
    half = first.type == "tensor(float16)"
    feed: dict[str, Any] = {first.name: pixels.astype(np.float16) if half else pixels}
    for other in others:
        feed[other.name] = np.asarray([size], dtype=np.int64)
    outputs = session.get_outputs()
    return dict(zip([output.name for output in outputs], session.run(None, feed), strict=True))


def _input_size(session: Any, side: int | None, file: Path) -> Size:
    """The input's width and height: as exported, or -M size= where the export leaves them open."""
    *_, height, width = session.get_inputs()[0].shape
    if isinstance(height, int) and isinstance(width, int):
        if side is not None and (width, height) != (side, side):
            raise SpecError(f"the model takes {width} x {height} px, size {side} does not fit: {file}")
        return Size(width, height)
    if side is None:
        raise SpecError(f"the model takes any size: say one by -M size=640: {file}")
    return Size(side, side)


def _names_of(file: Path) -> list[str]:
    """Class names, one a line, or a YAML list or mapping (ultralytics' `names`)."""
    import yaml

    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"the class names cannot be read: {error.strerror or error}: {file}") from error
    if file.suffix in {".yaml", ".yml"}:
        found = yaml.safe_load(text)
        found = found.get("names", found) if isinstance(found, Mapping) else found
        return [str(name) for name in (found.values() if isinstance(found, Mapping) else found)]
    return [line.strip() for line in text.splitlines() if line.strip()]


def _noted(notes: Mapping[str, str], file: Path) -> list[str]:
    """The class names that an ultralytics export carries."""
    try:
        found = ast.literal_eval(notes["names"])
        return [str(found[i]) for i in range(len(found))]
    except (KeyError, ValueError, SyntaxError, TypeError) as error:
        raise SpecError(f"the export names no classes: give them by -M classes=FILE (one a line): {file}") from error


def _pair(spec: ModelSpec, folder: Path) -> Scorer:
    """visual.onnx (pictures -> features), textual.onnx (token ids -> features) and tokenizer.json."""
    for file in ("visual.onnx", "textual.onnx", "tokenizer.json"):
        if not (folder / file).is_file():
            raise DataError(
                f"a CLIP pair is visual.onnx, textual.onnx and tokenizer.json; there is no {file}: {folder}"
            )
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise NotInstalledError.of("tokenizers", "hf") from error
    options = Options(spec)
    kind, length = options.text("normalise", "clip"), options.whole("length", 77) or 77
    side, threads = options.whole("size", None), options.whole("threads", 1) or 1
    settings = scorer_settings(options)
    means = {"clip": CLIP_MEAN, "imagenet": IMAGENET, "siglip": ((0.5,) * 3, (0.5,) * 3)}
    if kind not in means:
        raise unknown("normalisation", kind, means)
    visual, textual = _session(folder / "visual.onnx", threads), _session(folder / "textual.onnx", threads)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(length=length)
    layout = Layout("split", mean=means[kind][0], std=means[kind][1])
    size = _input_size(visual, side, folder / "visual.onnx")
    return Scorer(spec, _comparing(visual, textual, tokenizer, layout, size), **settings)


def _comparing(
    visual: Any, textual: Any, tokenizer: Any, layout: Layout, size: Size
) -> Callable[[Sequence[Any], Sequence[str]], NDArray[np.float64]]:
    known: dict[str, NDArray[np.float64]] = {}

    def compare(images: Sequence[Any], texts: Sequence[str]) -> NDArray[np.float64]:
        """Cosines: the temperature that a pair was trained with changes no answer."""
        for text in texts:
            if text not in known:
                ids = np.asarray([tokenizer.encode(text).ids])
                known[text] = _unit(_first(textual, ids))
        seen = np.stack([_unit(_first(visual, frame(_cropped(i, size), layout, size).pixels)) for i in images])
        return np.asarray(seen @ np.stack([known[text] for text in texts]).T)

    return compare


def _cropped(image: Image.Image, size: Size) -> Image.Image:
    """The shorter side at the input's size, the middle of the longer one: CLIP's own preparation."""
    scale = max(size.width / image.width, size.height / image.height)
    width, height = (max(1, round(side * scale)) for side in image.size)
    large = image.resize((width, height), Image.Resampling.BICUBIC)
    left, top = (width - size.width) // 2, (height - size.height) // 2
    return large.crop((left, top, left + size.width, top + size.height))


def _first(session: Any, value: NDArray[Any]) -> NDArray[np.float64]:
    given = session.get_inputs()[0]
    kinds = {"tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(float16)": np.float16}
    value = value.astype(kinds.get(given.type, np.float32))
    return np.asarray(session.run(None, {given.name: value})[0][0], dtype=np.float64)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12))
