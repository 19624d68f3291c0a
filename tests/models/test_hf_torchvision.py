"""`hf/...` over families whose picture processors need torchvision, tiny and with random weights; what is said without.

Runs where torchvision is installed beside torch (docs/compatibility.md tells when it last did).
"""

from __future__ import annotations

import importlib.util
import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import NotInstalledError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Reply, Turn
from snellen.models.table import build
from tiny_models.speakers import CHATML, TEXT, finish, ids, tokenizer

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.tier2, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]
HERE = importlib.util.find_spec("torchvision") is not None
SIGHT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.3,
}


def lfm2_vl(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    named = {"image_token": "<image>", "image_start_token": "<|image_start|>", "image_end_token": "<|image_end|>"}
    tok = tokenizer("<|img_thumbnail|>", **named)
    text = {name: value for name, value in TEXT.items() if name != "intermediate_size"}
    config = t.Lfm2VlConfig(
        text_config={**text, "model_type": "lfm2", "vocab_size": len(tok), "intermediate_size": 64,
                     "layer_types": ["conv", "full_attention"], "tie_word_embeddings": True, "pad_token_id": 0,
                     "initializer_range": 0.1},
        vision_config={**SIGHT, "model_type": "siglip2_vision_model", "patch_size": 16, "num_patches": 16},
        image_token_id=tok.convert_tokens_to_ids("<image>"), projector_hidden_size=32,
    )  # fmt: skip
    pictures = t.Lfm2VlImageProcessor(
        encoder_patch_size=16, tile_size=64, min_image_tokens=4, max_image_tokens=8, max_num_patches=32, min_tiles=2,
        max_tiles=4, do_image_splitting=False,
    )  # fmt: skip
    processor = t.Lfm2VlProcessor(pictures, tok, chat_template=CHATML.replace("IMAGE", "<image>"))
    finish(t.Lfm2VlForConditionalGeneration(config), processor, folder, tok)


def perception_lm(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    tok = tokenizer(image_token="<image>", video_token="<video>")
    vision = {
        "model_type": "timm_wrapper", "architecture": "vit_pe_core_large_patch14_336", "num_classes": 0,
        "initializer_range": 0.3, "do_pooling": False, "global_pool": "", "num_features": 32,
        "model_args": {"embed_dim": 32, "depth": 2, "num_heads": 4, "img_size": [56, 56], "global_pool": "",
                       "use_post_transformer_norm": False, "ref_feat_shape": [4, 4]},
    }  # fmt: skip
    special = ids(tok, image_token_id="<image>", video_token_id="<video>")
    config = t.PerceptionLMConfig(
        text_config={**TEXT, "vocab_size": len(tok), "model_type": "llama"}, vision_config=vision,
        projector_pooling_ratio=2, vision_use_cls_token=True, **special,
    )  # fmt: skip
    pictures = t.PerceptionLMImageProcessor(tile_size=56, max_num_tiles=2, vision_input_type="thumb+tile")
    processor = t.PerceptionLMProcessor(
        t.PerceptionLMVideoProcessor(size={"height": 56, "width": 56}), pictures, tok, patch_size=14, pooling_ratio=2,
        chat_template=CHATML.replace("IMAGE", "<image>"),
    )  # fmt: skip
    finish(t.PerceptionLMForConditionalGeneration(config), processor, folder, tok)


def molmo2(folder):
    import torch
    import transformers as t

    torch.manual_seed(0)
    marks = ("<im_patch>", "<im_col>", "<im_start>", "<low_res_im_start>", "<frame_start>", "<im_end>", "<frame_end>",
             "<im_low>")  # fmt: skip
    tok = tokenizer(*marks, image_token="<|image|>", video_token="<|video|>")
    small = {**SIGHT, "num_key_value_heads": 4, "head_dim": 8}
    config = t.Molmo2Config(
        text_config={**TEXT, "vocab_size": len(tok), "additional_vocab_size": 0, "head_dim": 8,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        vision_config={**small, "image_size": [56, 56], "patch_size": 14},
        adapter_config={"vision_feature_layer": [1, 0], "hidden_size": 32, "num_attention_heads": 4, "head_dim": 8,
                        "num_key_value_heads": 4, "intermediate_size": 64, "text_hidden_size": 32,
                        "initializer_range": 0.3},
        **ids(tok, image_start_token_id="<im_start>", low_res_image_start_token_id="<low_res_im_start>",
              image_end_token_id="<im_end>", image_patch_id="<im_patch>", frame_start_token_id="<frame_start>",
              frame_end_token_id="<frame_end>"),
    )  # fmt: skip
    pictures = t.Molmo2ImageProcessor(size={"height": 56, "width": 56}, max_crops=2, overlap_margins=[1, 1])
    processor = t.Molmo2Processor(
        pictures, t.Molmo2VideoProcessor(size={"height": 56, "width": 56}), tok,
        chat_template=CHATML.replace("IMAGE", "<|image|>"),
    )  # fmt: skip
    finish(t.Molmo2ForConditionalGeneration(config), processor, folder, tok)


FAMILIES = {"lfm2_vl": lfm2_vl, "perception_lm": perception_lm, "molmo2": molmo2}


def ask(seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (9, 12, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((120, 90), 0).save(buffer, "PNG")
    text = "Where?" if seed == 1 else "What is the shape of the object?"
    return Prompt(Key(f"s{seed}"), (Turn("user", (Picture(f"{seed}.png", buffer.getvalue), text)),), max_tokens=6)


@pytest.mark.skipif(not HERE, reason="torchvision is not installed")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_answers_once_and_the_same_in_any_batch(tmp_path, name):
    if name == "perception_lm":
        pytest.importorskip("timm")
    FAMILIES[name](tmp_path)
    answers, sure = [], set()
    for batch_size in (1, 3):
        model = build(ModelSpec("hf", str(tmp_path), {"batch_size": batch_size}))
        replies = dict(model.answer([ask(seed) for seed in range(3)]))
        for reply in replies.values():
            assert isinstance(reply, Reply), reply
            assert reply.sent == (Size(120, 90),)
            assert "".join(token.text for token in reply.tokens) == reply.text
        answers.append([reply.text for reply in replies.values()])
        sure = {tuple(round(token.logprob, 3) for token in reply.tokens) for reply in replies.values()}
    assert answers[0] == answers[1]
    assert len(sure) == 3, "other pictures, other probabilities: they are looked at"


@pytest.mark.skipif(HERE, reason="torchvision is installed")
def test_without_torchvision_the_line_to_type_is_named(tmp_path):
    import transformers as t

    tok = tokenizer(image_token="<image>")
    t.Lfm2VlConfig(text_config={"model_type": "lfm2"}, vision_config={"model_type": "siglip2_vision_model"}
                   ).save_pretrained(tmp_path)  # fmt: skip
    tok.save_pretrained(tmp_path)
    (tmp_path / "processor_config.json").write_text(
        '{"processor_class": "Lfm2VlProcessor", "image_processor": {"image_processor_type": "Lfm2VlImageProcessor"}}'
    )
    with pytest.raises(NotInstalledError, match=r"needs torchvision\. Type: +pip install --upgrade torch torchvision"):
        build(ModelSpec("hf", str(tmp_path)))
