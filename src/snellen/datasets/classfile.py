"""`classes.yaml`: one file that says what the classes are, for prompts, readers and detectors alike.

    classes:
      - name: plastic bottle
        aliases: [PET bottle]
        prompt: transparent plastic bottle      # the name used when asking a detector; default: the name
        description: drinking bottles of clear plastic
        instructions: Box each bottle, also when partly under water.
        rules:                                  # the class's chain; WADE's nine fields, or your own
          primary_cue: neck and cap
          contrastive_rules: [{against: polythene, rule: a bottle keeps its shape}]
    instructions: Do not box reflections.       # what holds for all classes

A class may also be its name alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.labels import ClassIndex
from snellen.datasets.findings import Finding, several

NAME = "classes.yaml"

FIELDS = frozenset({"name", "aliases", "prompt", "description", "instructions", "rules"})


@dataclass(frozen=True)
class ClassEntry:
    """What is known about one class."""

    name: str
    aliases: tuple[str, ...] = ()
    prompt: str = ""
    description: str = ""
    instructions: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked_as(self) -> str:
        """The name used when asking: `prompt`, else the name."""
        return self.prompt or self.name

    def to_plain(self) -> dict[str, Any]:
        """As it stands in the file, without what is empty."""
        whole = {
            "name": self.name, "aliases": list(self.aliases), "prompt": self.prompt, "description": self.description,
            "instructions": self.instructions, "rules": dict(self.rules),
        }  # fmt: skip
        return {key: value for key, value in whole.items() if value}


@dataclass(frozen=True)
class ClassFile:
    """The classes in order, and what holds for all of them (`instructions`, `overview`)."""

    entries: tuple[ClassEntry, ...]
    instructions: str = ""
    overview: str = ""

    def __post_init__(self) -> None:
        self.index()

    @property
    def names(self) -> tuple[str, ...]:
        """The class names, in order."""
        return tuple(entry.name for entry in self.entries)

    def index(self) -> ClassIndex:
        """Finds a class by any spelling or alias. DataError where two classes fall together."""
        return ClassIndex(self.names, aliases={entry.name: entry.aliases for entry in self.entries})

    def __getitem__(self, name: str) -> ClassEntry:
        place = self.index()(name)
        if place < 0:
            raise KeyError(f"no class {name!r}; there are: {', '.join(self.names)}")
        return self.entries[place]

    def findings(self, classes: Sequence[str], *, where: str) -> list[Finding]:
        """Classes of the data set that the file lacks, and the other way round."""
        here, there = self.index(), ClassIndex(classes)
        lacking = [name for name in classes if here(name) < 0]
        strange = [name for name in self.names if there(name) < 0]
        return several(
            (
                ("instructions-missing", "warning", lacking, "classes of the data set are not in the class file"),
                ("instructions-unknown-class", "warning", strange, "classes of the class file are not in the data set"),
            ),
            where,
        )

    def write(self, path: Path) -> None:
        """Writes the file."""
        import yaml

        whole: dict[str, Any] = {"classes": [entry.to_plain() for entry in self.entries]}
        whole |= {k: v for k, v in (("overview", self.overview), ("instructions", self.instructions)) if v}
        path.write_text(yaml.safe_dump(whole, allow_unicode=True, sort_keys=False, width=100), encoding="utf-8")


def read_class_file(path: Path) -> ClassFile:
    """The `classes.yaml` at `path`. DataError with the place where it is not as the module says."""
    whole = read_yaml(path)
    if isinstance(whole, list):
        whole = {"classes": whole}
    if not isinstance(whole, dict) or not isinstance(whole.get("classes"), list):
        raise DataError(f"a class file has a list `classes`: {path}")
    unknown = set(whole) - {"classes", "instructions", "overview"}
    if unknown:
        raise DataError(
            f"a class file has classes, instructions and overview, not {', '.join(sorted(map(str, unknown)))}: {path}"
        )
    entries = tuple(_entry(item, i, path) for i, item in enumerate(whole["classes"]))
    return ClassFile(entries, str(whole.get("instructions") or ""), str(whole.get("overview") or ""))


def read_yaml(path: Path, *, as_text: bool = False) -> Any:
    """The YAML document at `path`; DataError with line and column where it is none.

    as_text: values as they are written, so that a class `no` is not false, nor `1.0` a number.
    """
    import yaml

    try:
        return yaml.load(path.read_bytes(), yaml.BaseLoader if as_text else yaml.SafeLoader)  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"this is no YAML ({' '.join(str(error).split())}): {path}") from error
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error


def _entry(item: Any, place: int, path: Path) -> ClassEntry:
    if isinstance(item, str):
        item = {"name": item}
    if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not item["name"].strip():
        raise DataError(f"class {place} must be a name or have one, got {item!r}: {path}")
    strange = set(item) - FIELDS
    if strange:
        words = ", ".join(sorted(map(str, strange)))
        raise DataError(f"class {item['name']!r} has {words}; known: {', '.join(sorted(FIELDS))}: {path}")
    aliases, rules = item.get("aliases") or [], item.get("rules") or {}
    if not isinstance(aliases, list) or not isinstance(rules, dict):
        raise DataError(f"aliases must be a list and rules a mapping, of class {item['name']!r}: {path}")
    texts = {key: str(item.get(key) or "").strip() for key in ("prompt", "description", "instructions")}
    return ClassEntry(item["name"], tuple(map(str, aliases)), rules=rules, **texts)


def of_names(names: Sequence[str]) -> ClassFile:
    """A class file of bare names."""
    return ClassFile(tuple(ClassEntry(name) for name in names))
