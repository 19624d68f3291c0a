"""The chat-completions form: prompts as request bodies, response bodies as replies. Plain JSON both ways.

Responses are read as they come, not as a schema says: servers leave fields out, or ignore what they cannot do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from snellen.core.pictures import Size
from snellen.core.stages import Finish, Prompt, Reply, Token, Usage
from snellen.models.retrying import AttemptError
from snellen.models.sending import Prepared

FINISHES: Mapping[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "refused"}
"""A server's finish reason -> ours; any other is a stop."""


def messages(prompt: Prompt, pictures: Prepared, *, detail: str | None = None) -> tuple[list[Any], tuple[Size, ...]]:
    """The prompt's turns as messages, and the sizes of its pictures as sent."""
    sizes: list[Size] = []
    out: list[Any] = []
    for turn in prompt.turns:
        parts: list[Any] = []
        for part in turn.parts:
            if isinstance(part, str):
                parts.append({"type": "text", "text": part})
                continue
            url, size = pictures.url(part)
            sizes.append(size)
            image = {"url": url} if detail is None else {"url": url, "detail": detail}
            parts.append({"type": "image_url", "image_url": image})
        plain = len(parts) == 1 and parts[0]["type"] == "text"
        out.append({"role": turn.role, "content": parts[0]["text"] if plain else parts})
    return out, tuple(sizes)


def response_format(prompt: Prompt) -> dict[str, Any]:
    """What makes a server keep to the prompt's schema, if it has one."""
    if prompt.schema is None:
        return {}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(prompt.schema)}}}


def read_response(data: bytes, *, sent: tuple[Size, ...], seconds: float) -> Reply:
    """A response body as a reply. AttemptError (passing) where there is no answer in it."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise AttemptError("no-json", f"the response is no JSON: {data[:80]!r}") from error
    if not isinstance(body, dict):
        raise AttemptError("no-json", f"the response is no JSON object: {data[:80]!r}")
    if body.get("error"):  # some gateways say 200 and mean an error
        raise AttemptError("error-in-body", str(body["error"]))
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise AttemptError("empty-choice", "the response holds no choice with a message")
    finish = FINISHES.get(str(choice.get("finish_reason")), "stop")
    text = _content(message.get("content"))
    if message.get("refusal"):
        finish, text = "refused", text or str(message["refusal"])
    if text is None and finish == "stop":
        raise AttemptError(
            "empty-choice", f"the message has no content (finish reason {choice.get('finish_reason')!r})"
        )
    return Reply(
        text=text or "",
        finish=finish,
        sent=sent,
        usage=_usage(body.get("usage")),
        seconds=round(seconds, 4),
        tokens=_tokens(choice.get("logprobs")),
        served_by=_served_by(body),
    )


def _content(content: Any) -> str | None:
    if isinstance(content, list):
        texts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict) or not isinstance(usage.get("prompt_tokens"), int):
        return None
    return Usage(usage["prompt_tokens"], usage.get("completion_tokens") or 0)


def _tokens(logprobs: Any) -> tuple[Token, ...] | None:
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(rows, list) or not all(isinstance(r, dict) and "token" in r and "logprob" in r for r in rows):
        return None
    return tuple(Token(str(row["token"]), float(row["logprob"])) for row in rows)


def _served_by(body: Mapping[str, Any]) -> str | None:
    model, mark = body.get("model"), body.get("system_fingerprint")
    if not isinstance(model, str) or not model:
        return None
    return f"{model} ({mark})" if mark else model
