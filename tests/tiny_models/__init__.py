"""Tiny models in the stock architectures, built on the spot: `folder(name)` makes each once a session."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from tiny_models import detectors, graphs, scorers, speakers

BUILDERS = {
    **{name: build for name, (build, _) in speakers.FAMILIES.items()},
    **detectors.CLOSED,
    **detectors.OPEN,
    "clip": functools.partial(scorers.scorer, kind="clip"),
    "siglip": functools.partial(scorers.scorer, kind="siglip"),
    "yolo-graph": lambda folder: graphs.yolo(folder / "best.onnx", names="{0: 'cat', 1: 'dog'}"),
    "clip-graphs": graphs.pair,
}
"""Name -> what builds it into an empty folder."""


@functools.cache
def folder(name: str) -> Path:
    """The folder of a tiny model, the same one for the whole session."""
    made = Path(tempfile.mkdtemp(prefix=f"tiny-{name}-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    if name in detectors.CLOSED or name in detectors.OPEN:
        import torch

        torch.manual_seed(0)
    BUILDERS[name](made)
    return made
