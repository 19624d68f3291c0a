"""Which class is taken for which: the confusion matrix of boxes that are in the right place."""

from __future__ import annotations

import numpy as np

from snellen.core.detections import Int
from snellen.core.tables import Tables
from snellen.scoring.grounding import Failures, counted


def confusion(tables: Tables, *, failures: Failures | None = None) -> Int:
    """Truths by predictions: int (classes + 1, classes + 1); the last row is no truth, the last column no prediction.

    Pairs are those of the matching that ignores labels. A prediction with a label outside the taxonomy stands in the
    last column, as if nothing had been said.
    """
    table, k = tables.instances, len(tables.classes)
    there = counted(tables, failures)[2]
    label = np.where(table["label"] < 0, k, table["label"])
    partner = table["partner_any"]
    truth = table["truth"] & there & ~table["crowd"]
    alone = ~table["truth"] & there & table["kept"] & (partner < 0) & ~table["excused_any"]
    met = truth & (partner >= 0)
    met &= np.where(partner >= 0, there[partner], False)
    cells = np.concatenate([
        label[met] * (k + 1) + label[partner[met]],
        label[truth & ~met] * (k + 1) + k,
        k * (k + 1) + label[alone],
    ])  # fmt: skip
    return np.bincount(cells, minlength=(k + 1) ** 2).reshape(k + 1, k + 1)
