"""One picture of the user's in one cell: its category and its place (CIVET, section 4.1, Single Object w. COCO)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.single_object import PLACES
from snellen.stimuli.worlds import Object, World, scale_of, section

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp"})


def single_image(*, images: str | Mapping[str, str], side: int = 1344, size: str = "regular") -> Exam:
    """Each category in each of 81 cells: 243 scenes for three (the paper's are giraffe, elephant and zebra).

    images: category -> picture file, or a folder of pictures named after their category.
    """
    files = categories(images)
    worlds = [
        World((Object(name, "", row, col, scale=scale_of(size), image=str(path)),), side=side)
        for (name, path), row, col in product(files.items(), range(9), range(9))
    ]
    asked = []
    for scene, world in enumerate(worlds):
        thing = world.objects[0]
        asked += [
            Question(scene, "category", "What is the category of the object?", thing.shape, tuple(files)),
            Question(scene, "position", f"Where is the {thing.shape}?", section(thing.row, thing.col), PLACES),
        ]
    return Exam("single-object-image", worlds, asked, {name: _digest(path) for name, path in files.items()})


def categories(images: str | Mapping[str, str]) -> dict[str, Path]:
    """Category -> file, sorted by category. SpecError for fewer than two; DataError for a missing folder or file."""
    if isinstance(images, str):
        folder = Path(images)
        if not folder.is_dir():
            raise DataError(f"a folder of pictures named after their category is needed, got {images}")
        found = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES}
    else:
        found = {name: Path(images[name]) for name in sorted(images)}
    if len(found) < 2:
        raise SpecError(f"a question needs at least two categories, got {len(found)}: {', '.join(found) or 'none'}")
    return found


def _digest(path: Path) -> str:
    return Picture.from_file(path).sha256()
