"""CLIP and SigLIP, tiny and with random weights."""

from __future__ import annotations

LABELS = ("star", "circle", "square", "red", "green", "blue")
"""The words that their tokenizer knows, beside "a photo of"."""


def scorer(folder, *, kind):
    import torch
    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(0)
    words = ["<pad>", "<unk>", "<s>", "</s>", "a", "photo", "of", *LABELS]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)])
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=16,
    )
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    text = {**size, "vocab_size": len(words), "max_position_embeddings": 16, "eos_token_id": 3, "pad_token_id": 0}
    vision = {**size, "image_size": 32, "patch_size": 8}
    if kind == "clip":
        config = t.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
        pictures = t.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
        model, processor = t.CLIPModel(config), t.CLIPProcessor(pictures, tokenizer)
    else:
        config = t.SiglipConfig(text_config=text, vision_config=vision)
        pictures = t.SiglipImageProcessor(size={"height": 32, "width": 32})
        model, processor = t.SiglipModel(config), t.SiglipProcessor(pictures, tokenizer)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
