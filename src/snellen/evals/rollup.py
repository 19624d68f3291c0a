"""Many data sets as one benchmark: category scores and All (Roboflow100-VL, section 4; PROTOCOLS section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snellen.core.errors import IncompleteError, SpecError, unknown
from snellen.core.estimates import Estimate
from snellen.statistics.datasets import mean_estimate

RF100_VL: Mapping[str, int] = {
    "Aerial": 11, "Document": 10, "Flora & Fauna": 23, "Industrial": 22, "Medical": 13, "Sports": 6, "Other": 15,
}  # fmt: skip
"""Data sets per super-category of Roboflow100-VL; they reproduce the paper's All columns to rounding."""

RF20_VL: Mapping[str, int] = {
    "Aerial": 2, "Document": 2, "Flora & Fauna": 4, "Industrial": 3, "Medical": 2, "Sports": 2, "Other": 5,
}  # fmt: skip
"""The same of its challenge subset, Roboflow20-VL."""


@dataclass(frozen=True)
class Rollup:
    """Category scores and All. scored: how many data sets stand behind it, of how many there should be."""

    categories: Mapping[str, Estimate]
    all: Estimate
    scored: int
    of: int

    @property
    def complete(self) -> bool:
        """Whether every data set is there."""
        return self.scored == self.of


def roll_up(
    scores: Mapping[str, Estimate],
    categories: Mapping[str, str],
    *,
    expected: Sequence[str] | None = None,
    partial: bool = False,
) -> Rollup:
    """Unweighted means over the data sets: of each category, and of all together.

    scores: data set -> score; one without a value (no predictions) counts 0 and is never dropped. categories: data
    set -> category. expected: all data sets that there should be; IncompleteError where some are missing, unless
    `partial`.
    """
    expected = list(expected if expected is not None else scores)
    strange = [name for name in scores if name not in expected]
    if strange:
        raise unknown("data set", strange[0], expected)
    missing = [name for name in expected if name not in scores]
    if missing and not partial:
        some = ", ".join(missing[:3])
        raise IncompleteError(
            f"{len(missing)} of {len(expected)} data sets are missing ({some}); a score over the others is no score of "
            "the benchmark: --partial prints it as such"
        )
    homeless = [name for name in scores if name not in categories]
    if homeless:
        raise SpecError(f"data set {homeless[0]!r} has no category")
    if not scores:
        raise IncompleteError("no data set is scored")
    groups: dict[str, list[Estimate]] = {}
    for name, score in scores.items():
        groups.setdefault(categories[name], []).append(score)
    found = {category: mean_estimate(group) for category, group in groups.items()}
    return Rollup(found, mean_estimate(list(scores.values())), len(scores), len(expected))


def all_of_categories(values: Mapping[str, float], sizes: Mapping[str, int] = RF100_VL) -> float:
    """All from category scores: the mean over data sets, that is the categories weighted by their sizes."""
    missing = [name for name in sizes if name not in values]
    if missing:
        raise SpecError(f"category {missing[0]!r} has no score; there are: {', '.join(values)}")
    return sum(values[name] * size for name, size in sizes.items()) / sum(sizes.values())
