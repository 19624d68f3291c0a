"""The lease: one process at a time works on a run. A lease whose holder is dead or silent is free.

On the same machine the holder's process decides (its id and start time), elsewhere its last beat. Even where two
processes slip through, each writes parts of its own and the first success of a key wins: nothing is spoilt.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import orjson

from snellen.core.errors import StoreError
from snellen.runs.places import LocalPlace, Place

NAME = "lease.json"
BEAT_SECONDS = 10.0
SILENT_SECONDS = 90.0


class Lease:
    """Held while a run is written to; `tick`, if given, is called with every beat."""

    def __init__(self, place: Place, *, tick: Callable[[], None] | None = None) -> None:
        self._place = place
        self._tick = tick
        self._token = secrets.token_hex(8)
        self._done = Event()
        self._trouble: Exception | None = None
        self._thread = Thread(target=self._run, name="snellen-lease", daemon=True)

    def take(self) -> None:
        """Takes the lease. StoreError where another process holds it."""
        held = holder(self._place)
        if held is not None:
            raise StoreError(
                f"process {held['pid']} on {held['host']} is writing to this run since {held['since']}: {self._place}"
            )
        self._since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._beat()
        time.sleep(0.02 if isinstance(self._place, LocalPlace) else 0.5)
        self.check()
        self._thread.start()

    def check(self) -> None:
        """StoreError where the lease was lost, or what `tick` raised."""
        if self._trouble is not None:
            raise self._trouble
        found = _read(self._place)
        if found is None or found.get("token") != self._token:
            raise StoreError(f"another process has taken this run over: {self._place}")

    def release(self) -> None:
        """Gives the lease back."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        found = _read(self._place)
        if found is not None and found.get("token") == self._token:
            self._place.remove(NAME)

    def _beat(self) -> None:
        pid = os.getpid()
        row = {
            "token": self._token, "host": socket.gethostname(), "pid": pid, "process": _started(pid),
            "since": self._since, "beat": time.time(),
        }  # fmt: skip
        self._place.write(NAME, orjson.dumps(row))
        self._beaten = time.monotonic()

    def _run(self) -> None:
        while not self._done.wait(BEAT_SECONDS / 10):
            try:
                if self._tick is not None:
                    self._tick()
                if time.monotonic() - self._beaten >= BEAT_SECONDS:
                    self.check()
                    self._beat()
            except Exception as error:  # the loop finds it at its next check
                self._trouble = error
                return


def holder(place: Place) -> dict[str, Any] | None:
    """Who holds the lease (`host`, `pid`, `since`, `beat`), or None."""
    found = _read(place)
    if found is None:
        return None
    if found.get("host") == socket.gethostname():
        started = _started(int(found["pid"]))
        return found if started is not None and started == found.get("process") else None
    return found if time.time() - float(found["beat"]) < SILENT_SECONDS else None


def _read(place: Place) -> dict[str, Any] | None:
    try:
        row: dict[str, Any] = orjson.loads(place.read(NAME))
        return row
    except (FileNotFoundError, orjson.JSONDecodeError):
        return None


def _started(pid: int) -> str | None:
    """When the process `pid` of this machine started, in the kernel's words; None where there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "alive"
    return "alive"
