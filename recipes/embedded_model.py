"""The shape of the embedded VLM: a small Qwen3-VL with its tokenizer, chat template and processor, built offline.

The architecture is the stock one, so that transformers, llama.cpp and vLLM load the folder as they load its large
sisters; only the sizes are small. The tokenizer is Qwen's (byte-level BPE, digits one by one) trained on our questions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen2's tokenizer cuts text into words; llama.cpp knows it as `qwen2`."""

CHAT_TEMPLATE = (
    "{%- for m in messages %}"
    "{{- '<|im_start|>' + m.role + '\n' }}"
    "{%- if m.content is string %}{{- m.content }}"
    "{%- else %}{%- for c in m.content %}"
    "{%- if c.type == 'image' or 'image' in c or 'image_url' in c %}"
    "{{- '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- elif c.type == 'video' or 'video' in c %}{{- '<|vision_start|><|video_pad|><|vision_end|>' }}"
    "{%- elif 'text' in c %}{{- c.text }}{%- endif %}"
    "{%- endfor %}{%- endif %}"
    "{{- '<|im_end|>\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)
PATCH, MERGE = 16, 2
MEAN, SPREAD = 0.0, 0.5
"""How pixels of 0..1 are normalised: an empty (black) patch is nothing but its place."""

TOKEN_PX = PATCH * MERGE
"""Side of the square of pixels behind one picture token."""


@dataclass(frozen=True)
class Shape:
    """The sizes of the network."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 4
    head_dim: int = 32
    mlp: int = 256
    vision_hidden: int = 128
    vision_depth: int = 4
    vision_heads: int = 4
    vision_mlp: int = 256
    grid: int = 20
    spread: float = 0.04
    vocabulary: int = 640


def tokenizer(corpus: Iterable[str], size: int) -> Any:
    """A Qwen2-style tokenizer with `size` tokens, trained on `corpus`."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), show_progress=False, initial_alphabet=alphabet
    )
    bpe.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(SPECIAL[1:]),
        padding_side="left",
        model_max_length=4096,
    )


def build(words: Any, shape: Shape, *, seed: int) -> Any:
    """The network with random weights; places in the picture are written large from the first step on."""
    from transformers import GenerationConfig, Qwen3VLConfig, Qwen3VLForConditionalGeneration

    ids = {token: words.convert_tokens_to_ids(token) for token in SPECIAL}
    half = shape.head_dim // 2
    sections = [half - 2 * (half // 3), half // 3, half // 3]
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(words),
            "hidden_size": shape.hidden,
            "intermediate_size": shape.mlp,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "max_position_embeddings": 4096,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": sections,
                "mrope_interleaved": True,
            },
            "pad_token_id": ids["<|endoftext|>"],
            "tie_word_embeddings": True,
            "initializer_range": shape.spread,
        },
        vision_config={
            "depth": shape.vision_depth,
            "hidden_size": shape.vision_hidden,
            "intermediate_size": shape.vision_mlp,
            "num_heads": shape.vision_heads,
            "patch_size": PATCH,
            "spatial_merge_size": MERGE,
            "temporal_patch_size": 2,
            "out_hidden_size": shape.hidden,
            "num_position_embeddings": shape.grid**2,
            "deepstack_visual_indexes": [],
            "initializer_range": shape.spread,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    model = Qwen3VLForConditionalGeneration(config)
    with torch.no_grad():
        model.model.visual.pos_embed.weight.copy_(_places(shape.grid, shape.vision_hidden))
    model.generation_config = GenerationConfig(
        eos_token_id=[ids["<|im_end|>"], ids["<|endoftext|>"]],
        pad_token_id=ids["<|endoftext|>"],
        do_sample=False,
        max_new_tokens=256,
    )
    return model


def _places(grid: int, width: int) -> torch.Tensor:
    """Sines and cosines of the row and the column of each patch, (grid * grid, width), of size .5.

    Learned from .02 the places drown in the patches' content, and position stays at chance for thousands of steps.
    """
    row, column = torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij")
    waves = torch.exp(torch.linspace(math.log(math.pi / grid), math.log(math.pi / 2), width // 4))
    parts = [f(axis.reshape(-1, 1) * waves) for axis in (row, column) for f in (torch.sin, torch.cos)]
    return 0.5 * torch.cat(parts, dim=1)


def save(model: Any, words: Any, folder: Path, *, tokens: tuple[int, int], dtype: torch.dtype = torch.float16) -> None:
    """Writes the folder as transformers expects it; `tokens` are the fewest and most picture tokens."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor

    from snellen.models.hf_processors import without_video

    area = TOKEN_PX**2
    pictures = Qwen2VLImageProcessorPil(
        patch_size=PATCH,
        temporal_patch_size=2,
        merge_size=MERGE,
        size={"shortest_edge": tokens[0] * area, "longest_edge": tokens[1] * area},
        image_mean=[MEAN] * 3,
        image_std=[SPREAD] * 3,
    )
    words.chat_template = CHAT_TEMPLATE
    processor = without_video(Qwen3VLProcessor)(image_processor=pictures, tokenizer=words, chat_template=CHAT_TEMPLATE)
    weights = {name: tensor.to(dtype) for name, tensor in model.state_dict().items()}
    model.save_pretrained(folder, state_dict=weights)
    processor.save_pretrained(folder)
    _stock_names(folder, tokens)


def _stock_names(folder: Path, tokens: tuple[int, int]) -> None:
    """Stock class names and a section for videos, so that AutoProcessor loads the folder where torchvision exists."""
    for name in ("processor_config.json", "tokenizer_config.json"):
        path = folder / name
        config = json.loads(path.read_text())
        config["processor_class"] = "Qwen3VLProcessor"
        if name.startswith("processor"):
            config["video_processor"] = {
                "video_processor_type": "Qwen3VLVideoProcessor",
                "patch_size": PATCH,
                "temporal_patch_size": 2,
                "merge_size": MERGE,
                "size": {"shortest_edge": tokens[0] * TOKEN_PX**2, "longest_edge": tokens[1] * TOKEN_PX**2},
                "image_mean": [MEAN] * 3,
                "image_std": [SPREAD] * 3,
            }
        path.write_text(json.dumps(config, indent=1) + "\n")
