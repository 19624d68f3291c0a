"""Detectors with classes of their own, and such that take class names: tiny, random weights, stock architectures."""

from __future__ import annotations

SIDE = 96
"""The input's side, px."""


def stretched(folder, **names):
    """An RT-DETR style processor, saved; RF-DETR's name needs torchvision."""
    from transformers.models.rt_detr.image_processing_pil_rt_detr import RTDetrImageProcessorPil

    RTDetrImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)


def rtdetr(folder):
    import transformers as t

    backbone = t.RTDetrResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = t.RTDetrV2Config(
        backbone_config=backbone, encoder_in_channels=[32, 48, 64], num_labels=3, decoder_layers=2, num_queries=20,
        d_model=32, encoder_hidden_dim=32, encoder_ffn_dim=64, decoder_ffn_dim=64, decoder_in_channels=[32, 32, 32],
        decoder_attention_heads=4, encoder_attention_heads=4, num_denoising=0, disable_custom_kernels=True,
    )  # fmt: skip
    t.RTDetrV2ForObjectDetection(config).save_pretrained(folder)
    stretched(folder)


def dfine(folder):
    import transformers as t

    backbone = t.HGNetV2Config(
        stem_channels=[3, 8, 8], stage_in_channels=[8, 16, 32, 64], stage_mid_channels=[8, 8, 16, 16],
        stage_out_channels=[16, 32, 64, 64], stage_num_blocks=[1, 1, 1, 1],
        stage_downsample=[False, True, True, True], stage_light_block=[False, False, True, True],
        stage_kernel_size=[3, 3, 5, 5], stage_numb_of_layers=[2, 2, 2, 2], hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 1, 1], embedding_size=8, out_features=["stage3", "stage4"],
    )  # fmt: skip
    config = t.DFineConfig(
        num_labels=3, decoder_layers=2, num_queries=20, d_model=32, encoder_hidden_dim=32, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_denoising=0, backbone_config=backbone, encoder_in_channels=[64, 64],
        feat_strides=[16, 32], num_feature_levels=2, decoder_in_channels=[32, 32], encode_proj_layers=[1],
        decoder_n_points=[4, 4], encoder_attention_heads=4, decoder_attention_heads=4,
    )  # fmt: skip
    t.DFineForObjectDetection(config).save_pretrained(folder)
    stretched(folder)


def rfdetr(folder):
    import transformers as t

    backbone = t.RfDetrDinov2Config(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=4, image_size=SIDE, patch_size=16, num_windows=2,
        out_features=["stage2", "stage4"],
    )  # fmt: skip
    config = t.RfDetrConfig(
        backbone_config=backbone, d_model=32, decoder_ffn_dim=64, decoder_layers=2, num_queries=20, group_detr=1,
        decoder_self_attention_heads=4, decoder_cross_attention_heads=4, num_labels=3,
    )  # fmt: skip
    t.RfDetrForObjectDetection(config).save_pretrained(folder)
    stretched(folder)
    text = (folder / "preprocessor_config.json").read_text()
    (folder / "preprocessor_config.json").write_text(text.replace("RTDetrImageProcessorPil", "RfDetrImageProcessor"))


def yolos(folder):
    import transformers as t

    config = t.YolosConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=[SIDE, SIDE],
        num_labels=3, num_detection_tokens=20,
    )  # fmt: skip
    t.YolosForObjectDetection(config).save_pretrained(folder)
    t.YolosImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)


def detr(folder):
    import transformers as t

    backbone = t.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage4"],
    )  # fmt: skip
    config = t.DetrConfig(
        use_timm_backbone=False, backbone=None, backbone_config=backbone, d_model=32, encoder_layers=1,
        decoder_layers=1, num_queries=20, encoder_ffn_dim=64, decoder_ffn_dim=64, encoder_attention_heads=4,
        decoder_attention_heads=4, num_labels=3,
    )  # fmt: skip
    t.DetrForObjectDetection(config).save_pretrained(folder)
    t.DetrImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)


def words(*special):
    """A WordPiece tokenizer that holds the ids Grounding DINO looks for (101, 102, 1012, 1029)."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 1012: ".", 1029: "?"}
    known = ["star", "red", "circle", "plastic", "bottle", "square", *(f"kind{i}" for i in range(60))]
    free = (i for i in range(1, 1100) if i not in names)
    vocabulary = {token: number for number, token in names.items()} | dict(zip(known, free, strict=False))
    vocabulary |= {f"[unused{i}]": i for i in range(1100) if i not in set(vocabulary.values())}
    model = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer()
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=64,
    )  # fmt: skip


def dino(folder, *, mm=False):
    import transformers as t

    swin = t.SwinConfig(
        embed_dim=12, depths=[1, 1, 1, 1], num_heads=[2, 2, 2, 2], window_size=4, image_size=SIDE,
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    bert = t.BertConfig(
        vocab_size=1100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64
    )
    name = "MMGroundingDino" if mm else "GroundingDino"
    config = getattr(t, f"{name}Config")(
        backbone_config=swin, text_config=bert, d_model=32, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_queries=20, encoder_attention_heads=4, decoder_attention_heads=4, max_text_len=24,
        disable_custom_kernels=True,
    )  # fmt: skip
    getattr(t, f"{name}ForObjectDetection")(config).save_pretrained(folder)
    pictures = t.GroundingDinoImageProcessor(size={"shortest_edge": SIDE, "longest_edge": SIDE})
    t.GroundingDinoProcessor(pictures, words()).save_pretrained(folder)


def owlv2(folder):
    import transformers as t

    config = t.Owlv2Config(
        text_config={
            "vocab_size": 1100, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
            "num_attention_heads": 4, "max_position_embeddings": 16,
        },
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
            "image_size": SIDE, "patch_size": 32,
        },
        projection_dim=32,
    )  # fmt: skip
    t.Owlv2ForObjectDetection(config).save_pretrained(folder)
    pictures = t.Owlv2ImageProcessor(size={"height": SIDE, "width": SIDE})
    tokens = words()
    tokens.model_max_length = 16
    t.Owlv2Processor(pictures, tokens).save_pretrained(folder)


CLOSED = {"rt_detr_v2": rtdetr, "d_fine": dfine, "rf_detr": rfdetr, "yolos": yolos, "detr": detr}
OPEN = {
    "grounding-dino": dino,
    "mm-grounding-dino": lambda folder: dino(folder, mm=True),
    "owlv2": owlv2,
}
