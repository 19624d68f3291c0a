"""`README.dataset.txt` of a Roboflow100-VL set: what the set shows, and the annotators' instructions per class.

    # Overview ... # Object Classes
    ## Class name        (also "## Class 1: name", "## 1. name")
    ### Description ...
    ### Instructions ...

Published sets differ in levels and wording; what cannot be matched is a finding, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import DataError
from snellen.core.labels import normal
from snellen.datasets.classfile import ClassEntry, ClassFile
from snellen.datasets.findings import Finding, several
from snellen.datasets.text import read_text

README = "README.dataset.txt"

_HEADING = re.compile(r"^(#{1,6})\s*(.+?)\s*#*\s*$")
_NUMBERED = re.compile(r"^(?:class\s*)?\d+\s*[.:)\-\u2013]?\s+|^class\s*[:\-]\s*", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"lorem ipsum|\[(?:insert|your|describe|class|todo|add|write|enter|put|fill|replace)\b[^\]]*\]|"
    r"<(?:insert|your|class|description)[^>]*>|\b(?:TODO|TBD|FIXME)\b|placeholder|"
    r"(?:insert|add|write|enter|put) (?:the |a |your )?(?:description|instructions?|text) here|"
    r"provide (?:a |an |the |detailed |specific )*(?:description|instructions?) (?:of|for|on|how)\b|"
    r"introduction to the dataset\. introduce|list all of the classes and provide|"
    r"^\s*(?:\.\.\.|n/?a|none|-|description|instructions?)[.:]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Text that stands where text should be; some of it is the outline that the published instructions were made from."""


@dataclass(frozen=True)
class Section:
    """What the file says about one class; `line` is that of its heading."""

    heading: str
    line: int
    description: str = ""
    instructions: str = ""

    @property
    def name(self) -> str:
        """The heading without its number."""
        return _NUMBERED.sub("", self.heading).strip().strip("`*_\"'").strip() or self.heading


@dataclass(frozen=True)
class Readme:
    """A description of the data set and a section per class."""

    path: Path
    overview: str
    sections: tuple[Section, ...]

    def matched(self, classes: Sequence[str]) -> dict[str, Section]:
        """Class -> its (first) section: by the heading as it stands, else without its number."""
        found: dict[str, Section] = {}
        names = {normal(name): name for name in classes}
        for section in self.sections:
            name = names.get(normal(section.heading)) or names.get(normal(section.name))
            if name is not None:
                found.setdefault(name, section)
        return found

    def class_file(self, classes: Sequence[str]) -> ClassFile:
        """As a class file of these classes."""
        found = self.matched(classes)
        empty = Section("", 0)
        texts = [(name, found.get(name, empty)) for name in classes]
        entries = tuple(ClassEntry(name, description=s.description, instructions=s.instructions) for name, s in texts)
        return ClassFile(entries, overview=self.overview)

    def findings(self, classes: Sequence[str]) -> list[Finding]:
        """Classes without a section or instructions, sections without a class, placeholder text, doubled sections."""
        found = self.matched(classes)
        names = {normal(name) for name in classes}
        others = [s for s in self.sections if not any(s is section for section in found.values())]
        of_class = [s for s in others if {normal(s.heading), normal(s.name)} & names]
        texts = [(s.name, f"{s.description}\n{s.instructions}") for s in self.sections] + [("overview", self.overview)]
        held = [f"{name} ({m.group().strip()!r})" for name, text in texts if (m := _PLACEHOLDER.search(text))]
        silent = [name for name, section in found.items() if not section.instructions]
        strange = [f"{s.heading!r} (line {s.line})" for s in others if s not in of_class]
        return several(
            (
                ("instructions-missing", "warning", [n for n in classes if n not in found], "classes have no section"),
                ("instructions-empty", "warning", silent, "classes have a section without instructions"),
                ("instructions-unknown-class", "warning", strange, "sections are of no class of the data set"),
                ("instructions-doubled", "warning", [s.name for s in of_class], "classes have two sections"),
                ("instructions-placeholder", "warning", held, "sections hold placeholder text"),
            ),
            str(self.path),
        )


def has_instructions(path: Path) -> bool:
    """Whether there is such a file with sections about classes (plain Roboflow exports have one without)."""
    if not path.is_file():
        return False
    try:
        return bool(read_readme(path).sections)
    except DataError:
        return False


def read_readme(path: Path) -> Readme:
    """The file at `path`; without a heading `Object Classes` it has no sections."""
    lines = read_text(path).splitlines()
    headings = [(i, len(m.group(1)), m.group(2)) for i, line in enumerate(lines) if (m := _HEADING.match(line))]
    start = next((k for k, (_, _, text) in enumerate(headings) if normal(text) in {"object classes", "classes"}), None)
    if start is None:
        return Readme(path, "\n".join(lines).strip(), ())
    first, level, _ = headings[start]
    inside = []
    for heading in headings[start + 1 :]:
        if heading[1] <= level and not _NUMBERED.match(heading[2]):
            break
        inside.append(heading)
    end = headings[start + 1 + len(inside)][0] if start + 1 + len(inside) < len(headings) else len(lines)
    return Readme(path, "\n".join(lines[:first]).strip(), tuple(_sections(lines, inside, end)))


def _sections(lines: list[str], headings: list[tuple[int, int, str]], end: int) -> list[Section]:
    """Sections: a heading of the highest level starts a class, deeper ones name its texts."""
    if not headings:
        return []
    top = min(level for _, level, _ in headings)
    stops = [*(i for i, _, _ in headings[1:]), end]
    sections: list[Section] = []
    for (i, level, text), stop in zip(headings, stops, strict=True):
        body = "\n".join(lines[i + 1 : stop]).strip()
        if level == top:
            sections.append(Section(text, i + 1, description=body))
        elif sections:
            sections[-1] = _with(sections[-1], normal(text), body)
    return sections


def _with(section: Section, heading: str, body: str) -> Section:
    description, instructions = section.description, section.instructions
    if "instruction" in heading:
        instructions = "\n".join(filter(None, (instructions, body)))
    else:
        description = "\n".join(filter(None, (description, body)))
    return Section(section.heading, section.line, description, instructions)
