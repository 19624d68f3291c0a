"""What an import remembers of the files that it read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from snellen.evals.imports import digest


def test_a_folder_of_predictions_is_known_by_the_contents_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    file = tmp_path / "labels" / "1.txt"
    file.write_text("0 .5 .5 .1 .1 .9\n")
    assert digest(file) == hashlib.sha256(file.read_bytes()).hexdigest()
    before = digest(tmp_path)
    assert digest(tmp_path) == before
    file.write_text("0 .5 .5 .1 .1 .8\n")  # as long as before
    changed = digest(tmp_path)
    assert changed != before
    file.rename(tmp_path / "labels" / "2.txt")
    assert digest(tmp_path) not in {before, changed}
