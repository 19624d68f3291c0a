"""Models that answer in text, tiny and with random weights, in the stock architectures of transformers."""

from __future__ import annotations

from snellen.core.pictures import Size

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "initializer_range": 0.3,
}
CLIP = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 56,
    "patch_size": 14,
    "initializer_range": 0.3,
}
CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\n' }}"
    "{%- if m.content is string %}{{- m.content }}{%- else %}{%- for c in m.content %}"
    "{%- if c.type == 'image' %}{{- 'IMAGE' }}{%- else %}{{- c.text }}{%- endif %}{%- endfor %}{%- endif %}"
    "{{- '<|im_end|>\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)
QWEN = "<|vision_start|><|image_pad|><|vision_end|>"


def tokenizer(*special, **named):
    """A byte-level tokenizer with the given special tokens; `named` become attributes such as `image_token`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    every = ["<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", *special, *named.values()]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(dict.fromkeys(every)), show_progress=False, initial_alphabet=alphabet
    )
    bpe.train_from_iterator(
        ["What is the shape of the object? Choose from [red star, circle]. 0123456789"] * 3, trainer
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<s>",
        eos_token="<|im_end|>",
        pad_token="<pad>",
        additional_special_tokens=list(special),
        extra_special_tokens=dict(named),
        model_max_length=4096,
    )


def ids(tok, **tokens):
    return {name: tok.convert_tokens_to_ids(token) for name, token in tokens.items()}


def finish(model, processor, folder, tok):
    from transformers import GenerationConfig

    model.generation_config = GenerationConfig(
        eos_token_id=tok.convert_tokens_to_ids("<|im_end|>"), pad_token_id=tok.convert_tokens_to_ids("<pad>")
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


def qwen(folder, *, family):
    import torch
    import transformers as t
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    from snellen.models.hf_processors import without_video

    torch.manual_seed(0)
    name = {"qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL", "qwen3_vl": "Qwen3VL"}[family]
    tok = tokenizer("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    head = {"head_dim": 8} if family == "qwen3_vl" else {}
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
    if family == "qwen3_vl":
        rope["mrope_interleaved"] = True
    patch = 16 if family == "qwen3_vl" else 14
    vision = {
        "qwen2_vl": {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 14, "mlp_ratio": 2},
        "qwen2_5_vl": {
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 4, "out_hidden_size": 32,
            "fullatt_block_indexes": [1], "window_size": 56,
        },
        "qwen3_vl": {
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 4, "out_hidden_size": 32,
            "deepstack_visual_indexes": [0], "num_position_embeddings": 64,
        },
    }[family]  # fmt: skip
    special = ids(
        tok,
        image_token_id="<|image_pad|>",
        video_token_id="<|video_pad|>",
        vision_start_token_id="<|vision_start|>",
        vision_end_token_id="<|vision_end|>",
    )
    config = getattr(t, f"{name}Config")(
        text_config={**TEXT, **head, "vocab_size": len(tok), "rope_parameters": rope}, vision_config=vision, **special
    )
    model = getattr(t, f"{name}ForConditionalGeneration")(config)
    pictures = Qwen2VLImageProcessorPil(
        patch_size=patch, size={"shortest_edge": 4 * 32 * 32, "longest_edge": 16 * 32 * 32}
    )
    template = CHATML.replace("IMAGE", QWEN)
    processor = without_video(getattr(t, f"{name}Processor"))(pictures, tok, chat_template=template)
    finish(model, processor, folder, tok)


def llava(folder, *, family="llava"):
    import torch
    import transformers as t

    torch.manual_seed(0)
    tok = tokenizer(image_token="<image>")
    text = {**TEXT, "vocab_size": len(tok), "model_type": "llama"}
    vision = {**CLIP, "model_type": "clip_vision_model", "projection_dim": 32}
    name = {"llava": "Llava", "llava_next": "LlavaNext"}[family]
    extra = {"image_grid_pinpoints": [[56, 112], [112, 56], [112, 112]]} if family == "llava_next" else {}
    config = getattr(t, f"{name}Config")(
        text_config=text, vision_config=vision, image_token_index=tok.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1, **extra,
    )  # fmt: skip
    size = {"size": {"shortest_edge": 56}, "crop_size": {"height": 56, "width": 56}}
    pictures = getattr(t, f"{'CLIP' if family == 'llava' else 'LlavaNext'}ImageProcessor")(**size, **extra)
    processor = getattr(t, f"{name}Processor")(
        pictures, tok, patch_size=14, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=CHATML.replace("IMAGE", "<image>"),
    )  # fmt: skip
    finish(getattr(t, f"{name}ForConditionalGeneration")(config), processor, folder, tok)


def idefics3(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    rows = [f"<row_{i}_col_{j}>" for i in range(1, 7) for j in range(1, 7)]
    tok = tokenizer("<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *rows)
    config = t.Idefics3Config(
        text_config={**TEXT, "vocab_size": len(tok), "model_type": "llama", "pad_token_id": 0},
        vision_config={**CLIP, "image_size": 64, "patch_size": 16},
        image_token_id=tok.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=0,
    )
    pictures = t.Idefics3ImageProcessor(size={"longest_edge": 128}, max_image_size={"longest_edge": 64})
    template = CHATML.replace("IMAGE", "<image>")
    processor = t.Idefics3Processor(pictures, tok, image_seq_len=4, chat_template=template)
    finish(t.Idefics3ForConditionalGeneration(config), processor, folder, tok)


def paligemma(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    tok = tokenizer(image_token="<image>")
    pictures = t.SiglipImageProcessor(size={"height": 56, "width": 56}, image_seq_length=16)
    processor = t.PaliGemmaProcessor(pictures, tok)
    config = t.PaliGemmaConfig(
        text_config={**TEXT, "vocab_size": len(tok), "model_type": "gemma", "head_dim": 8},
        vision_config={**CLIP, "model_type": "siglip_vision_model", "projection_dim": 32},
        image_token_index=tok.convert_tokens_to_ids("<image>"),
        projection_dim=32,
        hidden_size=32,
    )
    finish(t.PaliGemmaForConditionalGeneration(config), processor, folder, tok)


def gemma3(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    tok = tokenizer(image_token="<image_soft_token>", boi_token="<start_of_image>", eoi_token="<end_of_image>")
    special = ids(tok, boi_token_index="<start_of_image>", eoi_token_index="<end_of_image>")
    config = t.Gemma3Config(
        text_config={
            **TEXT,
            "vocab_size": len(tok),
            "head_dim": 8,
            "sliding_window": 64,
            "initializer_range": 0.1,
            "query_pre_attn_scalar": 8,
        },
        vision_config={**CLIP, "model_type": "siglip_vision_model", "vision_use_head": False},
        mm_tokens_per_image=4,
        image_token_index=tok.convert_tokens_to_ids("<image_soft_token>"),
        **special,
    )
    pictures = t.Gemma3ImageProcessor(size={"height": 56, "width": 56})
    template = CHATML.replace("IMAGE", "<start_of_image>")
    processor = t.Gemma3Processor(pictures, tok, chat_template=template, image_seq_length=4)
    finish(t.Gemma3ForConditionalGeneration(config), processor, folder, tok)


def internvl(folder):
    import torch
    import transformers as t

    from snellen.models.hf_processors import without_video

    torch.manual_seed(0)
    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tok = tokenizer(**named)
    config = t.InternVLConfig(
        text_config={**TEXT, "vocab_size": len(tok), "model_type": "qwen2"},
        vision_config={**CLIP, "image_size": [56, 56], "patch_size": [14, 14]},
        image_token_id=tok.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

    pictures = GotOcr2ImageProcessorPil(size={"height": 56, "width": 56}, crop_to_patches=True, max_patches=2)
    template = CHATML.replace("IMAGE", "<IMG_CONTEXT>")
    processor = without_video(t.InternVLProcessor)(pictures, tok, image_seq_length=4, chat_template=template)
    finish(t.InternVLForConditionalGeneration(config), processor, folder, tok)


def florence2(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    tok = tokenizer(*(f"<loc_{i}>" for i in range(1000)), image_token="<image>")
    config = t.Florence2Config(
        text_config={
            "model_type": "bart", "vocab_size": len(tok), "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
            "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
            "max_position_embeddings": 512, "init_std": 0.3, "bos_token_id": 1, "eos_token_id": 4, "pad_token_id": 0,
            "decoder_start_token_id": 2, "forced_eos_token_id": 4,
        },
        vision_config={
            "embed_dim": [8, 16, 24, 32], "num_heads": [1, 2, 3, 4], "num_groups": [1, 2, 3, 4], "depths": [1, 1, 1, 1],
            "window_size": 4, "projection_dim": 32,
        },
        image_token_id=tok.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    pictures = t.CLIPImageProcessor(
        size={"height": 64, "width": 64}, do_center_crop=False, image_seq_length=5, resample=3
    )
    processor = t.Florence2Processor(pictures, tok)
    model = t.Florence2ForConditionalGeneration(config)
    finish(model, processor, folder, tok)
    model.generation_config.decoder_start_token_id = 2
    model.generation_config.save_pretrained(folder)


FAMILIES = {
    "qwen2_vl": (lambda folder: qwen(folder, family="qwen2_vl"), Size(112, 84)),
    "qwen2_5_vl": (lambda folder: qwen(folder, family="qwen2_5_vl"), Size(112, 84)),
    "qwen3_vl": (lambda folder: qwen(folder, family="qwen3_vl"), Size(128, 96)),
    "llava": (llava, Size(56, 56)),
    "llava_next": (lambda folder: llava(folder, family="llava_next"), None),
    "idefics3": (idefics3, None),
    "paligemma": (paligemma, Size(56, 56)),
    "gemma3": (gemma3, Size(56, 56)),
    "internvl": (internvl, Size(56, 56)),
    "florence2": (florence2, Size(64, 64)),
}
"""Family -> (builder, the size at which it sees a picture of 120 x 90 px, where it tells)."""
