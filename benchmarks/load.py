"""Loading a data set of Roboflow100-VL's whole size: 164,149 images, 1.36 million boxes, in one COCO file.

The file is made here (seeded). Each reader runs in a process of its own: seconds and peak memory, side by side.

    python benchmarks/load.py [--images 164149] [--boxes 1360000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SNELLEN = """
from snellen.datasets.load import load_data
data = load_data(path)
print(len(data), len(data.truth))
"""
ORJSON = """
import orjson
from pathlib import Path
whole = orjson.loads(Path(path).read_bytes())
print(len(whole["images"]), len(whole["annotations"]))
"""
PYCOCOTOOLS = """
import contextlib, io
from pycocotools.coco import COCO
with contextlib.redirect_stdout(io.StringIO()):
    coco = COCO(path)
print(len(coco.imgs), len(coco.anns))
"""
READERS = {"snellen load_data": SNELLEN, "orjson, parsed whole": ORJSON, "pycocotools COCO()": PYCOCOTOOLS}


def make(path: Path, images: int, boxes: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as out:
        out.write('{"info": {}, "licenses": [], "categories": ')
        out.write(json.dumps([{"id": i, "name": f"class {i}", "supercategory": "things"} for i in range(1, 565)]))
        out.write(', "images": [')
        names = (
            f'{{"id": {i}, "license": 1, "file_name": "picture_{i:07}_jpg.rf.{i * 2654435761 % 2**64:016x}.jpg", '
            f'"height": 640, "width": 640, "date_captured": "2025-01-01T00:00:00+00:00"}}'
            for i in range(images)
        )
        out.write(", ".join(names) + '], "annotations": [')
        image = rng.integers(images, size=boxes).tolist()
        label = rng.integers(1, 565, size=boxes).tolist()
        corners = rng.integers(0, 500, size=(boxes, 2)).tolist()
        sides = rng.integers(1, 14000, size=(boxes, 2)) / 100
        for start in range(0, boxes, 10_000):
            rows = range(start, min(start + 10_000, boxes))
            text = ", ".join(
                f'{{"id": {i + 1}, "image_id": {image[i]}, "category_id": {label[i]}, "bbox": [{corners[i][0]}, '
                f'{corners[i][1]}, {sides[i, 0]}, {sides[i, 1]}], "area": {sides[i, 0] * sides[i, 1]:.3f}, '
                f'"segmentation": [], "iscrowd": 0}}'
                for i in rows
            )
            out.write(("" if start == 0 else ", ") + text)
        out.write("]}")


def run(name: str, code: str, path: Path) -> None:
    script = f"import resource, time\npath = {str(path)!r}\nstart = time.perf_counter()\n{code}"
    script += (
        "\nprint(time.perf_counter() - start, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if out.returncode:
        print(f"{name:24} failed: {out.stderr.strip().splitlines()[-1]}")
        return
    counts, figures = out.stdout.strip().splitlines()
    seconds, busy, peak = map(float, figures.split())
    print(
        f"{name:24} {seconds:6.1f} s   {busy:5.1f} s of CPU   {peak / 1024:7.0f} MB peak   images and boxes: {counts}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=164_149)
    parser.add_argument("--boxes", type=int, default=1_360_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.json"
        start = time.perf_counter()
        make(path, options.images, options.boxes)
        print(f"made {path.stat().st_size / 2**20:.0f} MB in {time.perf_counter() - start:.0f} s")
        for name, code in READERS.items():
            run(name, code, path)
    print(f"(this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB)")


if __name__ == "__main__":
    main()
