"""What an exam is: worlds, and closed questions about them, in an order that never changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

from snellen.core.pictures import Picture
from snellen.core.stages import Attribute, Choice, Sample
from snellen.stimuli.render import render
from snellen.stimuli.worlds import World, section


@dataclass(frozen=True, slots=True)
class Question:
    """A closed question about a scene: what is asked, the options in canonical order, the true one.

    scene: index of the world. about: index of the object asked about, None where it is about no single one. entity:
    the name that the authors' layout files it under. also: further right options (ties). attributes: what else is known
    beside the factors of the object asked about.
    """

    scene: int
    kind: str
    text: str
    target: str
    options: tuple[str, ...]
    about: int | None = 0
    entity: str = "e1"
    also: frozenset[str] = frozenset()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The name of the sample."""
        return f"{self.scene}/{self.entity}/{self.kind}"


@dataclass(frozen=True, eq=False)
class Exam:
    """Worlds and questions, questions of one scene side by side. `facts`: what the making of it found (ties, ...)."""

    name: str
    worlds: Sequence[World]
    questions: Sequence[Question]
    facts: Mapping[str, int | str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Sample[Choice]]:
        """The questions as samples, the options in canonical order."""
        for question in self.questions:
            yield self.sample(question, question.options)

    def sample(self, question: Question, options: tuple[str, ...]) -> Sample[Choice]:
        """`question` with its options in the order given; its picture is rendered when it is looked at."""
        world = self.worlds[question.scene]
        return Sample(
            id=question.id,
            truth=Choice(question.target, options, question.kind, question.also),
            pictures=(picture(self.name, question.scene, world),),
            attributes={
                **factors(world, question.about),
                **question.attributes,
                "entity": question.entity,
                "text": question.text,
            },
            cluster=str(question.scene),
        )


def picture(exam: str, scene: int, world: World) -> Picture:
    """The picture of a scene, rendered when it is looked at."""
    return Picture(f"{exam}/{scene}.png", partial(_rendered, world), world.size)


def factors(world: World, about: int | None = 0) -> dict[str, Attribute]:
    """The factors of the object asked about, as attributes of a sample; cells count from 0 at the top left."""
    if about is None:
        return {"objects": len(world.objects)}
    thing = world.objects[about]
    found: dict[str, Attribute] = {
        "shape": thing.shape,
        "colour": thing.colour,
        "sheen": thing.sheen,
        "size": thing.size,
        "cell_row": thing.row,
        "cell_col": thing.col,
        "objects": len(world.objects),
    }
    return found | ({"section": section(thing.row, thing.col, world.grid)} if world.grid % 3 == 0 else {})


@lru_cache(maxsize=64)
def _rendered(world: World) -> bytes:
    return render(world)
