"""Seconds and CPU per answer of the embedded model, through each path, side by side in one run.

    python benchmarks/embedded.py [--questions 200] [--json FILE]

Paths: `snellen` (embedded/snellen-tiny: server, client, pictures scaled, replies read); `bare client` (the openai
client in a plain loop against the same server, pictures ready); `transformers` (hf/FOLDER with the same weights, where
torch is there). CPU counts this process and the server. Time to first reply is from nothing, imports included.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from snellen.core.specs import ModelSpec
from snellen.core.stages import Prompt, Reply
from snellen.evals.civet import task as civet
from snellen.models import embedded
from snellen.models.table import build


def prompts_of(n: int) -> list[Prompt]:
    """Every 53rd question of the single-object exam: all kinds, places, shapes."""
    task = civet("single-object")
    found: list[Prompt] = []
    for i, sample in enumerate(task.samples):
        if i % 53 == 0:
            found += task.prompts(sample)
        if len(found) >= n:
            break
    return found[:n]


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(name: str, run: Callable[[], int], cpu: Callable[[], float]) -> dict[str, Any]:
    before, started = cpu(), time.perf_counter()
    n = run()
    seconds = time.perf_counter() - started
    return {
        "path": name,
        "answers": n,
        "ms per answer": round(1000 * seconds / n, 2),
        "CPU ms per answer": round(1000 * (cpu() - before) / n, 2),
    }


def through_snellen(model: Any, prompts: Sequence[Prompt]) -> int:
    return sum(isinstance(reply, Reply) for _, reply in model.answer(prompts))


def bare(model: Any, prompts: Iterable[Prompt]) -> Callable[[], int]:
    from openai import OpenAI

    client = OpenAI(base_url=f"{model.server.address}/v1", api_key="none", max_retries=0)
    fitted = [embedded._fitted(prompt, model.tokens) for prompt in prompts]
    bodies = []
    for prompt in fitted:
        url = "data:image/png;base64," + base64.b64encode(prompt.pictures[0].encoded()).decode()
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": prompt.text}]
        bodies.append([{"role": "user", "content": content}])

    def run() -> int:
        for body in bodies:
            client.chat.completions.create(model="x", messages=body, max_tokens=64, temperature=0, logprobs=True)
        return len(bodies)

    return run


FIRST = """
import time; start = time.perf_counter()
from snellen.core.specs import ModelSpec
from snellen.models.table import build
from snellen.evals.civet import task
exam = task("single-object"); sample = next(iter(exam.samples))
model = build(ModelSpec({provider!r}, {name!r}, {{}}))
next(iter(model.answer(exam.prompts(sample))))
print(time.perf_counter() - start)
"""


def first_reply(provider: str, name: str) -> float:
    code = FIRST.format(provider=provider, name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return round(float(done.stdout.strip().splitlines()[-1]), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    prompts = prompts_of(options.questions)
    model = build(ModelSpec.parse("embedded/snellen-tiny"))
    server = model.server

    def both() -> float:
        return own_cpu() + cpu_of(server.process.pid)

    through_snellen(model, prompts[:5])
    rows = [measured("snellen", lambda: through_snellen(model, prompts), both)]
    rows.append(measured("bare client", bare(model, prompts), both))
    rows.append({**measured("snellen, again", lambda: through_snellen(model, prompts), both)})
    model.close()
    rows[0]["first reply s"] = first_reply("embedded", "snellen-tiny")
    if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
        import torch

        torch.set_num_threads(1)
        folder = str(embedded.WEIGHTS / embedded.DEFAULT)
        for size in (1, 8):
            local = build(ModelSpec("hf", folder, {"batch_size": size}))
            through_snellen(local, prompts[:size])
            name = f"transformers, batch {size}"
            rows.append(measured(name, lambda local=local: through_snellen(local, prompts), own_cpu))
        rows[-2]["first reply s"] = first_reply("hf", folder)
    for row in rows:
        print(json.dumps(row))
    snellen, client = (rows[i]["ms per answer"] for i in (0, 1))
    print(json.dumps({"snellen over bare client": round(snellen / client, 3)}))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
