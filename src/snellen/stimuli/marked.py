"""YAML whose every value knows its line, so that a mistake in a file is named with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError, SpecError, unknown


@dataclass(frozen=True)
class Marked:
    """A value of a YAML file and where it stands.

    value: a scalar, a list of Marked, or a dict of text to Marked. text: a scalar as it was written (`yes` stays yes).
    """

    value: Any
    line: int
    file: str
    text: str = ""

    @property
    def seen(self) -> str:
        """What stands here, in a few words for a message."""
        if isinstance(self.value, dict):
            return f"a mapping with {', '.join(self.value) or 'nothing'}"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        return repr(self.text) if self.text else "nothing"

    def error(self, message: str | Exception) -> DataError:
        """The error for what stands here."""
        return DataError(f"{message}: {self.file}, line {self.line}")

    def mapping(self, known: Iterable[str], what: str) -> dict[str, Marked]:
        """The fields of a mapping; DataError for another kind of value, or a field that is not known."""
        if not isinstance(self.value, dict):
            raise self.error(f"{what} is a mapping (`field: value`), got {self.seen}")
        names = list(known)
        for name, inner in self.value.items():
            if name not in names:
                raise inner.error(unknown(f"field of {what}", name, names))
        return self.value

    def items(self, what: str) -> list[Marked]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.error(f"{what} is a list, got {self.seen}")
        return self.value

    def number(self, what: str, *, least: int = 0) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < least:
            raise self.error(f"{what} is a whole number from {least}, got {self.seen}")
        return self.value

    def words(self, what: str) -> str:
        """A scalar as it was written; DataError for a list or a mapping, or where nothing stands."""
        if not self.text or isinstance(self.value, list | dict):
            raise self.error(f"{what} is one value, got {self.seen}")
        return self.text

    def one_of(self, known: Iterable[str], what: str) -> str:
        """A word of those known."""
        names = list(known)
        if self.words(what) not in names:
            raise self.error(unknown(what, self.text, names))
        return self.text

    def checked(self) -> _Checked:
        """A context in which a SpecError becomes one with this place."""
        return _Checked(self)


class _Checked:
    def __init__(self, place: Marked) -> None:
        self._place = place

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SpecError):
            raise self._place.error(error) from error


def load(path: Path) -> Marked:
    """The document in a YAML file. DataError where it cannot be read or is no YAML."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text: {path}") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise DataError(f"not YAML ({error.problem}): {path}, line {line}") from error
    if node is None:
        raise DataError(f"the file is empty: {path}")
    return _marked(node, str(path), yaml)


def _marked(node: Any, file: str, yaml: Any) -> Marked:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Marked(dict(_pairs(node, file, yaml)), line, file)
    if isinstance(node, yaml.SequenceNode):
        return Marked([_marked(item, file, yaml) for item in node.value], line, file)
    return Marked(yaml.SafeLoader("").construct_object(node), line, file, str(node.value))


def _pairs(node: Any, file: str, yaml: Any) -> Iterator[tuple[str, Marked]]:
    seen = set()
    for key, value in node.value:
        name = str(key.value)
        if name in seen:
            raise DataError(f"{name!r} stands twice: {file}, line {key.start_mark.line + 1}")
        seen.add(name)
        yield name, replace(_marked(value, file, yaml), line=key.start_mark.line + 1)
