"""Which pictures of the training part are shown as examples: some drawn at random, or a K-shot split of it."""

from __future__ import annotations

from snellen.core.errors import SpecError
from snellen.core.specs import Json
from snellen.datasets.dataset import Dataset
from snellen.datasets.fewshot import few_shot

SHOTS = 2
"""Pictures that are shown unless told otherwise."""


def shown_of(
    source: Dataset, *, shots: int | None, k: int | None, candidates: int | None, seed: int
) -> tuple[Dataset, int, dict[str, Json]]:
    """The data from which examples are drawn, how many of them, and what a task's spec keeps of that.

    k: instead of `shots` pictures a split with `k` boxes of each class by Roboflow100-VL's rule, shown whole: of
    `candidates` random ones (default: `k`; 1 is a random split) the one with the largest boxes, class by class.
    """
    if k is None:
        if candidates is not None:
            raise SpecError("shots_candidates are splits with shots_k boxes of each class, and there is no shots_k")
        number = SHOTS if shots is None else shots
        return source, number, {"shots": number}
    if shots is not None:
        raise SpecError(f"examples are shots pictures or shots_k boxes of each class, got {shots} and {k}")
    made = few_shot(source, k, candidates=candidates, seed=seed)
    return made.dataset, len(made.dataset), {"shots_k": k, "shots_candidates": made.candidates}
