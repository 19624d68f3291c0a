"""`hf/...` detectors over tiny models with random weights, against transformers' own post-processing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Turn
from snellen.models.hf_detectors import Found, best
from snellen.models.hf_phrases import caption, chunks_of
from snellen.models.table import build

HEAVY = [pytest.mark.tier2, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600)]
SIDE = 96


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
LABELS = ("red star", "plastic bottle", "circle")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            import torch

            torch.manual_seed(0)
            made[name] = tmp_path_factory.mktemp(name)
            {**CLOSED, **OPEN}[name](made[name])
        return made[name]

    return of


def picture(seed=0, size=(120, 90)):
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 255, (9, 12, 3), dtype=np.uint8)).resize(size, 0)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Picture(f"{seed}.png", buffer.getvalue)


def ask(seed=0, labels=LABELS, size=(120, 90)):
    return Prompt(Key(f"s{seed}"), (Turn("user", (picture(seed, size), "?")),), wants="boxes", labels=labels)


@pytest.mark.parametrize("name", CLOSED, ids=list(CLOSED))
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_a_closed_detector_finds_what_transformers_own_post_processing_finds(tiny, name, _):
    import torch

    model = build(ModelSpec("hf", str(tiny(name)), {"min_score": 0, "most": 20, "batch_size": 2}))
    prompts = [ask(1), ask(2, size=(60, 150)), ask(3)]
    replies = dict(model.answer(prompts))
    assert list(replies) == [p.key for p in prompts]
    cells = dict(zip(model.look.__code__.co_freevars, model.look.__closure__, strict=True))
    network, shown = cells["model"].cell_contents, cells["shown"].cell_contents
    for prompt in prompts:
        image = prompt.pictures[0].image()
        with torch.inference_mode():
            said = network(**shown(images=[image], return_tensors="pt"))
        own = shown.post_process_object_detection(said, threshold=0.0, target_sizes=[image.size[::-1]])[0]
        order = torch.argsort(-own["scores"], stable=True)[:20]
        found = replies[prompt.key].detections
        assert found.scores == pytest.approx(own["scores"][order].double().numpy(), abs=1e-5)
        if name not in {"yolos", "detr"}:  # those keep one class per query, we the best pairs
            assert found.boxes == pytest.approx(own["boxes"][order].double().numpy(), abs=1e-2)
            assert found.labels == tuple(network.config.id2label[i] for i in own["labels"][order].tolist())


@pytest.mark.parametrize("name", OPEN, ids=list(OPEN))
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_an_open_detector_scores_every_class_that_is_asked_for(tiny, name, _):
    model = build(ModelSpec("hf", str(tiny(name)), {"min_score": 0}))
    prompts = [ask(1), ask(2, labels=LABELS[:1]), ask(3, size=(60, 150))]
    replies = dict(model.answer(prompts))
    for prompt in prompts:
        reply = replies[prompt.key]
        assert isinstance(reply, Reply), reply
        assert set(reply.detections.labels) == set(prompt.labels)
        assert (np.diff(reply.detections.scores) <= 0).all()
        assert len(reply.detections) % len(prompt.labels) == 0
    again = dict(model.answer(prompts[:1]))[prompts[0].key]
    assert again.detections == replies[prompts[0].key].detections


@pytest.mark.parametrize("name", ["owlv2"])
@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_boxes_of_a_padded_square_come_back_to_the_picture(tiny, name, _):
    import torch

    model = build(ModelSpec("hf", str(tiny(name)), {"min_score": 0}))
    prompt = ask(1, labels=("circle",))
    reply = dict(model.answer([prompt]))[prompt.key]
    cells = dict(zip(model.look.__code__.co_freevars, model.look.__closure__, strict=True))
    inner = cells["_one"].cell_contents
    cells = dict(zip(inner.__code__.co_freevars, inner.__closure__, strict=True))
    network, processor = cells["model"].cell_contents, cells["processor"].cell_contents
    image = prompt.pictures[0].image()
    with torch.inference_mode():
        said = network(**processor(images=image, text=[["circle"]], return_tensors="pt"))
    own = processor.post_process_grounded_object_detection(said, threshold=0.0, target_sizes=[(90, 120)])[0]
    order = torch.argsort(-own["scores"], stable=True)
    assert reply.detections.scores == pytest.approx(own["scores"][order].double().numpy(), abs=1e-5)
    assert reply.detections.boxes == pytest.approx(own["boxes"][order].double().numpy(), abs=1e-2)


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_two_hundred_classes_are_asked_in_chunks(tiny, _):
    labels = (*(f"kind{i}" for i in range(60)), "red star")
    model = build(ModelSpec("hf", str(tiny("grounding-dino")), {"min_score": 0, "most": 100_000}))
    reply = dict(model.answer([ask(1, labels=labels)]))[Key("s1")]
    assert set(reply.detections.labels) == set(labels)
    chunks = list(chunks_of(labels, words(), limit=24))
    assert len(chunks) > 3
    assert sum(len(chunk.tokens) for chunk in chunks) == len(labels)
    positive = reply.detections.scores > 0
    assert positive.sum() == 20 * len(labels)


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_the_tokens_of_a_class_are_its_own(_):
    tokenizer = words()
    (chunk,) = chunks_of(["red star", "Circle", "plastic bottle"], tokenizer, limit=24)
    assert chunk.text == "red star. circle. plastic bottle."
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(chunk.text)["input_ids"])
    assert [[pieces[i] for i in places] for places in chunk.tokens] == [
        ["red", "star"],
        ["circle"],
        ["plastic", "bottle"],
    ]
    with pytest.raises(SpecError, match="more tokens than the model can read"):
        list(chunks_of(["red " * 40], tokenizer, limit=24))


@pytest.mark.parametrize("_", [pytest.param(0, marks=HEAVY, id="")])
def test_a_picture_that_cannot_be_read_fails_alone_and_a_question_is_refused(tiny, _):
    model = build(ModelSpec("hf", str(tiny("yolos")), {"batch_size": 2}))
    broken = Prompt(Key("broken"), (Turn("user", (Picture("x.png", lambda: b"no"),)),), wants="boxes", labels=LABELS)
    replies = dict(model.answer([broken, ask(1)]))
    assert isinstance(replies[Key("broken")], Failed)
    assert isinstance(replies[Key("s1")], Reply)
    question = Prompt(Key("q"), (Turn("user", (picture(), "Which?")),), wants="choice", labels=LABELS)
    with pytest.raises(SpecError, match="a detector answers prompts for boxes"):
        list(model.answer([question]))


def test_the_best_pairs_of_query_and_class_are_kept():
    found = Found(np.array([[0.5, 0.5, 0.2, 0.4], [0.1, 0.1, 0.2, 0.2]]), np.array([[0.9, 0.2], [0.3, 0.8]]))
    said = best(found, ("cat", "dog"), size=Size(100, 50), most=3, min_score=0.25)
    assert said.labels == ("cat", "dog", "cat")
    assert said.scores.tolist() == [0.9, 0.8, 0.3]
    assert said.boxes == pytest.approx(np.array([[40, 15, 60, 35], [0, 0, 20, 10], [0, 0, 20, 10]]))


def test_a_full_stop_inside_a_name_does_not_end_it():
    assert caption(["No. 5 Bottle", "cup"]) == "no 5 bottle. cup."
