"""The progress of a run on a terminal: done, rate, time to go, failures, money."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from snellen.runs import loop
    from snellen.runs.cost import Price
    from snellen.runs.store import Run

PLAIN_SECONDS = 30.0


@contextmanager
def watching(here: Run, price: Price | None, *, quiet: bool = False) -> Iterator[loop.Watch | None]:
    """Gives the function that shows progress: a bar on a terminal, else a line on stderr every half minute."""
    if quiet:
        yield None
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(price)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[more]}"))
    with Progress(*columns, console=console, refresh_per_second=4) as bar:
        shown = bar.add_task(here.name, total=here.manifest.requests, more="")

        def watch(state: loop.Progress) -> None:
            bar.update(shown, completed=state.done, more=words(state, price))

        yield watch


def _lines(price: Price | None) -> loop.Watch:
    told = 0.0

    def watch(state: loop.Progress) -> None:
        nonlocal told
        if state.seconds - told >= PLAIN_SECONDS:
            told = state.seconds
            sys.stderr.write(f"{state.done:,} of {state.requests:,}  {words(state, price)}\n")

    return watch


def words(state: loop.Progress, price: Price | None) -> str:
    """`12.3/s  4 min to go  2 failed  0.0312 USD`."""
    found = [f"{state.rate:.3g}/s"]
    if state.remaining is not None:
        found.append(f"{duration(state.remaining)} to go")
    if state.failed:
        found.append(f"{state.failed:,} failed")
    if price is not None:
        found.append(f"{price.of(state.usage):.4g} USD")
    return "  ".join(found)


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
