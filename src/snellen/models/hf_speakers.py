"""Models of transformers that answer in text: any image-text-to-text model, in batches, greedy by default.

The reply is what the model wrote, control tokens at its end removed and nothing else: markers of boxes and places are
part of the answer. Log-probabilities are those of the model itself, before any sampling.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from snellen.core.errors import DataError, NotInstalledError, SpecError
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Token, Usage
from snellen.models.chance import seed_of
from snellen.models.hf import device_and_dtype, hub_options, read_common, source
from snellen.models.hf_inputs import Asker, seen_sizes
from snellen.models.hf_processors import lacking, load_processor
from snellen.models.hf_tokens import Recorder, cut, pieces
from snellen.models.options import Options


def speaker(spec: ModelSpec, config: Any) -> SpeakingModel:
    """The model, its processor and (`adapter=FOLDER`) a LoRA adapter, loaded.

    four_bit: NF4 with double quantisation, computed in bfloat16 (float32 on a CPU). min_pixels, max_pixels: bounds of
    the picture's area after scaling, where the processor has such bounds. temperature 0 is greedy. context (tokens) and
    single_picture say what the model can take: prompts beyond that are refused before the first one (`runs.capacity`).
    """
    options = Options(spec)
    read_common(options)
    low, high = options.whole("min_pixels", None), options.whole("max_pixels", None)
    adapter, attention = options.text("adapter", ""), options.text("attention", "")
    four_bit = options.flag("four_bit", False)
    settings: dict[str, Any] = {
        "batch_size": options.whole("batch_size", 1),
        "temperature": options.number("temperature", 0.0, low=0),
        "seed": options.whole("seed", 0, low=0),
        "most_tokens": options.whole("max_tokens", None),
    }
    options.whole("context", None)
    options.flag("single_picture", False)
    options.done()
    processor = load_processor(source(spec), config.model_type, **hub_options(spec))
    asker = Asker(processor, config.model_type, encodes=bool(getattr(config, "is_encoder_decoder", False)))
    asker.bound(low, high)
    model = _load(spec, config, attention=attention, four_bit=four_bit)
    if adapter:
        model = _with_adapter(model, adapter)
    return SpeakingModel(spec, model.eval(), asker, **settings)


@dataclass(frozen=True)
class SpeakingModel:
    """A loaded model. `most_tokens` bounds the answers beside each prompt's own bound."""

    spec: ModelSpec
    model: Any = field(repr=False)
    asker: Asker = field(repr=False)
    batch_size: int = 1
    temperature: float = 0.0
    seed: int = 0
    most_tokens: int | None = None

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Answers in batches, in order. An unreadable picture, or too little memory for one prompt, is Failed."""
        waiting = iter(prompts)
        while batch := list(islice(waiting, self.batch_size)):
            yield from self._batch(batch)

    def _batch(self, prompts: Sequence[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        good: list[tuple[Prompt, Any]] = []
        for prompt in prompts:
            try:
                good.append((prompt, [picture.image() for picture in prompt.pictures]))
            except DataError as error:
                yield prompt.key, Failed("picture", str(error))
        if good:
            yield from self._generated(good)

    def _generated(self, asked: list[tuple[Prompt, Any]]) -> Iterator[tuple[Key, Reply | Failed]]:
        import torch

        try:
            yield from self._generate(asked)
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            if len(asked) == 1:
                yield asked[0][0].key, Failed("memory", str(error).splitlines()[0])
                return
            for one in asked:
                yield from self._generated([one])

    def _generate(self, asked: list[tuple[Prompt, Any]]) -> list[tuple[Key, Reply]]:
        import torch
        from transformers import LogitsProcessorList

        started = time.monotonic()
        inputs = self.asker.inputs([prompt for prompt, _ in asked], [images for _, images in asked])
        inputs = inputs.to(self.model.device)
        inputs = {k: v.to(self.model.dtype) if _is_float(v) else v for k, v in inputs.items()}
        recorder = Recorder()
        with torch.inference_mode():
            sequences = self.model.generate(
                **inputs,
                max_new_tokens=self._length([prompt for prompt, _ in asked]),
                logits_processor=LogitsProcessorList([recorder]),
                **self._sampling(asked[0][0].key),
            )
        written = sequences[:, sequences.shape[1] - recorder.steps :]
        logprobs = recorder.finish(written)
        seconds = (time.monotonic() - started) / len(asked)
        seen = seen_sizes(inputs, self.asker.processor, [len(images) for _, images in asked])
        replies = []
        for i, (prompt, images) in enumerate(asked):
            reply = self._reply(prompt, written[i].tolist(), logprobs[i])
            sent = tuple(Size(*image.size) for image in images)
            read = int(inputs["attention_mask"][i].sum()) if "attention_mask" in inputs else 0
            assert reply.usage is not None
            usage = Usage(read, reply.usage.output_tokens)
            replies.append((prompt.key, replace(reply, sent=sent, seen=seen[i], usage=usage, seconds=seconds)))
        return replies

    def _reply(self, prompt: Prompt, ids: list[int], logprobs: list[float]) -> Reply:
        """The text up to the end token or the prompt's own bound: other prompts of the batch may have run longer."""
        kept, ended = cut(ids[: self._length([prompt])], self.asker.ends(self.model))
        tokenizer = self.asker.tokenizer
        text = tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        said = tuple(Token(piece, p) for piece, p in zip(pieces(tokenizer, kept), logprobs, strict=False))
        finish = "stop" if ended else "length"
        return Reply(text, finish=finish, tokens=said, usage=Usage(0, len(kept) + ended))  # type: ignore[arg-type]

    def _length(self, prompts: Sequence[Prompt]) -> int:
        longest = max(prompt.max_tokens for prompt in prompts)
        return longest if self.most_tokens is None else min(longest, self.most_tokens)

    def _sampling(self, first: Key) -> dict[str, Any]:
        if self.temperature == 0:
            return {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}
        import torch

        torch.manual_seed(seed_of(first, seed=self.seed))
        return {"do_sample": True, "num_beams": 1, "temperature": self.temperature, "top_p": 1.0, "top_k": 0}


def _is_float(value: Any) -> bool:
    return hasattr(value, "is_floating_point") and bool(value.is_floating_point())


def _load(spec: ModelSpec, config: Any, *, attention: str, four_bit: bool) -> Any:
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    options = {**device_and_dtype(spec), **hub_options(spec)}
    if attention:
        options["attn_implementation"] = attention
    if four_bit:
        options["quantization_config"] = _four_bit(options)
    heads = getattr(config, "auto_map", None) or {}
    remote = "AutoModelForCausalLM" in heads and "AutoModelForImageTextToText" not in heads
    loader = AutoModelForCausalLM if remote else AutoModelForImageTextToText
    try:
        return loader.from_pretrained(source(spec), **options)
    except ImportError as error:
        raise lacking(spec.name, error) from error
    except (OSError, ValueError) as error:
        raise SpecError(f"the weights of {spec.name} cannot be loaded: {str(error).strip().splitlines()[0]}") from error


def _four_bit(options: dict[str, Any]) -> Any:
    """NF4 as QLoRA has it; the picture part stays as it is (`visual` alone would match nothing)."""
    import torch
    from transformers import BitsAndBytesConfig

    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise NotInstalledError.of("bitsandbytes", "hf") from error
    compute = torch.float32 if options["device_map"] == "cpu" else torch.bfloat16
    options["dtype"] = compute
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=compute,
        llm_int8_skip_modules=["model.visual", "model.vision_tower", "model.vision_model", "lm_head"],
    )


def _with_adapter(model: Any, folder: str) -> Any:
    try:
        from peft import PeftModel
    except ImportError as error:
        raise NotInstalledError.of("peft", "hf") from error
    try:
        return PeftModel.from_pretrained(model, folder)
    except (OSError, ValueError) as error:
        raise SpecError(f"no LoRA adapter can be read at {folder!r}: {str(error).splitlines()[0]}") from error
