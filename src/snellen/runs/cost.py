"""What a run will cost: requests, tokens, money; and the stop at a budget.

Prices are USD per million tokens: the model's option `price=[input, output]`, else genai-prices by its name.
Tokens of pictures follow published rules per family; they are estimates, what was paid is counted from replies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.core.errors import SpecError
from snellen.core.pictures import Size, fit
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Prompt, Reply, Usage
from snellen.runs.loop import Progress, Stop
from snellen.runs.selection import walk
from snellen.runs.store import Run

LOOKED_AT = 200
CHARACTERS_PER_TOKEN = 4.0
ANSWERS = {"choice": 8, "boxes": 400, "text": 300}
"""Tokens of a usual answer, by what is wanted; never more than the prompt allows."""


@dataclass(frozen=True)
class Price:
    """USD per million tokens, and where that is from."""

    input: float
    output: float
    source: str

    def of(self, usage: Usage) -> float:
        """USD."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


@dataclass(frozen=True)
class Plan:
    """What is to be done. `usage` is expected, `most` has every answer as long as is allowed; `price` None: unknown."""

    requests: int
    usage: Usage
    most: Usage
    price: Price | None

    @property
    def dollars(self) -> float | None:
        """What is expected, USD."""
        return None if self.price is None else self.price.of(self.usage)

    @property
    def most_dollars(self) -> float | None:
        """What it cannot exceed (but for the tokens of pictures, which are estimated), USD."""
        return None if self.price is None else self.price.of(self.most)

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "requests": self.requests,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "most_output_tokens": self.most.output_tokens,
            "dollars": self.dollars,
            "most_dollars": self.most_dollars,
            "price": None if self.price is None else [self.price.input, self.price.output, self.price.source],
        }


def price_of(spec: ModelSpec) -> Price | None:
    """The model's price, or None where nobody knows it (a server of one's own). SpecError for a bad option."""
    given = spec.options.get("price")
    if given is not None:
        if not (isinstance(given, list) and len(given) == 2 and all(isinstance(p, int | float) for p in given)):
            raise SpecError(f"price must be [USD per million tokens in, out], got {given!r}")
        return Price(float(given[0]), float(given[1]), "given")
    if spec.provider != "openai":
        return None
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    url = spec.options.get("base_url")
    per = []
    for usage in (Priced(input_tokens=1000, output_tokens=0), Priced(input_tokens=0, output_tokens=1000)):
        try:
            found = calc_price(usage, spec.name, provider_api_url=str(url) if url else "https://api.openai.com/v1")
        except LookupError:
            return None
        per.append(float(found.total_price) * 1000)
    return Price(per[0], per[1], "genai-prices")


def plan(task: AnyTask, spec: ModelSpec, *, ids: frozenset[str] | None, requests: int, draws: int = 1) -> Plan:
    """The plan for `requests` requests of the selected samples, from up to 200 prompts spread over them."""
    prompts = spread(task, ids, count=max(1, requests // draws))
    pixels = spec.options.get("max_pixels")
    limit = pixels if isinstance(pixels, int) else None
    into, out, most = (
        np.mean(
            [[sum(input_tokens(p, spec, limit)), min(ANSWERS[p.wants], p.max_tokens), p.max_tokens] for p in prompts],
            axis=0,
        )
        if prompts
        else np.zeros(3)
    )
    read = round(float(into) * requests)
    return Plan(
        requests,
        Usage(read, round(float(out) * requests)),
        Usage(read, round(float(most) * requests)),
        price_of(spec),
    )


def budget(run: Run, price: Price | None, dollars: float) -> Stop:
    """Stops where the whole run, requests still out included, has cost `dollars`. SpecError without a price."""
    if price is None:
        raise SpecError("a budget needs the model's price: -M price='[0.5, 1.5]' (USD per million tokens in, out)")
    known = price
    before, count = Usage(), 0
    for _, answer in run.entries():
        if isinstance(answer, Reply) and answer.usage is not None:
            before, count = before + answer.usage, count + 1

    def stop(progress: Progress) -> str:
        spent = known.of(before + progress.usage)
        mean = spent / max(1, count + progress.asked)
        if spent + mean * (progress.waiting + 1) <= dollars:
            return ""
        return f"the budget of {dollars:g} USD is used up ({spent:.4g} spent, {progress.waiting} requests still out)"

    return stop


def spread(task: AnyTask, ids: frozenset[str] | None, *, count: int) -> list[Prompt]:
    """Up to `LOOKED_AT` (twice that at most) of the task's `count` prompts, evenly spread."""
    step = max(1, count // LOOKED_AT)
    every: Iterator[Prompt] = (prompt for sample in walk(task, ids) for prompt in task.prompts(sample))
    return [prompt for i, prompt in enumerate(every) if i % step == 0]


def input_tokens(prompt: Prompt, spec: ModelSpec, max_pixels: int | None) -> tuple[float, float]:
    """Tokens of a prompt's text and of its pictures, each scaled down to `max_pixels`."""
    characters = sum(len(part) for turn in prompt.turns for part in turn.parts if isinstance(part, str))
    tokens = picture_tokens(spec)
    seen = sum(tokens(fit(picture.upright_size(), max_pixels)) for picture in prompt.pictures)
    return characters / CHARACTERS_PER_TOKEN, seen


def _tiles(size: Size) -> float:
    """OpenAI's high detail: into 2,048 px, shorter side to 768, 170 per 512 px tile and 85."""
    scale = min(1.0, 2048 / max(size))
    scale = min(scale, 768 / min(size)) if min(size) * scale > 768 else scale
    return 85 + 170 * math.ceil(size.width * scale / 512) * math.ceil(size.height * scale / 512)


FAMILIES: tuple[tuple[str, Callable[[Size], float]], ...] = (
    ("gpt", _tiles),
    ("claude", lambda size: size.pixels / 750),
    (
        "gemini",
        lambda size: 258 * (1 if max(size) <= 384 else math.ceil(size.width / 768) * math.ceil(size.height / 768)),
    ),
    ("qwen3", lambda size: size.pixels / 32**2),
    ("snellen-tiny", lambda size: size.pixels / 32**2),
    ("", lambda size: size.pixels / 28**2),
)
"""A part of the model's name -> tokens of a picture; the first that fits; the last is for the rest (28 px a token)."""


def picture_tokens(spec: ModelSpec) -> Callable[[Size], float]:
    """How many tokens a picture of a size costs this model, as far as is published."""
    return next(tokens for part, tokens in FAMILIES if part in spec.name.lower())
