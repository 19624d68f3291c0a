"""Tokens of a generated answer: where it ends, which text each token adds, how probable it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Recorder:
    """A logits processor that changes nothing and keeps the log-probability of each token chosen.

    Keeping the scores of every step would take gigabytes with a vocabulary of 150,000: a step's distribution is kept
    until the next step shows what was chosen.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._last: Any = None
        self._chosen: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """transformers' call: the ids so far and the scores of the next token."""
        if self._last is not None:
            self._take(input_ids[:, -1])
        self._last = scores.float().log_softmax(-1)
        self.steps += 1
        return scores

    def finish(self, written: Any) -> list[list[float]]:
        """Per answer the log-probability of each token; `written` are the ids (answers, steps)."""
        if self._last is not None:
            self._take(written[:, -1])
            self._last = None
        if not self._chosen:
            return [[] for _ in range(len(written))]
        import torch

        rows: list[list[float]] = torch.stack(self._chosen, dim=1).tolist()
        return rows

    def _take(self, ids: Any) -> None:
        self._chosen.append(self._last.gather(1, ids[:, None])[:, 0].cpu())


def cut(ids: Sequence[int], ends: frozenset[int]) -> tuple[list[int], bool]:
    """The ids before the first end token, and whether there was one."""
    for i, number in enumerate(ids):
        if number in ends:
            return list(ids[:i]), True
    return list(ids), False


def pieces(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """The text that each token adds: their concatenation is the decoded text.

    A token that ends within a character adds nothing; the one that completes it adds it whole.
    """
    found: list[str] = []
    start, read = 0, 0
    for i in range(len(ids)):
        before, whole = _decode(tokenizer, ids[start:read]), _decode(tokenizer, ids[start : i + 1])
        if len(whole) > len(before) and not (whole.endswith("�") and i + 1 < len(ids)):
            found.append(whole[len(before) :])
            start, read = read, i + 1
        else:
            found.append("")
    return found


def _decode(tokenizer: Any, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
