"""A Qwen3-VL folder of transformers as the two files that llama.cpp serves: text model and picture part ("mmproj").

Only small models in one weights file; needs `gguf`, numpy and `safetensors`. Names follow llama.cpp's converter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import DataError, NotInstalledError

Float = NDArray[np.float32]

_TEXT = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_WHOLE = {
    "model.language_model.embed_tokens.weight": "token_embd.weight",
    "model.language_model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_VISION = {
    "attn.qkv": "attn_qkv",
    "attn.proj": "attn_out",
    "mlp.linear_fc1": "ffn_up",
    "mlp.linear_fc2": "ffn_down",
    "norm1": "ln1",
    "norm2": "ln2",
}
_MERGER = {"norm": "v.post_ln", "linear_fc1": "mm.0", "linear_fc2": "mm.2"}
_DEEPSTACK = {"norm": "norm", "linear_fc1": "fc1", "linear_fc2": "fc2"}


def export_qwen3vl(folder: Path, model: Path, mmproj: Path, *, half: bool = True) -> None:
    """Writes `model` and `mmproj` (GGUF) from a Qwen3-VL `folder`; matrices as float16 where `half`, else float32.

    DataError where the folder holds no Qwen3-VL, or weights that have no name there.
    """
    try:
        import gguf
        from safetensors.numpy import load_file
    except ImportError as error:
        raise NotInstalledError(
            "gguf and safetensors are not installed. Type:  pip install gguf safetensors"
        ) from error
    config = json.loads((folder / "config.json").read_text())
    if config.get("model_type") != "qwen3_vl":
        raise DataError(f"only qwen3_vl folders become GGUF here, got {config.get('model_type')!r}: {folder}")
    weights = {name: value.astype(np.float32) for name, value in load_file(folder / "model.safetensors").items()}
    writer = gguf.GGUFWriter(str(model), "qwen3vl")
    _describe_text(writer, config)
    _add_tokenizer(writer, gguf, folder)
    _write(writer, _text_tensors(weights), half)
    writer = gguf.GGUFWriter(str(mmproj), "clip")
    _describe_vision(writer, config, folder)
    _write(writer, _vision_tensors(weights, config["vision_config"]), half)


def _describe_text(writer: Any, config: Mapping[str, Any]) -> None:
    text, vision = config["text_config"], config["vision_config"]
    rope = text.get("rope_parameters") or text
    writer.add_name("snellen")
    writer.add_block_count(text["num_hidden_layers"])
    writer.add_context_length(text["max_position_embeddings"])
    writer.add_embedding_length(text["hidden_size"])
    writer.add_feed_forward_length(text["intermediate_size"])
    writer.add_head_count(text["num_attention_heads"])
    writer.add_head_count_kv(text["num_key_value_heads"])
    writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
    writer.add_rope_freq_base(float(rope["rope_theta"]))
    writer.add_layer_norm_rms_eps(text["rms_norm_eps"])
    writer.add_key_length(text["head_dim"])
    writer.add_value_length(text["head_dim"])
    writer.add_uint32("qwen3vl.n_deepstack_layers", len(vision["deepstack_visual_indexes"]))


def _add_tokenizer(writer: Any, gguf: Any, folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    names = {number: token for token, number in {**tokenizer["model"]["vocab"], **special}.items()}
    kinds = (gguf.TokenType.NORMAL, gguf.TokenType.CONTROL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([names[i] for i in range(len(names))])
    writer.add_token_types([kinds[names[i] in special] for i in range(len(names))])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(special["<|im_end|>"])
    writer.add_pad_token_id(special["<|endoftext|>"])
    writer.add_chat_template((folder / "chat_template.jinja").read_text())


def _describe_vision(writer: Any, config: Mapping[str, Any], folder: Path) -> None:
    text, vision = config["text_config"], config["vision_config"]
    pictures = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    writer.add_type("mmproj")
    writer.add_name("snellen")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("qwen3vl_merger")
    writer.add_vision_use_gelu(True)
    writer.add_vision_projection_dim(text["hidden_size"])
    writer.add_vision_image_size(round(vision["num_position_embeddings"] ** 0.5) * vision["patch_size"])
    writer.add_vision_patch_size(vision["patch_size"])
    writer.add_vision_embedding_length(vision["hidden_size"])
    writer.add_vision_feed_forward_length(vision["intermediate_size"])
    writer.add_vision_block_count(vision["depth"])
    writer.add_vision_head_count(vision["num_heads"])
    writer.add_vision_image_mean(pictures["image_mean"])
    writer.add_vision_image_std(pictures["image_std"])
    writer.add_vision_spatial_merge_size(vision["spatial_merge_size"])
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_is_deepstack_layers([i in vision["deepstack_visual_indexes"] for i in range(vision["depth"])])


def _text_tensors(weights: Mapping[str, Float]) -> dict[str, Float]:
    tensors = {}
    for name, value in weights.items():
        if name.startswith("model.visual."):
            continue
        layer = re.fullmatch(r"model\.language_model\.layers\.(\d+)\.(.+)\.weight", name)
        if layer and layer[2] in _TEXT:
            tensors[f"blk.{layer[1]}.{_TEXT[layer[2]]}.weight"] = value
        elif name in _WHOLE:
            tensors[_WHOLE[name]] = value
        else:
            raise DataError(f"weight {name!r} has no name in GGUF")
    return tensors


def _vision_tensors(weights: Mapping[str, Float], vision: Mapping[str, Any]) -> dict[str, Float]:
    tensors = {}
    for name, value in weights.items():
        if not name.startswith("model.visual."):
            continue
        key = name.removeprefix("model.visual.")
        if key == "patch_embed.proj.weight":  # the two frames of a video patch, one file entry each
            tensors["v.patch_embd.weight"] = np.ascontiguousarray(value[:, :, 0])
            tensors["v.patch_embd.weight.1"] = np.ascontiguousarray(value[:, :, 1])
        else:
            tensors[_vision_name(key, vision["deepstack_visual_indexes"])] = value
    return tensors


def _vision_name(key: str, deepstack: list[int]) -> str:
    if key == "patch_embed.proj.bias":
        return "v.patch_embd.bias"
    if key == "pos_embed.weight":
        return "v.position_embd.weight"
    part, _, end = key.rpartition(".")
    if block := re.fullmatch(r"blocks\.(\d+)\.(.+)", part):
        return f"v.blk.{block[1]}.{_VISION[block[2]]}.{end}"
    if part.removeprefix("merger.") in _MERGER:
        return f"{_MERGER[part.removeprefix('merger.')]}.{end}"
    if merger := re.fullmatch(r"deepstack_merger_list\.(\d+)\.(.+)", part):
        return f"v.deepstack.{deepstack[int(merger[1])]}.{_DEEPSTACK[merger[2]]}.{end}"
    raise DataError(f"weight {key!r} of the picture part has no name in GGUF")


def _write(writer: Any, tensors: Mapping[str, Float], half: bool) -> None:
    for name, value in tensors.items():
        matrix = value.ndim >= 2 and "position_embd" not in name
        writer.add_tensor(name, value.astype(np.float16) if half and matrix else value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
