"""Whether a model can take the prompts of a task at all, worked out before the first request.

What a model can take is declared: its context (the option `context`, tokens), and whether it takes one picture only
(`single_picture`). Tokens are estimates, as in `runs.cost`.
"""

from __future__ import annotations

from dataclasses import dataclass

from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Prompt
from snellen.runs.cost import input_tokens, spread


@dataclass(frozen=True)
class Load:
    """What one prompt takes, in tokens: its text, its pictures, and the longest answer allowed."""

    sample: str
    pictures: int
    text_tokens: int
    picture_tokens: int
    answer: int

    @property
    def tokens(self) -> int:
        """All together."""
        return self.text_tokens + self.picture_tokens + self.answer

    def __str__(self) -> str:
        pictures = f"{self.pictures} picture{'s' if self.pictures != 1 else ''}"
        return (
            f"about {self.tokens:,} tokens ({pictures} {self.picture_tokens:,}, text {self.text_tokens:,}, "
            f"answer up to {self.answer:,})"
        )


def heaviest(task: AnyTask, spec: ModelSpec, *, ids: frozenset[str] | None = None, requests: int = 1) -> Load | None:
    """The prompt that takes most, of up to 200 spread over the `requests`; None of a task without prompts."""
    loads = [load_of(prompt, spec) for prompt in spread(task, ids, count=requests)]
    return max(loads, key=lambda load: load.tokens, default=None)


def load_of(prompt: Prompt, spec: ModelSpec) -> Load:
    """What a prompt takes of this model."""
    limit, most = _whole(spec, "max_pixels"), _whole(spec, "max_tokens")
    text, seen = input_tokens(prompt, spec, limit)
    return Load(prompt.key.sample, len(prompt.pictures), round(text), round(seen), most or prompt.max_tokens)


def check_capacity(
    task: AnyTask,
    spec: ModelSpec,
    *,
    ids: frozenset[str] | None = None,
    requests: int = 1,
    context: int | None = None,
    single_picture: bool | None = None,
) -> None:
    """SpecError where the prompts do not fit the model. `context` and `single_picture` win over the model's options."""
    room = context if context is not None else _whole(spec, "context")
    alone = bool(spec.options.get("single_picture")) if single_picture is None else single_picture
    if room is None and not alone:
        return
    load = heaviest(task, spec, ids=ids, requests=requests)
    if load is None:
        return
    if alone and load.pictures > 1:
        raise SpecError(
            f"{spec} takes one picture a request (single_picture), the prompt about {load.sample!r} has "
            f"{load.pictures}: examples as pictures (few-shot) cannot be given to it"
        )
    if room is not None and load.tokens > room:
        hint = "fewer shots, a smaller max_pixels" if load.pictures > 1 else "a smaller max_pixels"
        raise SpecError(
            f"the prompt about {load.sample!r} takes {load}, the context of {spec} holds {room:,}; "
            f"{hint} or a smaller max_tokens makes it fit"
        )


def _whole(spec: ModelSpec, name: str) -> int | None:
    found = spec.options.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise SpecError(f"option {name} of {spec} must be a whole number of at least 1, got {found!r}")
    return found
