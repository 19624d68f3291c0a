"""Scenes per second at 672 px on one core, PNG included, beside what Pillow's PNG coding alone does. One run.

python benchmarks/render.py [--seconds 3]
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable

from PIL import Image

from snellen.stimuli.render import paint, render
from snellen.stimuli.single_object import single_object
from snellen.stimuli.worlds import World

WANTED = 860 / 680
"""What flat scenes must reach, over Pillow's palette PNG in the same run."""


def rate(work: Callable[[int], object], seconds: float) -> float:
    """Calls a second of CPU time."""
    for i in range(20):
        work(i)
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for _ in range(20):
            work(done)
            done += 1
    return done / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    seconds = parser.parse_args().seconds
    worlds = single_object().worlds
    kinds = {sheen: [w for w in worlds if w.objects[0].sheen == sheen] for sheen in ("none", "matte", "glossy")}
    many = [World(tuple(w.objects[0] for w in kinds["none"][i : i + 720 : 80])) for i in range(72)]
    images = [Image.fromarray(paint(world)) for world in kinds["none"][:81]]
    palettes = [image.convert("P", palette=Image.Palette.ADAPTIVE, colors=2) for image in images]

    def saved(image: Image.Image) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return buffer.getvalue()

    rows = {
        "Pillow, PNG coding alone, RGB": rate(lambda i: saved(images[i % 81]), seconds),
        "Pillow, PNG coding alone, palette": rate(lambda i: saved(palettes[i % 81]), seconds),
        "Snellen, flat, drawn and coded": rate(lambda i: render(kinds["none"][i % 1944]), seconds),
        "Snellen, matte": rate(lambda i: render(kinds["matte"][i % 1944]), seconds),
        "Snellen, glossy": rate(lambda i: render(kinds["glossy"][i % 1944]), seconds),
        "Snellen, flat, 9 objects": rate(lambda i: render(many[i % 72]), seconds),
    }
    base = rows["Pillow, PNG coding alone, palette"]
    for name, speed in rows.items():
        print(f"{name:36}{speed:10,.0f} scenes/s  {speed / base:6.2f} x Pillow's palette PNG")
    print(
        f"wanted: {WANTED:.2f} x (860 scenes/s, 15 times the authors' generator, where Pillow's palette PNG does 680/s)"
    )


if __name__ == "__main__":
    main()
