"""The embedded VLM's own modules, run leanly for training: one pass over a picture, many questions about it.

transformers' forward would encode a picture once per question. Here the picture part runs once per picture, the
picture's tokens go through the language model once (their keys and values are kept), and each question attends to
them and to itself. All pictures of a batch have one size. `tests/recipes` checks that the logits are those of
transformers' own forward.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from embedded_model import MEAN, MERGE, PATCH, SPREAD, TOKEN_PX
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

IGNORE = -100


@dataclass(frozen=True)
class Rows:
    """Questions with answers: ids and labels (rows, length), and the picture of each row."""

    ids: Tensor
    labels: Tensor
    picture: Tensor


def rows_of(items: Sequence[tuple[int, Sequence[int], Sequence[int]]], *, pad: int) -> Rows:
    """`(picture, question ids, answer ids)` as padded rows; labels stand where the next token is the answer's."""
    longest = max(len(question) + len(answer) for _, question, answer in items)
    length = -(-longest // 8) * 8  # few different shapes: kernels are made once per shape
    ids = torch.full((len(items), length), pad)
    labels = torch.full((len(items), length), IGNORE)
    for i, (_, question, answer) in enumerate(items):
        whole = torch.tensor([*question, *answer])
        ids[i, : len(whole)] = whole
        labels[i, len(question) - 1 : len(whole) - 1] = whole[len(question) :]
    return Rows(ids, labels, torch.tensor([picture for picture, _, _ in items]))


def patches_of(pictures: Sequence[Image.Image]) -> Tensor:
    """Pictures of one size as (n, patches, 3 * PATCH * PATCH), normalised, each 2 x 2 block of patches together."""
    pixels = np.stack([np.asarray(picture) for picture in pictures]).astype(np.float32)
    pixels = (pixels / 255 - MEAN) / SPREAD
    n, height, width, _ = pixels.shape
    blocks = pixels.reshape(n, height // TOKEN_PX, MERGE, PATCH, width // TOKEN_PX, MERGE, PATCH, 3)
    ordered = blocks.transpose(0, 1, 4, 2, 5, 7, 3, 6)
    return torch.from_numpy(np.ascontiguousarray(ordered)).reshape(n, -1, 3 * PATCH * PATCH)


class Lean:
    """The modules of a Qwen3-VL, and how to run them over pictures of one size and many questions."""

    def __init__(self, model: Any) -> None:
        self.visual, self.text = model.model.visual, model.model.language_model
        self.embed, self.head = self.text.embed_tokens, model.lm_head
        self._grids: dict[tuple[int, int], tuple[Tensor, Tensor, Tensor, Tensor]] = {}

    def see(self, patches: Tensor, grid: tuple[int, int]) -> Tensor:
        """Patches (n, patches, .) of pictures of `grid` (rows, columns of patches) as tokens (n, tokens, hidden)."""
        visual = self.visual
        index, weight, cos, sin = self._places(grid)
        kernel = visual.patch_embed.proj.weight.sum(2).flatten(1)
        x = F.linear(patches, kernel, visual.patch_embed.proj.bias)
        x = x + (visual.pos_embed(index) * weight[..., None]).sum(1)
        heads = visual.blocks[0].attn.num_heads
        for block in visual.blocks:
            q, k, v = block.attn.qkv(block.norm1(x)).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = F.scaled_dot_product_attention(_turned(q, cos, sin), _turned(k, cos, sin), v)
            x = x + block.attn.proj(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.norm2(x))
        return visual.merger(x).reshape(len(patches), -1, self.text.config.hidden_size)

    def _places(self, grid: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Where patches stand: indices and weights into the learned places, cosines and sines of the rotation."""
        if grid not in self._grids:
            from transformers.models.qwen3_vl import modeling_qwen3_vl as stock

            visual, thw = self.visual, torch.tensor([[1, *grid]])
            index, weight = stock.get_vision_interpolation_indices_and_weights(
                thw,
                num_grid_per_side=visual.num_grid_per_side,
                mode=visual.interpolation_mode,
                align_corners=visual.interpolation_align_corners,
                spatial_merge_size=MERGE,
                kwargs={},
            )
            ids = stock.get_vision_position_ids(thw, MERGE, kwargs={})
            cos, sin = visual.rotary_pos_emb(weight, ids)
            self._grids[grid] = index, weight, cos, sin
        return self._grids[grid]

    def read(self, seen: Tensor, grid: tuple[int, int], *, before: Tensor, after: Tensor) -> tuple[list[Any], int]:
        """Runs `before`, the picture and `after` (ids) through the language model: keys and values per layer, and the
        position at which a question goes on.
        """
        n, rows, columns = len(seen), grid[0] // MERGE, grid[1] // MERGE
        start, wide = len(before), max(rows, columns)
        x = torch.cat([self.embed(before).expand(n, -1, -1), seen, self.embed(after).expand(n, -1, -1)], dim=1)
        row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        text = torch.arange(start)
        behind = start + wide + torch.arange(len(after))
        picture = torch.stack([torch.zeros(rows * columns, dtype=torch.long), row.flatten(), column.flatten()]) + start
        places = torch.cat([text.expand(3, -1), picture, behind.expand(3, -1)], dim=1)
        kept: list[Any] = []
        self._layers(x, places, kept, None)
        return kept, start + wide + len(after)

    def answer(self, kept: list[Any], position: int, rows: Rows) -> Tensor:
        """Hidden states (labelled places, hidden) before the head, in the order of `rows.labels[rows.labels >= 0]`."""
        places = (position + torch.arange(rows.ids.shape[1])).expand(3, -1)
        x = self._layers(self.embed(rows.ids), places, kept, rows.picture)
        return self.text.norm(x)[rows.labels != IGNORE]

    def _layers(self, x: Tensor, places: Tensor, kept: list[Any], picture: Tensor | None) -> Tensor:
        """All layers. With `picture` None the keys and values are put into `kept`, else they are attended to."""
        cos, sin = self.text.rotary_emb(x, places[:, None])
        cos, sin = cos[0], sin[0]
        length = x.shape[1]
        before = 0 if picture is None else kept[0][0].shape[2]
        later = torch.full((length, before + length), -1e4).triu(before + 1)
        for i, layer in enumerate(self.text.layers):
            attention, h = layer.self_attn, layer.input_layernorm(x)
            shape = (*h.shape[:-1], -1, attention.head_dim)
            q = attention.q_norm(attention.q_proj(h).view(shape)).transpose(1, 2)
            k = attention.k_norm(attention.k_proj(h).view(shape)).transpose(1, 2)
            v = attention.v_proj(h).view(shape).transpose(1, 2)
            q, k = _turned(q, cos, sin), _turned(k, cos, sin)
            if picture is None:
                kept.append((k, v))
            else:
                k, v = (torch.cat([old[picture], new], dim=2) for old, new in zip(kept[i], (k, v), strict=True))
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=later, enable_gqa=True)
            x = x + attention.o_proj(mixed.transpose(1, 2).flatten(2))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return x


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * sin


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for matrices: the momentum, made orthogonal by five Newton-Schulz iterations.

    An entry moves by about half the rate (AdamW's move by about a fifth of theirs: Liu et al. 2025). torch's own Muon
    works in bfloat16, which a CPU may lack; this one works in float32, on all matrices of one shape at once.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], *, momentum: float = 0.95, decay: float = 0.03) -> None:
        super().__init__(matrices, {"lr": 0.0, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """One step; matrices without a gradient stay as they are."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    shapes[p.shape].append(p)
            for shape, params in shapes.items():
                updates = []
                for p in params:
                    held = self.state[p].setdefault("momentum", torch.zeros_like(p))
                    held.lerp_(p.grad, 1 - group["momentum"])
                    updates.append(p.grad.lerp(held, group["momentum"]))
                length = 0.5 * max(shape) ** 0.5
                for p, update in zip(params, orthogonal(torch.stack(updates)), strict=True):
                    p.mul_(1 - group["lr"] * group["decay"]).add_(update, alpha=-group["lr"] * length)


def orthogonal(x: Tensor) -> Tensor:
    """Matrices (n, rows, columns) with all singular values brought to about 1 (.7 to 1.2)."""
    if x.shape[1] > x.shape[2]:
        return orthogonal(x.mT).mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (2.0315 * square @ square - 4.7750 * square) @ x
    return x
