"""Whether figures are Vega-Lite: altair carries its schema, and is asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

from snellen.report.figures import Spec


def check(spec: Spec) -> None:
    """altair's error unless `spec` is valid Vega-Lite."""
    import altair

    altair.Chart.from_dict(spec)


def check_report(folder: Path) -> set[str]:
    """`check` of a figure of each kind that the report in `folder` holds; the kinds: what their names begin with."""
    files = {re.sub(r"-run-\d+$", "", file.name.removesuffix(".vl.json")): file for file in folder.rglob("*.vl.json")}
    for file in files.values():
        check(json.loads(file.read_text()))
    return {name.partition("-")[0] for name in files}
