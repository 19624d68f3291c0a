"""Requests per second and CPU per request: Snellen's run loop beside a bare openai-client loop and inspect_ai.

All talk to one loopback server (`loopback.py`) that takes 0.1 s for each answer, 64 requests at once, a PNG of the exam
in each; each client is a fresh process; rounds alternate, and ratios are taken within a round, so that a busy machine
disturbs all alike. Snellen renders its pictures, stores its replies and keeps them through a kill -9 while it does so;
the bare loop is given its messages ready-made and forgets the answers.

Run:  python benchmarks/harness.py [--requests 2000] [--rounds 3] [--inspect-venv DIR]

inspect_ai is installed from the package index into a virtual environment of its own (skip it with --without-inspect).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
TASK = {"task": "civet/single-object", "side": 336}


def measured(work, count: int) -> None:
    """Runs `work`, then prints requests per second and CPU milliseconds per request of this process."""
    cpu, started = time.process_time(), time.perf_counter()
    answered = work()
    seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    assert answered == count, f"{answered} answers to {count} requests"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rate": count / seconds, "cpu_ms": spent / count * 1000, "peak_mib": peak}))


def prompts(count: int):
    from itertools import islice

    from snellen.evals.tasks import open_task

    return islice(open_task(TASK).requests(), count)


def snellen(url: str, count: int, concurrency: int) -> None:
    import openai  # noqa: F401  (the others have it loaded before the clock starts, too)

    from snellen.core.specs import ModelSpec
    from snellen.core.stages import Reply
    from snellen.evals.tasks import open_task
    from snellen.models.table import build
    from snellen.runs.loop import run

    task = open_task(TASK)
    model = build(ModelSpec("openai", "loopback", {"base_url": url, "concurrency": concurrency}))
    with tempfile.TemporaryDirectory() as folder:

        def work() -> int:
            here = run(task, model, Path(folder) / "run", limit=count)
            return sum(isinstance(answer, Reply) for _, answer in here.replies())

        measured(work, count)


def bare(url: str, count: int, concurrency: int) -> None:
    import asyncio

    from openai import AsyncOpenAI, DefaultAioHttpClient

    from snellen.models.chat import messages
    from snellen.models.sending import Prepared

    ready = [(messages(prompt, Prepared())[0], prompt.max_tokens) for prompt in prompts(count)]

    async def main() -> int:
        places = asyncio.Semaphore(concurrency)
        async with AsyncOpenAI(api_key="x", base_url=url, http_client=DefaultAioHttpClient()) as client:

            async def ask(said, most: int) -> str:
                async with places:
                    found = await client.chat.completions.create(
                        model="loopback", messages=said, temperature=0, max_tokens=most
                    )
                return found.choices[0].message.content or ""

            return len(await asyncio.gather(*(ask(said, most) for said, most in ready)))

    measured(lambda: asyncio.run(main()), count)


INSPECT = """
import json, os, resource, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig
folder, url, concurrency = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = json.load(open(folder + "/prompts.json"))
samples = []
for row in rows:
    content = [ContentImage(image=folder + "/" + row["picture"]), ContentText(text=row["text"])]
    samples.append(Sample(input=[ChatMessageUser(content=content)]))
config = GenerateConfig(temperature=0, max_tokens=16, max_connections=concurrency)
task = Task(dataset=MemoryDataset(samples), config=config)
os.environ["OPENAI_API_KEY"] = "x"
cpu, started = time.process_time(), time.perf_counter()
(log,) = eval(task, model="openai/loopback", model_base_url=url, model_args={"responses_api": False}, display="none",
              log_dir=folder + "/logs", max_samples=concurrency, log_level="error", score=False)
seconds, spent = time.perf_counter() - started, time.process_time() - cpu
assert log.status == "success", log.error
print(json.dumps({"rate": len(rows) / seconds, "cpu_ms": spent / len(rows) * 1000,
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def inspect_files(folder: Path, count: int) -> None:
    rows = []
    for i, prompt in enumerate(prompts(count)):
        (folder / f"{i}.png").write_bytes(prompt.pictures[-1].encoded())
        rows.append({"picture": f"{i}.png", "text": prompt.text})
    (folder / "prompts.json").write_text(json.dumps(rows))
    (folder / "bench.py").write_text(INSPECT)


def inspect_python(venv: Path) -> Path:
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "inspect_ai", "openai"], check=True)
    return python


def result(words: list[str]) -> dict[str, float]:
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    if done.returncode:
        raise SystemExit(f"{words[:3]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", default="0.1")
    parser.add_argument("--inspect-venv", type=Path, default=Path("build/inspect-venv"))
    parser.add_argument("--without-inspect", action="store_true")
    parser.add_argument("--client", choices=["snellen", "bare"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        {"snellen": snellen, "bare": bare}[options.client](options.url, options.requests, options.concurrency)
        return
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server = subprocess.Popen([sys.executable, str(HERE / "loopback.py"), "--latency", options.latency], **pipes)
    url = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/v1"
    same = ["--requests", str(options.requests), "--concurrency", str(options.concurrency), "--url", url]
    clients = {name: [sys.executable, __file__, "--client", name, *same] for name in ("bare", "snellen")}
    with tempfile.TemporaryDirectory() as folder:
        if not options.without_inspect:
            python = inspect_python(options.inspect_venv)
            inspect_files(Path(folder), options.requests)
            clients["inspect_ai"] = [str(python), f"{folder}/bench.py", folder, url, str(options.concurrency)]
        rounds = []
        for number in range(options.rounds):
            order = list(clients) if number % 2 == 0 else list(reversed(clients))
            rounds.append({name: result(clients[name]) for name in order})
            print(f"round {number + 1}: " + "  ".join(f"{n} {r['rate']:.0f}/s" for n, r in rounds[-1].items()))
    server.communicate()
    print(f"\n{options.requests} requests, {options.concurrency} at once, {options.latency} s each, medians of rounds")
    print(f"{'':12}{'requests/s':>12}{'CPU ms each':>13}{'peak MiB':>10}{'rate : bare':>13}")
    for name in clients:
        rows = [found[name] for found in rounds]
        ratio = statistics.median(found[name]["rate"] / found["bare"]["rate"] for found in rounds)
        rate, cpu, peak = (statistics.median(row[key] for row in rows) for key in ("rate", "cpu_ms", "peak_mib"))
        print(f"{name:12}{rate:12.0f}{cpu:13.2f}{peak:10.0f}{ratio:13.2f}")


if __name__ == "__main__":
    main()
