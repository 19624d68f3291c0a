from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from snellen.core.errors import StoreError
from snellen.runs import lease
from snellen.runs.lease import Lease, holder
from snellen.runs.places import LocalPlace


def written(place: LocalPlace, **fields) -> None:
    row = {"token": "t", "host": socket.gethostname(), "pid": os.getpid(), "process": "1", "since": "then",
           "beat": time.time(), **fields}  # fmt: skip
    place.write("lease.json", json.dumps(row).encode())


@pytest.fixture
def place(tmp_path) -> LocalPlace:
    return LocalPlace(tmp_path)


def test_a_lease_is_held_until_it_is_released(place) -> None:
    held = Lease(place)
    held.take()
    assert holder(place)["pid"] == os.getpid()
    with pytest.raises(StoreError, match="is writing to this run"):
        Lease(place).take()
    held.release()
    assert holder(place) is None
    assert not (place.path / "lease.json").exists()


def test_a_lease_of_a_dead_process_of_this_machine_is_free_at_once(place) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    written(place, pid=ended.pid)
    assert holder(place) is None


def test_a_process_that_only_has_the_same_number_holds_nothing(place) -> None:
    written(place, pid=os.getpid(), process="another start time")
    assert holder(place) is None


@pytest.mark.parametrize(("age", "held"), [(0, True), (lease.SILENT_SECONDS + 1, False)])
def test_a_lease_from_elsewhere_lasts_as_long_as_it_is_heard(place, age, held) -> None:
    written(place, host="elsewhere", beat=time.time() - age)
    assert (holder(place) is not None) is held


def test_half_a_lease_is_none(place) -> None:
    place.write("lease.json", b'{"token": ')
    assert holder(place) is None


def test_the_holder_beats_and_ticks(place, monkeypatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.05)
    ticks = []
    held = Lease(place, tick=lambda: ticks.append(1))
    held.take()
    first = holder(place)["beat"]
    time.sleep(0.3)
    assert holder(place)["beat"] > first
    assert ticks
    held.release()


def test_a_lease_that_was_taken_over_is_noticed_and_left_alone(place) -> None:
    held = Lease(place)
    held.take()
    written(place, token="another")
    with pytest.raises(StoreError, match="taken this run over"):
        held.check()
    held.release()
    assert (place.path / "lease.json").exists()


def test_what_goes_wrong_in_the_background_is_heard(place, monkeypatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.05)

    def broken() -> None:
        raise StoreError("the disk is gone")

    held = Lease(place, tick=broken)
    held.take()
    time.sleep(0.2)
    with pytest.raises(StoreError, match="the disk is gone"):
        held.check()
    held.release()
