"""What an importer makes of a file of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from snellen.core.stages import AnyTask, Key, Reply


class Imported(NamedTuple):
    """Answers that are there already, as a task and the replies to it.

    facts: plain JSON that the run keeps of the import (how references were read, what could not be placed).
    draws: replies per sample.
    """

    task: AnyTask
    replies: Iterable[tuple[Key, Reply]]
    facts: Mapping[str, Any]
    draws: int = 1
