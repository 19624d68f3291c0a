"""The spine: sample -> prompt -> reply -> reading -> outcome. Read this first.

    Task.samples    yields  Sample     pictures, truth, attributes: what is known before any model is asked
    Task.prompts    makes   Prompts    one or more calls per sample (one per class, say), for any kind of model
    Model.answer    yields  Reply      what the model did, verbatim; or Failed: what the world did
    Task.read       makes   Reading    what the replies to one sample mean: a value, or why there is none
    Task.tabulate   makes   Tables     the derived tables, on which every metric, interval and page is computed

Nothing here knows whether the value is an option, boxes, a rating or a text: that is the type parameter. A model
that speaks, a detector, a scorer of options and a person all take the same `Prompt`: each uses what it can
(`turns`, or the last picture and `labels`) and leaves the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from snellen.core.detections import Detections
from snellen.core.pictures import Picture, Size
from snellen.core.specs import Json, ModelSpec
from snellen.core.tables import Tables

T = TypeVar("T")  # the truth of a sample
V = TypeVar("V")  # the value of a reading
Attribute: TypeAlias = str | int | float | bool | None


class Key(NamedTuple):
    """What a reply answers: a call (one prompt of several) about a sample, in one of several draws."""

    sample: str
    call: str = ""
    draw: int = 0


@dataclass(frozen=True)
class Sample(Generic[T]):
    """One unit of an evaluation: what is shown, what is true, and what is known about it.

    `cluster` is the unit that repeats together (the scene behind several questions, the image, the site);
    intervals resample clusters. `attributes` become columns of the outcomes table (factors, cell, lighting).
    """

    id: str
    truth: T
    pictures: tuple[Picture, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    cluster: str = ""


@dataclass(frozen=True)
class Choice:
    """The truth of a closed question: the right option, among which it stood, in the order shown.

    `also` holds further options that count as right (ties).
    """

    target: str
    options: tuple[str, ...]
    question: str = ""
    also: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Turn:
    """One message of a conversation: text and pictures in the order they are shown."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Picture, ...]


@dataclass(frozen=True)
class Prompt:
    """One request. `turns` for models that speak; `labels` (options offered, classes asked for) for those that do not.

    `wants` says what kind of reply is asked for. `template` turns a label into a text for scorers of options.
    `schema` is a JSON schema that servers may enforce.
    """

    key: Key
    turns: tuple[Turn, ...]
    wants: Literal["choice", "boxes", "text"] = "text"
    labels: tuple[str, ...] = ()
    template: str = "a photo of a {label}"
    schema: Mapping[str, Json] | None = None
    max_tokens: int = 256

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All pictures of all turns, in order; the last one is the one asked about."""
        return tuple(part for turn in self.turns for part in turn.parts if isinstance(part, Picture))

    @property
    def text(self) -> str:
        """The text of the last turn."""
        return "\n".join(part for part in self.turns[-1].parts if isinstance(part, str)) if self.turns else ""

    def drawn(self, draw: int) -> Prompt:
        """The same request, as its `draw`-th repetition."""
        return replace(self, key=self.key._replace(draw=draw))


class Token(NamedTuple):
    """A token of a reply and its natural-log probability."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Usage:
    """Tokens that a request cost, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


Finish: TypeAlias = Literal["stop", "length", "refused"]


@dataclass(frozen=True)
class Reply:
    """What a model did with a prompt, verbatim: text or detections, never repaired.

    `sent` are the picture sizes as sent, `seen` the sizes the model really processed, where known (same order as
    `Prompt.pictures`). `option_scores` belong to `Prompt.labels`. `seconds` is the request's latency.
    """

    text: str = ""
    detections: Detections | None = None
    option_scores: tuple[float, ...] | None = None
    finish: Finish = "stop"
    sent: tuple[Size, ...] = ()
    seen: tuple[Size, ...] = ()
    usage: Usage | None = None
    seconds: float | None = None
    tokens: tuple[Token, ...] | None = None
    served_by: str | None = None


@dataclass(frozen=True)
class Failed:
    """What the world did to a request (timeout, 500, cut body). Never cached, never scored as an answer."""

    cause: str
    message: str = ""
    attempts: int = 1
    seconds: float | None = None


class Exchange(NamedTuple):
    """A prompt and the reply to it."""

    prompt: Prompt
    reply: Reply


Status: TypeAlias = Literal["ok", "malformed", "refused", "truncated"]
Salvage: TypeAlias = Literal["intact", "repaired", "truncated"]


@dataclass(frozen=True)
class Reading(Generic[V]):
    """What the replies to one sample mean. `value` is None where they mean nothing that can be scored.

    `salvage` grades how much help the text needed; `reason` says what was wrong; `unread` counts items of a
    readable list that could not be read themselves (a box of three numbers). `words` is the length of the reply's
    text in words, None where it was not counted. `confidence` is how sure of the value the model was, 0 to 1, where
    that is known (boxes have scores of their own).
    """

    value: V | None
    status: Status = "ok"
    salvage: Salvage = "intact"
    reason: str = ""
    unread: int = 0
    words: int | None = None
    confidence: float | None = None


Prompter: TypeAlias = Callable[[Sample[T]], Sequence[Prompt]]
Reader: TypeAlias = Callable[[Sample[T], Sequence[Exchange]], Reading[V]]
Pool: TypeAlias = Callable[[Sequence[Reading[V]]], Sequence[Reading[V]]]
Tabulator: TypeAlias = Callable[[Iterable[tuple[Sample[T], Reading[V]]]], Tables]


class Samples(Protocol[T]):
    """A sized source of samples that can be walked again; pictures are made when they are looked at."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample[T]]: ...


@runtime_checkable
class Indexed(Samples[T], Protocol[T]):
    """Samples of which some can be had by their ids, in order, without making the others."""

    def among(self, ids: Collection[str]) -> Iterator[Sample[T]]:
        """The samples of these ids."""
        ...


@dataclass(frozen=True)
class Task(Generic[T, V]):
    """An evaluation, composed of stages. `spec` is the canonical description from which it can be built again.

    `target`, where there is one, writes the ideal reply to a sample: few-shot examples, the oracle and training
    targets use it, and `read` of it gives the truth back. `pool` makes of the readings of a sample's draws, in order,
    those that count: the one that they voted for, or each of them with scores from the others; without it each draw
    is an observation of its own as it stands. `certificate` says what is balanced among the samples with the ids
    given (None: all); runs store it.
    """

    spec: Mapping[str, Json]
    samples: Samples[T]
    prompts: Prompter[T]
    read: Reader[T, V]
    tabulate: Tabulator[T, V]
    target: Callable[[Sample[T], Prompt], Reply] | None = None
    pool: Pool[V] | None = None
    certificate: Callable[[frozenset[str] | None], Mapping[str, Json]] | None = None

    def requests(self, draws: int = 1) -> Iterator[Prompt]:
        """Every prompt of every sample, each `draws` times, made as they are asked for."""
        for sample in self.samples:
            for prompt in self.prompts(sample):
                for draw in range(draws):
                    yield prompt.drawn(draw)


AnyTask: TypeAlias = Task[Any, Any]


class Model(Protocol):
    """Anything that answers prompts: over HTTP, in process, from a file, or from a person."""

    @property
    def spec(self) -> ModelSpec:
        """The canonical name and options, as stored with a run."""
        ...

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Answers as each is done, in any order; pulls prompts only as fast as it can work on them."""
        ...
