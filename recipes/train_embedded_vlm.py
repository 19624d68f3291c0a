"""Trains the embedded VLM from nothing on Snellen's kind of pictures, on one CPU thread; writes its folder and GGUF.

    python recipes/train_embedded_vlm.py out/                          resumes where it was stopped
    python recipes/train_embedded_vlm.py out/ --seed 1 --export src/snellen/models/weights/snellen-tiny

First it learns to see, in crowded pictures without a word: each picture token is asked for the object whose centre it
holds (shape, colour, sheen, box); the head for that question is thrown away. Then the eye stands still and the speaker
learns to answer: about single objects, then about one of two or three, then about everything. Matrices inside the
network learn by Muon, all else by AdamW; in both parts the rate stays level and falls to nothing over the last steps.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import embedded_model
import embedded_questions
import embedded_scenes
import embedded_training
import torch
from embedded_model import PATCH, TOKEN_PX, Shape
from embedded_questions import Question
from embedded_scenes import SHEENS, Scene
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from transformers import PreTrainedTokenizerFast

from snellen.models.embedded import TOKENS
from snellen.stimuli.worlds import COLOURS, SHAPES

SQUARE = (320, 320)
"""Size of all pictures, px. Ten picture tokens a side: the first digit of a coordinate is the token's column or row,
the second its place inside. With eight a side 3,000 pictures taught less of the second digit than 600 do with ten.
"""

LESSONS: tuple[tuple[int, dict[str, int]], ...] = (
    (400, {"single": 1}),
    (300, {"single": 1, "pair": 3}),
    (10**9, {"single": 3, "pair": 5, "related": 6, "three": 3, "several": 4, "many": 10}),
)
"""Steps of questions, and how often each kind of scene comes in them. The second lesson teaches the speaker to look at
the thing that was asked for, in 200 steps; 1,300 steps of the third without it did not.
"""

BUCKETS = (48, 72, 112, 10_000)
"""Rows of about the same length, in tokens, are computed together."""

BOXES = frozenset({"ground", "refer"})
"""Tasks that are answered by boxes."""

UNITS = 0.1
"""Weight of the last digit of a coordinate: it is finer than the eye, and its noise drowns the digits before it."""


class Learner:
    """The network, its tokenizer, the dense head, and the optimiser."""

    def __init__(self, seed: int, rate: float, words: Any = None) -> None:
        rng = random.Random(seed)
        kinds = list(embedded_scenes.SCENES)
        made = [embedded_questions.made(rng, rng.choice(kinds), SQUARE) for _ in range(3000)]
        corpus = [text for _, questions in made for q in questions for text in (q.text, q.answer)]
        shape = Shape()
        self.words = words or embedded_model.tokenizer(corpus, shape.vocabulary)
        self.model = embedded_model.build(self.words, shape, seed=seed)
        self.lean = embedded_training.Lean(self.model)
        self.dense = nn.Linear(shape.hidden, 1 + len(SHAPES) + len(COLOURS) + len(SHEENS) + 4 + 1 + 4 * 20)
        encode = lru_cache(200_000)(lambda text: tuple(self.words(text, add_special_tokens=False).input_ids))
        self.encode = encode
        self.digits = torch.tensor([encode(str(k))[0] for k in range(10)])
        self.before = torch.tensor(encode("<|im_start|>user\n<|vision_start|>"))
        self.after = torch.tensor(encode("<|vision_end|>"))
        weights = [*self.model.parameters(), *self.dense.parameters()]
        blocks = (
            self.model.model.visual.blocks,
            self.model.model.visual.merger,
            self.model.model.language_model.layers,
        )
        inner = [p for part in blocks for p in part.parameters() if p.ndim == 2]
        known = {id(p) for p in inner}
        outer = [p for p in weights if id(p) not in known]
        self.weights = weights
        self.optimisers = (
            embedded_training.Muon(inner),
            torch.optim.AdamW(outer, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
        )
        self.step = 0
        self.seconds = 0.0

    def item(self, picture: int, question: Question) -> tuple[int, Sequence[int], Sequence[int]]:
        """A question as ids: what is read, and what is to be answered."""
        asked = self.encode(question.text) + self.encode("<|im_end|>\n<|im_start|>assistant\n")
        return picture, asked, self.encode(question.answer) + self.encode("<|im_end|>")

    def forward(self, scenes: Sequence[Scene], asked: Sequence[Sequence[Question]]) -> dict[str, Any]:
        """Per bucket the logits, labels and the questions they belong to."""
        size = scenes[0].size
        grid = (size[1] // PATCH, size[0] // PATCH)
        with torch.no_grad():
            seen = self.lean.see(embedded_training.patches_of([embedded_scenes.draw(s) for s in scenes]), grid)
        kept, position = self.lean.read(seen, grid, before=self.before, after=self.after)
        out: dict[str, Any] = {"buckets": []}
        rows = [(q, self.item(i, q)) for i, questions in enumerate(asked) for q in questions]
        for low, high in zip((0, *BUCKETS), BUCKETS, strict=False):
            chosen = [(q, item) for q, item in rows if low < len(item[1]) + len(item[2]) <= high]
            if not chosen:
                continue
            batch = embedded_training.rows_of([item for _, item in chosen], pad=0)
            hidden = self.lean.answer(kept, position, batch)
            row = torch.repeat_interleave(torch.arange(len(chosen)), (batch.labels >= 0).sum(1))
            boxes = torch.tensor([q.task in BOXES for q, _ in chosen])
            out["buckets"].append(
                {
                    "questions": [q for q, _ in chosen],
                    "logits": self.lean.head(hidden),
                    "labels": batch.labels[batch.labels >= 0],
                    "row": row,
                    "boxes": boxes[row],
                }
            )
        return out

    def dense_loss(self, seen: Tensor, scenes: Sequence[Scene]) -> Tensor:
        """What the token that holds an object's centre says of it; whether a token holds one; empty tokens look alike.

        Two things matter to the language model. Among tokens that are empty and all different it does not find the one
        that is not for thousands of steps. And it reads the digits of a coordinate only where they stand as digits:
        the box is asked for as four numbers and as their hundreds and tens. The side is asked for as its logarithm.
        """
        width, height = scenes[0].size
        columns = width // TOKEN_PX
        there = torch.zeros(seen.shape[:2])
        empty = torch.ones(seen.shape[0], height // TOKEN_PX, columns, dtype=torch.bool)
        where, kinds, boxes, sides = [], [], [], []
        for i, scene in enumerate(scenes):
            for t in scene.things:
                left, top, right, bottom = (max(0, int(v)) // TOKEN_PX for v in scene.box(t))
                empty[i, top : bottom + 1, left : right + 1] = False
                token = int(t.y * height) // TOKEN_PX * columns + int(t.x * width) // TOKEN_PX
                if not there[i, token]:
                    there[i, token] = 1
                    where.append((i, token))
                    kinds.append((SHAPES.index(t.shape), list(COLOURS).index(t.colour), SHEENS.index(t.sheen)))
                    boxes.append([v / side for v, side in zip(scene.box(t), (width, height) * 2, strict=True)])
                    sides.append(math.log2(t.side))
        said = self.dense(seen)
        loss = 3 * F.binary_cross_entropy_with_logits(said[..., 0], there)
        loss = loss + (seen[empty.flatten(1)] - 1).square().mean()
        if where:
            rows, tokens = torch.tensor(where).T
            parts = said[rows, tokens, 1:].split([len(SHAPES), len(COLOURS), len(SHEENS), 4, 1, 40, 40], 1)
            shape, colour, sheen, box, side, hundreds, tens = parts
            kind = torch.tensor(kinds)
            for part, truth in zip((shape, colour, sheen), kind.T, strict=True):
                loss = loss + 0.3 * F.cross_entropy(part, truth)
            truth = torch.tensor(boxes)
            loss = loss + 20 * F.l1_loss(box, truth) + 0.3 * F.l1_loss(side[:, 0], torch.tensor(sides))
            written = (1000 * truth).round().long().clamp(0, 999).flatten()
            for digits, digit in ((hundreds, written // 100), (tens, written // 10 % 10)):
                loss = loss + 0.4 * F.cross_entropy(digits.unflatten(1, (4, 10)).flatten(0, 1), digit)
        return loss

    def look(self, scenes: Sequence[Scene], *, rate: float) -> dict[str, float]:
        """One step of seeing alone."""
        self.model.train()
        width, height = scenes[0].size
        pictures = embedded_training.patches_of([embedded_scenes.draw(scene) for scene in scenes])
        seen = self.lean.see(pictures, (height // PATCH, width // PATCH))
        loss = self.dense_loss(seen, scenes)
        self._descend(loss, rate)
        return {"dense": loss.item()}

    def _descend(self, loss: Tensor, rate: float) -> None:
        loss.backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.step += 1

    def learn(self, scenes: Sequence[Scene], asked: Sequence[Sequence[Question]], *, rate: float) -> dict[str, float]:
        """One step of answering, the eye standing still; the losses by name."""
        self.model.train()
        out = self.forward(scenes, asked)
        every = torch.cat([F.cross_entropy(b["logits"], b["labels"], reduction="none") for b in out["buckets"]])
        boxes = torch.cat([b["boxes"] for b in out["buckets"]])
        digit = torch.isin(torch.cat([b["labels"] for b in out["buckets"]]), self.digits)
        weight = torch.where(digit & ~digit.roll(-1), UNITS, 1.0)[boxes]
        closed = sum(q.task not in BOXES for questions in asked for q in questions)
        losses = {
            "closed": every[~boxes].sum() / max(1, closed),
            "boxes": (every[boxes] * weight).sum() / weight.sum().clamp(min=1),
        }
        self._descend(losses["closed"] + 4 * losses["boxes"], rate)
        return {name: loss.item() for name, loss in losses.items()}

    @torch.no_grad()
    def examine(self, seed: int, batches: int = 5) -> dict[str, str]:
        """Held-out scenes: per task the part of answers right in every token (teacher forcing)."""
        self.model.eval()
        rng = random.Random(seed)
        right: dict[str, list[bool]] = defaultdict(list)
        kinds = list(LESSONS[-1][1])
        for i in range(batches):
            made = [embedded_questions.made(rng, kinds[i % len(kinds)], SQUARE) for _ in range(8)]
            out = self.forward([s for s, _ in made], [q for _, q in made])
            for bucket in out["buckets"]:
                hit = bucket["logits"].argmax(-1) == bucket["labels"]
                wrong = torch.zeros(len(bucket["questions"])).index_add(0, bucket["row"], (~hit).float())
                for q, w in zip(bucket["questions"], wrong, strict=True):
                    right[q.task].append(float(w) == 0)
                right["box tokens"] += hit[bucket["boxes"]].tolist()
        return {task: f"{sum(hits) / len(hits):.3f}" for task, hits in sorted(right.items())}

    def save(self, path: Path) -> None:
        """A checkpoint from which training goes on."""
        state = {
            "model": self.model.state_dict(),
            "dense": self.dense.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "step": self.step,
            "seconds": self.seconds,
        }
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)

    def load(self, path: Path) -> None:
        """Takes up a checkpoint."""
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.dense.load_state_dict(state["dense"])
        for optimiser, held in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(held)
        self.step, self.seconds = state["step"], state["seconds"]


def crowds(step: int, *, seed: int, pictures: int) -> list[Scene]:
    """The pictures of a step of seeing: one single object, the others crowds."""
    rng = random.Random(f"{seed}/{step}")
    return [(embedded_scenes.single if i == 0 else embedded_scenes.crowd)(rng, SQUARE) for i in range(pictures)]


def batch(step: int, *, mix: Mapping[str, int], seed: int, pictures: int) -> tuple[list[Scene], list[list[Question]]]:
    """The pictures and questions of a step; a function of the step and the seed alone."""
    rng = random.Random(f"{seed}/{step}")
    kinds = rng.choices(list(mix), list(mix.values()), k=pictures)
    made = [embedded_questions.made(rng, kind, SQUARE) for kind in kinds]
    return [scene for scene, _ in made], [questions for _, questions in made]


def lesson(step: int) -> tuple[dict[str, int], bool]:
    """How often each kind of scene comes at a step of questions, and whether it is the last lesson."""
    for steps, mix in LESSONS[:-1]:
        if step < steps:
            return mix, False
        step -= steps
    return LESSONS[-1][1], True


def rate_at(step: int, *, steps: int, top: float, cooldown: float) -> float:
    """Up over 100 steps, level, and down to a hundredth over the last `cooldown` of the `steps` of a part."""
    left = (steps - step) / max(1, cooldown * steps)
    return top * min(1.0, (step + 1) / 100, max(left, 0.01))


def train(learner: Learner, out: Path, options: argparse.Namespace) -> None:
    """The loop: learns, tells, saves."""
    log = (out / "log.jsonl").open("a")
    started, told = time.monotonic() - learner.seconds, time.monotonic()
    sums: dict[str, list[float]] = defaultdict(list)
    while learner.step < options.steps:
        step = learner.step
        seeing = step < options.seeing
        start, end = (0, options.seeing) if seeing else (options.seeing, options.steps)
        mix, last = lesson(step - start)
        top = options.rate if seeing or not last else options.rate / 2
        rate = rate_at(step - start, steps=end - start, top=top, cooldown=options.cooldown)
        if seeing:
            losses = learner.look(crowds(step, seed=options.seed, pictures=options.pictures), rate=rate)
        else:
            scenes, asked = batch(step, mix=mix, seed=options.seed, pictures=options.asked)
            losses = learner.learn(scenes, asked, rate=rate)
        for name, loss in losses.items():
            sums[name].append(loss)
        learner.seconds = time.monotonic() - started
        if learner.step % options.tell == 0 or learner.step == options.steps:
            line: dict[str, Any] = {"step": learner.step, "s": round(learner.seconds), "rate": round(rate, 6)}
            line |= {name: round(sum(values) / len(values), 4) for name, values in sums.items()}
            line["s/step"] = round((time.monotonic() - told) / len(next(iter(sums.values()))), 3)
            if learner.step % (10 * options.tell) == 0 or learner.step == options.steps:
                if learner.step > options.seeing:
                    line["right"] = learner.examine(seed=1_000_003)
                learner.save(out / "last.pt")
            print(json.dumps(line), file=log, flush=True)
            told = time.monotonic()
            sums.clear()


def export(learner: Learner, folder: Path, options: argparse.Namespace) -> None:
    """The transformers folder (float16) with the two GGUF files and a note of how it came to be."""
    from snellen.models.gguf import export_qwen3vl

    embedded_model.save(learner.model, learner.words, folder, tokens=(4, TOKENS))
    export_qwen3vl(folder, folder / "model.gguf", folder / "mmproj.gguf")
    note = {
        "shape": asdict(Shape()),
        "parameters": sum(p.numel() for p in learner.model.parameters()),
        "steps": learner.step,
        "pictures": options.seeing * options.pictures + (learner.step - options.seeing) * options.asked,
        "seed": options.seed,
        "seconds": round(learner.seconds),
        "torch": torch.__version__,
    }
    (folder / "training.json").write_text(json.dumps(note, indent=1) + "\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder for the checkpoint and the log")
    parser.add_argument("--steps", type=int, default=6600)
    parser.add_argument("--seeing", type=int, default=1700, help="steps of crowded pictures without words")
    parser.add_argument("--pictures", type=int, default=5, help="pictures per step of seeing")
    parser.add_argument("--asked", type=int, default=5, help="pictures per step with questions")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--cooldown", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tell", type=int, default=50, help="steps between lines of the log")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--export", type=Path, help="write the model there when all steps are done")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    known = options.out / "words"
    words = PreTrainedTokenizerFast.from_pretrained(known) if known.exists() else None
    learner = Learner(options.seed, options.rate, words)
    learner.words.save_pretrained(known)
    if (options.out / "last.pt").exists():
        learner.load(options.out / "last.pt")
    train(learner, options.out, options)
    if options.export:
        export(learner, options.export, options)


if __name__ == "__main__":
    main()
