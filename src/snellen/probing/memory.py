"""What probes found, kept per machine by the fingerprint of model, prompt and notation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from snellen import __version__
from snellen.core.specs import fingerprint
from snellen.core.stages import Model
from snellen.models.cache import cache_file
from snellen.models.table import identity
from snellen.probing.contradiction import Verdict, probe


def name_of(model: Model, *, prompt: str, notation: str) -> str:
    """The fingerprint under which a probe is kept; another version of Snellen probes anew."""
    where = model.spec.options.get("base_url")
    known = {"model": identity(model.spec), "at": where, "prompt": prompt, "notation": notation, "by": __version__}
    return fingerprint(known)


def folder() -> Path:
    """Where probes lie: beside the cache of replies."""
    return cache_file().parent / "probes"


def recall(model: Model, *, prompt: str, notation: str) -> Verdict | None:
    """What an earlier probe found, or None."""
    try:
        place = folder() / f"{name_of(model, prompt=prompt, notation=notation)}.json"
        found: dict[str, Any] = json.loads(place.read_bytes())
        return Verdict(**{**found, "possible": tuple(found["possible"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def remember(found: Verdict, model: Model) -> None:
    """Keeps what a probe found. Where nothing can be written, the next time probes again."""
    place = folder() / f"{name_of(model, prompt=found.prompt, notation=found.declared)}.json"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found.to_json()), encoding="utf-8")
    except OSError:
        return


def declared_fits(model: Model, *, prompt: str, notation: str) -> Verdict:
    """The probe of `model` under a prompt and its notation: what is remembered, else asked now."""
    found = recall(model, prompt=prompt, notation=notation)
    if found is None:
        found = probe(model, prompt=prompt, notation=notation)
        if found.answered and not found.failed:
            remember(found, model)
    return found
