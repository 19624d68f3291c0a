"""How many answers change when prompts are worked on together, where that is not promised to change none.

    python benchmarks/batching.py [--questions 200] [--boxes 40] [--json FILE]

Greedy, the embedded model's weights, the same questions twice: one at a time, and together. Paths: the embedded server
with several slots (llama.cpp computes them as one batch; with one slot nothing changes), and transformers with batches
in bfloat16 and, for comparison, in float32 (where nothing may change). Boxes count as changed where any letter of the
reply is another. Intervals are Wilson's.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import Prompt, Reply
from snellen.evals.tasks import open_task
from snellen.models import embedded
from snellen.models.table import build
from snellen.statistics.intervals import wilson

TOGETHER = 8
PATHS: Mapping[str, tuple[ModelSpec, Mapping[str, Json], Mapping[str, Json], tuple[str, ...]]] = {
    f"embedded, {TOGETHER} slots": (ModelSpec("embedded", embedded.DEFAULT), {}, {"slots": TOGETHER}, ("xllamacpp",)),
    f"hf, bfloat16, batches of {TOGETHER}": (
        ModelSpec("hf", str(embedded.WEIGHTS / embedded.DEFAULT), {"dtype": "bfloat16", "max_tokens": 200}),
        {"batch_size": 1}, {"batch_size": TOGETHER}, ("torch", "transformers"),
    ),
    f"hf, float32, batches of {TOGETHER}": (
        ModelSpec("hf", str(embedded.WEIGHTS / embedded.DEFAULT), {"dtype": "float32", "max_tokens": 200}),
        {"batch_size": 1}, {"batch_size": TOGETHER}, ("torch", "transformers"),
    ),
}  # fmt: skip
"""What is compared: model, options of one at a time, options of many together, modules that it needs."""


def questions(n: int) -> list[Prompt]:
    """Questions of all kinds, spread over two exams: easy ones, and ones that the model often hesitates about."""
    found: list[Prompt] = []
    for name, every in (("civet/single-object", 53), ("civet/relative-position", 101)):
        task = open_task({"task": name})
        chosen = islice(task.samples, 0, every * (n // 2), every)
        found += [prompt for sample in chosen for prompt in task.prompts(sample)]
    return found


def scenes(n: int) -> list[Prompt]:
    task = open_task({"task": "civet/detection", "scenes": n, "grid": 3, "sizes": ["regular"], "objects": [1, 2, 3]})
    return [prompt for sample in task.samples for prompt in task.prompts(sample)]


def replies(spec: ModelSpec, options: Mapping[str, Json], prompts: Sequence[Prompt]) -> list[str]:
    model = build(ModelSpec(spec.provider, spec.name, {**spec.options, **options}))
    found = dict(model.answer(prompts))
    getattr(model, "close", lambda: None)()
    texts = []
    for prompt in prompts:
        reply = found[prompt.key]
        if not isinstance(reply, Reply):
            raise SystemExit(f"{spec}: no reply to {prompt.key.sample}: {reply}")
        texts.append(reply.text)
    return texts


def rows(asked: Mapping[str, Sequence[Prompt]]) -> list[dict[str, Any]]:
    """A row per path and kind of question."""
    out = []
    for name, (spec, alone, together, needs) in PATHS.items():
        if not all(importlib.util.find_spec(module) for module in needs):
            continue
        prompts = [prompt for each in asked.values() for prompt in each]
        pairs = zip(replies(spec, alone, prompts), replies(spec, together, prompts), strict=True)
        changed = {p.key: a != b for p, (a, b) in zip(prompts, pairs, strict=True)}
        for kind, each in asked.items():
            rate = wilson(sum(changed[p.key] for p in each), len(each))
            out.append({"path": name, "kind": kind, "n": len(each), "changed": sum(changed[p.key] for p in each),
                        "rate": rate.value, "low": rate.low, "high": rate.high})  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--boxes", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = rows({"closed questions": questions(options.questions), "boxes": scenes(options.boxes)})
    print("| path | asked | changed | rate | 95 % interval |\n|---|---|---|---|---|")
    for row in found:
        print(f"| {row['path']} | {row['n']} {row['kind']} | {row['changed']} | {row['rate']:.3f} | "
              f"{row['low']:.3f} to {row['high']:.3f} |")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
