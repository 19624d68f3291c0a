"""Archives of shared material, unpacked alike by every Python 3.11 (`filter=` came with 3.11.4)."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath


def unpack(archive: Path, to: Path, *, wanted: Callable[[PurePosixPath], bool] = lambda _: True) -> None:
    """Writes the files of `archive` whose path is `wanted` into `to`, which no path in it may leave."""
    with tarfile.open(archive) as held:
        for member in held:
            path = PurePosixPath(member.name)
            if member.isfile() and wanted(path):
                assert not {"..", "/"}.intersection(path.parts), path
                (to / path).parent.mkdir(parents=True, exist_ok=True)
                content = held.extractfile(member)
                assert content is not None
                (to / path).write_bytes(content.read())
