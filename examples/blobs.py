"""A model of your own behind a server: it finds blobs of the colours that the boxes of the examples have.

Run:  python examples/blobs.py --port 8123
then  snellen run detect my_data/ -m openai/blobs -M base_url=http://127.0.0.1:8123/v1 -T regime=few-shot ...

All that it knows stands in the prompt (qwen3-vl: boxes in 0..1000), so that it shows what a choice of examples does.
"""

from __future__ import annotations

import argparse
import base64
import io
import itertools
import json
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

SIDE = 250
"""Pictures are looked at in this many pixels a side: four units of the notation each."""

Array = np.ndarray[Any, np.dtype[Any]]


def shown(message: Mapping[str, Any]) -> Array:
    """The last picture of a turn, SIDE x SIDE x 3."""
    url = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"][-1]
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")
    return np.asarray(image.resize((SIDE, SIDE)), dtype=np.float64)


def learn(messages: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[Array]], list[Array], dict[str, list[Array]]]:
    """From the examples: colours inside the boxes of each class, colours outside all boxes, widths and heights."""
    inside: dict[str, list[Array]] = {}
    sizes: dict[str, list[Array]] = {}
    outside = []
    for question, answer in itertools.pairwise(messages):
        if question["role"] != "user" or answer["role"] != "assistant":
            continue
        image, free = shown(question), np.ones((SIDE, SIDE), dtype=bool)
        for item in json.loads(answer["content"]):
            x1, y1, x2, y2 = (round(value * SIDE / 1000) for value in item["bbox_2d"])
            free[y1:y2, x1:x2] = False
            w, h = max(1, (x2 - x1) // 4), max(1, (y2 - y1) // 4)
            middle = image[y1 + h : max(y1 + h + 1, y2 - h), x1 + w : max(x1 + w + 1, x2 - w)]
            inside.setdefault(item["label"], []).append(middle.reshape(-1, 3).mean(axis=0))
            sizes.setdefault(item["label"], []).append(np.array([x2 - x1, y2 - y1]))
        outside.append(np.median(image[free], axis=0))
    return inside, outside, sizes


def answer(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Blobs of each class's colour that are about as large as its boxes in the examples."""
    inside, outside, sizes = learn(messages)
    if not inside:
        return []
    colours = np.stack([np.mean(outside, axis=0), *(np.median(found, axis=0) for found in inside.values())])
    distance = np.square(shown(messages[-1])[:, :, None] - colours).sum(axis=-1)
    nearest = ndimage.median_filter(distance.argmin(axis=-1), size=5)
    said = []
    for number, label in enumerate(inside, 1):
        usual = np.median(np.stack(sizes[label]), axis=0)
        for rows, columns in ndimage.find_objects(ndimage.label(nearest == number)[0]):
            box = np.array([columns.start, rows.start, columns.stop, rows.stop])
            ratio = (box[2:] - box[:2]) / usual
            if (ratio > 0.5).all() and (ratio < 2).all():
                said.append({"bbox_2d": (box * 1000 // SIDE).tolist(), "label": label})
    return said


class Handler(BaseHTTPRequestHandler):
    """Chat completions, and nothing else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": json.dumps(answer(asked["messages"]))}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice]}
        body = json.dumps(whole).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--port", type=int, default=8123)
    with ThreadingHTTPServer(("127.0.0.1", options.parse_args().port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
        server.serve_forever()
