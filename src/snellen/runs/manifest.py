"""The manifest: what a run was made of. Written once, when the run is created; enough to do it again."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from snellen.core.errors import StoreError
from snellen.core.specs import ModelSpec

FORMAT_VERSION = 1
PACKAGES = ("snellen", "numpy", "pillow", "openai", "onnxruntime", "torch", "transformers")


class Selection(BaseModel):
    """Which samples of the task a run asks about: the first `limit`, or `sample` drawn with `seed`; all by default.

    `by` names the attributes that strata are made of (`None`: by question and target where the task has them).
    """

    model_config = ConfigDict(frozen=True)

    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    seed: int = 0
    by: tuple[str, ...] | None = None

    @property
    def everything(self) -> bool:
        """Whether all samples are asked about."""
        return self.limit is None and self.sample is None


class Manifest(BaseModel):
    """What a run was made of.

    task, model: canonical specs, from which both can be built again (keys never stand there). samples, requests: how
    many there are to do. data: SHA-256 of sample ids and truth (`truth`), and of files where the task names them.
    """

    model_config = ConfigDict(frozen=True)

    format_version: int = FORMAT_VERSION
    kind: Literal["run", "import"] = "run"
    task: dict[str, Any]
    model: dict[str, Any]
    draws: int = Field(default=1, ge=1)
    selection: Selection = Selection()
    samples: int
    requests: int
    data: dict[str, str] = Field(default_factory=dict)
    created: str = Field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    versions: dict[str, str] = Field(default_factory=lambda: versions())
    hardware: dict[str, Any] = Field(default_factory=lambda: hardware())
    notes: dict[str, Any] = Field(default_factory=dict)

    @property
    def model_spec(self) -> ModelSpec:
        """The model's spec as a value."""
        return ModelSpec(self.model["provider"], self.model["name"], self.model.get("options", {}))

    @property
    def model_name(self) -> str:
        """`provider/name`."""
        return str(self.model_spec)

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def from_bytes(cls, data: bytes, *, place: str) -> Manifest:
        """The inverse of `to_bytes`. StoreError where it is no manifest, or one of a newer Snellen."""
        try:
            row: Mapping[str, Any] = orjson.loads(data)
            found = row["format_version"]
            if isinstance(found, int) and found > FORMAT_VERSION:
                raise StoreError(
                    f"this run has format version {found}, this Snellen reads up to {FORMAT_VERSION}; "
                    f"update Snellen: {place}"
                )
            return cls.model_validate(row)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise StoreError(f"this is no manifest of a run ({error}): {place}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise StoreError(f"the manifest of this run is damaged ({where}: {first['msg']}): {place}") from error


def versions() -> dict[str, str]:
    """Snellen, Python and the packages that numbers rest on, as installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """The machine: system, processor, processors that may be used, memory in GiB, graphics cards."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found: dict[str, Any] = {
        "system": platform.platform(terse=True),
        "processor": platform.processor() or platform.machine(),
        "processors": count,
    }
    if hasattr(os, "sysconf"):
        found["memory_gib"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    cards = Path("/proc/driver/nvidia/gpus")
    if cards.is_dir():
        found["graphics"] = [
            line.partition(":")[2].strip()
            for card in sorted(cards.iterdir())
            for line in (card / "information").read_text().splitlines()
            if line.startswith("Model")
        ]
    return found
