"""What stands around an answer: reasoning, special tokens, answer boxes, and the words of a refusal."""

from __future__ import annotations

import re

_TAGS = r"(?:think(?:ing)?|reasoning|thoughts?|analysis|scratchpad|reflection)>"
_OPEN = rf"<{_TAGS}|◁think▷|\[THINK\]|<\|START_THINKING\|>|<\|channel\|>analysis<\|message\|>"
_CLOSE = rf"</{_TAGS}|◁/think▷|\[/THINK\]|<\|END_THINKING\|>|<\|channel\|>final<\|message\|>"
_THOUGHT = re.compile(f"(?P<open>{_OPEN})|(?P<close>{_CLOSE})", re.IGNORECASE)

_CHAT_TOKENS = re.compile(
    r"<\|(?:im_start|im_end|end|eot_id|endoftext|assistant|user|return|begin▁of▁sentence|end▁of▁sentence)\|>"
    r"|<｜(?:begin▁of▁sentence|end▁of▁sentence|Assistant|User)｜>"
    r"|<(?:s|/s|pad|eos|bos|unk|end_of_turn|start_of_turn|end_of_utterance|image|grounding)>",
    re.IGNORECASE,
)
_ANSWER_BOX = (
    re.compile(r"<answer>(.*?)(?:</answer>|$)", re.IGNORECASE | re.DOTALL),
    re.compile(r"\\boxed\{([^{}]*)\}"),
    re.compile(r"<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|$)", re.DOTALL),
)
_ANSWER_SIGNS = re.compile(r"<\|(?:begin|end)_of_box\|>")
_NUMBER_OR_EMPTY = re.compile(r"\d|\[\s*\]")
_NUMBERS_IN_TAGS = re.compile(
    r"<(bbox|point)>([\s\d.,，+\-]{1,200})</\1>|(?<=[\"'])<box>([\s\d.,，+\-]{1,200})</box>(?=[\"'])"
)
_CUT_TAG = re.compile(r"<(?:bbox|point)>([\s\d.,，+\-]*)(?:</?[a-z]*)?$")
_REFUSAL = re.compile(
    r"\b(?:i|we)(?: a|')?m (?:sorry|afraid|unable|not able|not allowed)"
    r"|\b(?:i|we) (?:can(?: ?not|'?t)|could(?: not|n'?t)|won'?t|will not|do not|don'?t|am not able to|am unable to)"
    r" (?:help|assist|comply|provide|see|view|detect|identify|determine|find|locate|access|process|answer|do that"
    r"|fulfil|discern|tell|recogni[sz]e|analy[sz]e|produce|give|make out|complete|continue|support|share)"
    r"|\bas an ai\b|\bunable to (?:help|assist|comply|provide|see|view|detect|identify|determine|process)"
    r"|(?:against|violates?) (?:my|our|the) (?:\w+ ){0,2}(?:policy|policies|guidelines)"
    r"|无法(?:识别|提供|看到|确定|帮助|完成|处理)|不能(?:提供|帮助)|抱歉|对不起|申し訳"
    r"|\btut mir leid|\bich kann (?:\w+ ){0,4}nicht\b|\blo siento\b|\bno puedo\b|\bdésolée?\b|\bne peux pas\b"
    r"|\bmi dispiace\b|\bnon posso\b|\bnão posso\b|죄송",
    re.IGNORECASE,
)


def final_part(text: str) -> tuple[str, bool]:
    """What follows the reasoning, and whether the reasoning ended at all.

    A closing tag without an opening one counts (chat templates put the opening tag into the prompt). Reasoning that
    never ends leaves no answer: `("", False)`.
    """
    start, thinking = 0, False
    for mark in _THOUGHT.finditer(text):
        thinking = mark["open"] is not None
        if not thinking:
            start = mark.end()
    return ("", False) if thinking else (text[start:], True)


def without_chat_tokens(text: str) -> str:
    """The text without the end, turn and padding tokens of chat templates and without a byte-order mark."""
    return _CHAT_TOKENS.sub(" ", text.removeprefix("\ufeff"))


def boxed_answer(text: str) -> str:
    """The inside of the last `<answer>`, `<|begin_of_box|>` or `\\boxed{}`, else the text itself."""
    for pattern in _ANSWER_BOX:
        inside = pattern.findall(text)
        if inside:
            return str(inside[-1])
    return text


def grounded_answer(text: str) -> str:
    """The inside of the last `<answer>` or `\\boxed{}` that holds a number or an empty list, else the text without its
    answer signs.
    """
    for pattern in _ANSWER_BOX[:2]:
        inside = pattern.findall(text)
        if inside and _NUMBER_OR_EMPTY.search(inside[-1]):
            return str(inside[-1])
    return _ANSWER_SIGNS.sub(" ", text)


def with_brackets(text: str) -> str:
    """The text with Seed's `<bbox>1 2 3 4</bbox>` and `<point>1 2</point>` (and `"<box>1 2 3 4</box>"` in a string) as
    `[1 2 3 4]`; a tag that the text's end cuts stays open.
    """
    return _CUT_TAG.sub(r"[\1", _NUMBERS_IN_TAGS.sub(r"[\2\3]", text))


def is_refusal(text: str) -> bool:
    """Whether the reply says in words that it will not or cannot answer."""
    return _REFUSAL.search(text.replace("\u2019", "'")) is not None
