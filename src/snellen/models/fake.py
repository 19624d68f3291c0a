"""`fake`: a scripted model, for tests and dry work. The same key gets the same answer, whatever the order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from snellen.core.errors import SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Failed, Key, Prompt, Reply
from snellen.models.chance import draw_of
from snellen.models.table import check_options

Answer: TypeAlias = str | Reply | Failed


@dataclass(frozen=True)
class FakeModel:
    """Answers by `script`: a text, a mapping from sample id to answer, or a function of the prompt."""

    script: str | Mapping[str, Answer] | Callable[[Prompt], Answer]
    spec: ModelSpec = field(default_factory=lambda: ModelSpec("fake", ""))

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """One answer per prompt, in order. A sample that the script does not hold is Failed."""
        for prompt in prompts:
            said = self._said(prompt)
            yield prompt.key, Reply(said) if isinstance(said, str) else said

    def _said(self, prompt: Prompt) -> Answer:
        if isinstance(self.script, str):
            return self.script
        if isinstance(self.script, Mapping):
            return self.script.get(prompt.key.sample, Failed("missing", "the script holds no such sample"))
        return self.script(prompt)


def fake(spec: ModelSpec, task: AnyTask | None = None) -> FakeModel:
    """`fake -M text="red"`, `-M texts='["red","blue"]'` (one chosen per key), `-M fail=0.1` (that share fails)."""
    check_options(spec, known=frozenset({"text", "texts", "fail"}))
    texts = spec.options.get("texts", [spec.options.get("text", "")])
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise SpecError(f"texts must be a list of texts with at least one, got {texts!r}")
    share = spec.options.get("fail", 0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise SpecError(f"fail must be a share from 0 to 1, got {share!r}")
    words = [str(text) for text in texts]

    def script(prompt: Prompt) -> Answer:
        rng = draw_of(prompt.key, seed=0)
        if rng.random() < share:
            return Failed("scripted", "the script says so")
        return words[int(rng.integers(len(words)))]

    return FakeModel(script, spec)
