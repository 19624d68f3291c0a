"""Which notation explains a model's boxes best, by what margin, and when the replies cannot tell.

The numbers of every reply are decoded under every candidate (order x scale x frame) and held against the known truth
of controlled scenes. A box's agreement is its largest IoU with a truth of its label (any truth, where labels are no
help); a scene's is the mean over its boxes, so that extra boxes lower every candidate alike. A rival is *rejected* when
it is worse than the best in the paired scenes by more than chance allows; the best is *named* when nothing is left but
scales so close to its own that the model's noise hides them (999 and 1000; 1024 for a model of poor aim), or what means
the very same boxes on these pictures (of the padded square where all are square, of an input that is the picture):
`possible`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from snellen.core.boxes import BoxNotation, Order, overlaps
from snellen.core.detections import Detections
from snellen.core.pictures import Size

Float = NDArray[np.float64]
Verdict: TypeAlias = Literal["named", "cannot tell"]

ORDERS: tuple[Order, ...] = ("xyxy", "yxyx", "xywh", "cxcywh")
SCALES: tuple[float, ...] = (1.0, 32.0, 100.0, 999.0, 1000.0, 1024.0)
NEAR = 0.03
"""Scales whose ratio differs from 1 by less than this may stay together (999, 1000, 1024) where noise hides them."""

REJECT = 1e-4
"""One-sided p below which a rival is worse than the best; small, since the best is itself chosen among many."""

FLOOR = 0.25
"""Mean agreement under which the replies are no boxes of these objects at all."""


@dataclass(frozen=True)
class Spoken:
    """What a model said of one scene: `numbers` (n, 4) as written and their labels; what is true; the sizes."""

    numbers: Float
    labels: tuple[str, ...]
    truth: Detections
    size: Size
    input_size: Size | None = None


@dataclass(frozen=True)
class Finding:
    """The candidates by mean agreement, best first, with the p value of each being as good as the best.

    plain: each candidate -> the plainest one that means the same boxes on the pictures that were shown.
    """

    verdict: Verdict
    best: BoxNotation | None
    reason: str
    agreement: Mapping[BoxNotation, float]
    p: Mapping[BoxNotation, float]
    scenes: int
    boxes: int
    plain: Mapping[BoxNotation, BoxNotation] = field(default_factory=dict)

    @property
    def possible(self) -> tuple[BoxNotation, ...]:
        """The candidates that the replies do not reject, best first."""
        return tuple(notation for notation, p in self.p.items() if p >= REJECT)

    @property
    def margin(self) -> float | None:
        """Mean agreement of the best minus that of the best one that is not its equal."""
        if self.best is None:
            return None
        rest = [value for notation, value in self.agreement.items() if not self.alike(notation, self.best)]
        return self.agreement[self.best] - max(rest) if rest else None

    def contradicts(self, declared: BoxNotation) -> bool:
        """Whether the replies speak against `declared`: another is named and this one is rejected."""
        return self.verdict == "named" and self.best is not None and not self.alike(declared, self.best) and (
            self.p.get(declared, 0.0) < REJECT
        )  # fmt: skip

    def alike(self, a: BoxNotation, b: BoxNotation) -> bool:
        """Whether two notations mean nearly the same boxes on the pictures that were shown."""
        return same(self.plain.get(a, a), self.plain.get(b, b))


def candidates(*, input_known: bool) -> tuple[BoxNotation, ...]:
    """All notations that are tried. Pixels of the input only where its size is known."""
    scaled = [BoxNotation(order, scale) for order in ORDERS for scale in SCALES]
    padded = [BoxNotation(order, scale, "square") for order in ORDERS for scale in (1.0, 1000.0)]
    pixels = [BoxNotation(order, None, "picture") for order in ORDERS]
    resized = [BoxNotation(order, None, "input") for order in ORDERS] if input_known else []
    return (*scaled, *padded, *pixels, *resized)


def same(a: BoxNotation, b: BoxNotation) -> bool:
    """Whether two notations mean nearly the same boxes: same order and frame, scales within `NEAR`."""
    if a.order != b.order or (a.scale is None) != (b.scale is None):
        return False
    if a.scale is None or b.scale is None:
        return a.frame == b.frame
    square = ("square" in {a.frame, b.frame}) and a.frame != b.frame
    return not square and abs(a.scale / b.scale - 1) < NEAR


def find_notation(scenes: Sequence[Spoken], *, tried: Sequence[BoxNotation] | None = None) -> Finding:
    """The notation that explains what was said, or "cannot tell" and why."""
    said = [scene for scene in scenes if len(scene.numbers) and len(scene.truth)]
    known = all(scene.input_size is not None for scene in said)
    names = list(dict.fromkeys(tried or candidates(input_known=known)))
    boxes = sum(len(scene.numbers) for scene in said)
    if len(said) < 4:
        return Finding("cannot tell", None, f"{len(said)} of {len(scenes)} replies hold boxes: 4 are needed", {}, {},
                       len(said), boxes)  # fmt: skip
    plain = _plainest(said, names)
    table = np.array([[agreement(scene, notation) for notation in names] for scene in said])
    means = table.mean(axis=0)
    order = np.argsort(-means, kind="stable")
    best = int(order[0])
    p = {names[i]: 1.0 if i == best else worse(table[:, best] - table[:, i]) for i in order}
    agreements = {names[i]: float(means[i]) for i in order}
    finding = Finding("named", names[best], "", agreements, p, len(said), boxes, plain)
    if means[best] < FLOOR:
        reason = f"no notation explains the boxes (best mean agreement {means[best]:.2f}, needed {FLOOR})"
        return replace(finding, verdict="cannot tell", best=None, reason=reason)
    left = [notation for notation in finding.possible if not finding.alike(notation, names[best])]
    if left:
        reason = f"{describe(names[best])} is best, but {describe(left[0])} is not rejected (p = {p[left[0]]:.2g})"
        return replace(finding, verdict="cannot tell", reason=reason)
    return finding


def _plainest(said: Sequence[Spoken], names: Sequence[BoxNotation]) -> dict[BoxNotation, BoxNotation]:
    """Each notation -> the first of `names` under which all numbers are the same boxes."""
    boxes = {
        name: np.concatenate([name.decode(s.numbers, size=s.size, input_size=s.input_size) for s in said])
        for name in names
    }
    return {name: next(other for other in names if np.allclose(boxes[name], boxes[other])) for name in names}


def agreement(scene: Spoken, notation: BoxNotation) -> float:
    """Mean over the boxes said of the largest IoU with a truth of the same label (any, where no label is known)."""
    boxes = notation.decode(scene.numbers, size=scene.size, input_size=scene.input_size)
    values = overlaps(boxes, scene.truth.boxes)
    mine, true = np.array(scene.labels), np.array(scene.truth.labels)
    matching = mine[:, None] == true[None, :]
    helpful = matching.any()
    return float(np.where(matching, values, 0.0).max(axis=1).mean() if helpful else values.max(axis=1).mean())


def worse(differences: Float) -> float:
    """One-sided p that the mean difference (best minus rival, over scenes) is not above 0.

    The larger of a t test and a Wilcoxon signed-rank test: a rival is rejected only where both agree, so that neither
    a few lucky scenes nor a hair's breadth in many suffices.
    """
    if np.allclose(differences, differences[0]):
        return 0.0 if differences[0] > 1e-9 else 1.0
    t = stats.ttest_1samp(differences, 0.0, alternative="greater").pvalue
    ranks = stats.wilcoxon(differences, alternative="greater", method="approx").pvalue
    return float(max(t, ranks))


def describe(notation: BoxNotation) -> str:
    """`xyxy 0..1000`, `yxyx px of the input`."""
    if notation.scale is None:
        return f"{notation.order} px of the {notation.frame}"
    padded = " of the padded square" if notation.frame == "square" else ""
    return f"{notation.order} 0..{notation.scale:g}{padded}"
