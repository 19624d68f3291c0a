"""Scoring boxes: Snellen beside pycocotools, faster-coco-eval and bare hotcoco, whole processes, one run.

A COCO file of truth and one of results are made here (seeded): 2,000 pictures, 100 detections and 40 truths each, 6
classes, at most 500 detections per picture and class. Every program is a process of its own that starts from the two
files, or from the same numbers as arrays (what the evaluation costs without the reading): wall and CPU seconds, peak
memory, AP. Rounds alternate; ratios to bare hotcoco are taken within a round, and the median round is shown, so that a
busy machine disturbs all alike (CPU seconds hardly at all). One core each.

    python benchmarks/scoring.py [--rounds 3] [--others PYTHON] [--size rf100vl]

pycocotools and faster-coco-eval run on the interpreter named by --others (a virtual environment that has them); without
it they are left out. `--size rf100vl` scores sets of growing size up to 164,149 pictures with 1.36 million truths: is
time linear, and how many bytes does a box take?
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_HOTCOCO = """
ev = hotcoco.COCOeval(gt, dt, "bbox")
ev.params.max_dets = [1, 10, 100, 500]
ev.evaluate(); ev.accumulate()
p = ev.eval["precision"][:, :, :, 0, -1]
print(p[p > -1].mean())
"""
_PYCOCOTOOLS = """
ev.params.maxDets = [1, 10, 500]
with contextlib.redirect_stdout(io.StringIO()):
    ev.evaluate(); ev.accumulate(); ev.summarize()
print(ev.stats[0])
"""
_TABLES = """
import numpy as np
from snellen.core.detections import BoxTable
a = np.load(arrays)
def table(p, scores=None):
    boxes = np.concatenate([a[p + "box"][:, :2], a[p + "box"][:, :2] + a[p + "box"][:, 2:]], axis=1)
    names, classes = tuple(map(str, range(int(a["images"])))), tuple(f"class {k}" for k in range(int(a["classes"])))
    return BoxTable(names, classes, a[p + "image"], a[p + "label"], boxes, scores)
t, d = table("t"), table("d", a["score"])
"""
_MEASURES = """
from snellen.evals.measures import measure_of
from snellen.scoring.tabulation import tables_of
from snellen.statistics.intervals import bootstrap, point
tables = tables_of(t, d)
measure = measure_of(tables, {})
"""
FROM_ARRAYS = {
    "bare hotcoco": """
import hotcoco, numpy as np
a = np.load(arrays)
images = [{"id": i, "file_name": "", "width": 640, "height": 640} for i in range(int(a["images"]))]
classes = [{"id": k, "name": f"class {k}"} for k in range(int(a["classes"]))]
gt = hotcoco.COCO.from_arrays(images, classes, a["timage"], a["tlabel"], a["tbox"])
dt = gt.load_res(np.column_stack([a["dimage"], a["dbox"], a["score"], a["dlabel"]]))
""" + _HOTCOCO,
    "snellen, AP alone": _TABLES + """
from snellen.scoring.average_precision import point_ap
print(point_ap(t, d).summary["ap"])
""",
    "snellen, all measures": _TABLES + _MEASURES + """
print(point(measure, len(t.images))["ap"].value)
""",
    "snellen, and 1,000 draws": _TABLES + _MEASURES + """
print(bootstrap(measure, tables.outcomes["cluster"], draws=1000, rng=np.random.default_rng(0))["ap"].value)
""",
}  # fmt: skip
FROM_FILES = {
    "bare hotcoco": """
import hotcoco
gt = hotcoco.COCO(truth)
dt = gt.load_res(results)
""" + _HOTCOCO,
    "snellen, AP alone": """
from pathlib import Path
from snellen.datasets.load import load_data
from snellen.datasets.predictions import read_predictions
from snellen.scoring.average_precision import point_ap
data = load_data(Path(truth))
print(point_ap(data.truth, read_predictions(Path(results), data).table).summary["ap"])
""",
    "snellen, all measures": """
from pathlib import Path
from snellen.evals.predictions import score_predictions
print(score_predictions(Path(truth), Path(results), intervals=False).metrics["ap"].value)
""",
    "snellen, and 1,000 draws": """
from pathlib import Path
from snellen.evals.predictions import score_predictions
print(score_predictions(Path(truth), Path(results), draws=1000).metrics["ap"].value)
""",
}  # fmt: skip
OTHERS = {
    "pycocotools": """
import contextlib, io
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
with contextlib.redirect_stdout(io.StringIO()):
    gt = COCO(truth)
    ev = COCOeval(gt, gt.loadRes(results), "bbox")
""" + _PYCOCOTOOLS,
    "faster-coco-eval": """
import contextlib, io
from faster_coco_eval import COCO, COCOeval_faster
with contextlib.redirect_stdout(io.StringIO()):
    gt = COCO(truth)
    ev = COCOeval_faster(gt, gt.loadRes(results), "bbox")
""" + _PYCOCOTOOLS,
}  # fmt: skip


def make(folder: Path, images: int, found: int, truths: int, classes: int) -> dict[str, Path]:
    """The files, and the same numbers as arrays. 60 % of the truths are found, more or less well; the rest is noise."""
    rng = np.random.default_rng(0)

    def boxes(n: int) -> np.ndarray:
        side = np.exp(rng.uniform(np.log(12), np.log(160), n))
        shape = np.sqrt(rng.uniform(0.5, 2.0, n))
        return np.column_stack([rng.uniform(0, 480, (n, 2)), side * shape, side / shape]).round(2)

    truth = boxes(images * truths)
    label = rng.integers(1, classes + 1, len(truth))
    guess, said = boxes(images * found), rng.integers(1, classes + 1, images * found)
    score = rng.beta(1.5, 4, images * found)
    for j in range(int(truths * 0.6)):
        true = truth[j::truths]
        guess[j::found] = (true + rng.normal(0, 0.07, (images, 4)) * true[:, [2, 3, 2, 3]]).round(2)
        guess[j::found, 2:] = np.maximum(guess[j::found, 2:], 1)
        said[j::found], score[j::found] = label[j::truths], rng.beta(4, 2, images)
    places = {name: folder / name for name in ("truth.json", "results.json", "arrays.npz")}
    np.savez(
        places["arrays.npz"], images=images, classes=classes, score=score, tbox=truth, dbox=guess, tlabel=label - 1,
        dlabel=said - 1, timage=np.repeat(np.arange(images), truths), dimage=np.repeat(np.arange(images), found),
    )  # fmt: skip
    with places["truth.json"].open("w") as out:
        rows = zip(truth.tolist(), label.tolist(), strict=True)
        names = [{"id": i, "name": f"class {i}", "supercategory": "thing"} for i in range(1, classes + 1)]
        pictures = [{"id": i + 1, "file_name": f"{i:06}.jpg", "width": 640, "height": 640} for i in range(images)]
        annotations = [
            {"id": i + 1, "image_id": i // truths + 1, "category_id": k, "bbox": box, "area": box[2] * box[3],
             "iscrowd": 0} for i, (box, k) in enumerate(rows)
        ]  # fmt: skip
        json.dump({"categories": names, "images": pictures, "annotations": annotations}, out)
    with places["results.json"].open("w") as out:
        rows = zip(guess.tolist(), said.tolist(), score.tolist(), strict=True)
        json.dump([{"image_id": i // found + 1, "category_id": k, "bbox": box, "score": s}
                   for i, (box, k, s) in enumerate(rows)], out)  # fmt: skip
    return places


def made(*arguments: Any) -> dict[str, Path]:
    """`make` in a process of its own: a child's peak memory counts from that of its parent on, which stays small."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(make, *arguments).result()


class Cost(NamedTuple):
    """What one process took: wall and CPU seconds, peak MB; and the AP that it printed."""

    wall: float
    cpu: float
    peak: float
    ap: float


def timed(python: str, program: str, places: dict[str, Path]) -> Cost:
    """Runs one process on one core; like an installed package, Snellen has its bytecode (from the round before)."""
    code = f"truth, results, arrays = {[str(place) for place in places.values()]}\n" + program
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    started = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | one
    child = subprocess.Popen([python, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, env=environment)
    assert child.stdout is not None
    out = child.stdout.read().decode().split()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise SystemExit(f"a process failed:\n{code}")
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, float(out[-1]))


def beside(rounds: int, others: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = made(Path(folder), 2000, 100, 40, 6)
        print("From arrays in memory:")
        compared({name: (sys.executable, program) for name, program in FROM_ARRAYS.items()}, places, rounds)
        print("From the two JSON files:")
        programs = {name: (sys.executable, program) for name, program in FROM_FILES.items()}
        programs |= {name: (others, program) for name, program in OTHERS.items()} if others else {}
        compared(programs, places, rounds)


def compared(programs: dict[str, tuple[str, str]], places: dict[str, Path], rounds: int) -> None:
    found: dict[str, list[Cost]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, (python, program) in programs.items():
            found[name].append(timed(python, program, places))
    print(f"{'':26}{'wall s':>8}{'x hotcoco':>11}{'CPU s':>8}{'x hotcoco':>11}{'MB':>6}   AP")
    for name, rows in found.items():
        cells = ""
        for part in ("wall", "cpu"):
            own, base = ([getattr(row, part) for row in some] for some in (rows, found["bare hotcoco"]))
            ratio = statistics.median(a / b for a, b in zip(own, base, strict=True))
            cells += f"{statistics.median(own):8.2f}{ratio:11.2f}"
        print(f"{name:26}{cells}{max(row.peak for row in rows):6.0f}   {rows[0].ap:.12f}")
    pairs = list(zip(found["snellen, all measures"], found["snellen, and 1,000 draws"], strict=True))
    wall, cpu = (statistics.median(getattr(b, part) - getattr(a, part) for a, b in pairs) for part in ("wall", "cpu"))
    print(f"1,000 bootstrap draws of all measures: {wall:.1f} s more ({cpu:.1f} s of CPU)")


def growing() -> None:
    """Time and memory at a quarter, a half and the whole of RF100-VL's size; a detection for every truth."""
    print(f"{'pictures':>9}{'boxes':>10}{'wall s':>8}{'CPU s':>8}{'us per box':>12}{'bytes per box':>15}   AP")
    with tempfile.TemporaryDirectory() as folder:
        empty = timed(sys.executable, FROM_FILES["snellen, all measures"], made(Path(folder), 10, 8, 8, 6))
        for images in (41_037, 82_074, 164_149):
            places = made(Path(folder), images, 8, 8, 100)
            cost, boxes = timed(sys.executable, FROM_FILES["snellen, all measures"], places), images * 16
            per = (cost.cpu - empty.cpu) / boxes * 1e6, (cost.peak - empty.peak) * 2**20 / boxes
            print(f"{images:9}{boxes:10}{cost.wall:8.1f}{cost.cpu:8.1f}{per[0]:12.2f}{per[1]:15.0f}   {cost.ap:.6f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--others", default=None)
    parser.add_argument("--size", choices=["benchmark", "rf100vl"], default="benchmark")
    options = parser.parse_args()
    growing() if options.size == "rf100vl" else beside(options.rounds, options.others)
