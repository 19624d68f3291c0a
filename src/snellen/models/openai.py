"""`openai/NAME`: any server that speaks OpenAI's chat completions, by the official client on its aiohttp transport.

The client gives authentication, connections and errors; bodies are ours (made before they are sent, so that a retry
costs nothing) and so are retries, so that every attempt is counted and a server's wish for a pause holds all requests.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Failed, Key, Prompt, Reply
from snellen.models.chance import seed_of
from snellen.models.chat import messages, read_response, response_format
from snellen.models.options import Options
from snellen.models.pump import Ask, pump
from snellen.models.retrying import AttemptError, Gate, persist, retry_after
from snellen.models.sending import LEAST_PIXELS, Prepared

if TYPE_CHECKING:
    import openai as openai_errors
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
PASSING = frozenset({408, 409, 425, 429})
"""Statuses that may pass; all from 500 up do too. Any other says that the request itself is wrong."""
CHUNK = 2**18
BIG_BODY = 2**20


class Job(NamedTuple):
    """A request, ready to be sent as often as it takes."""

    body: bytes
    sent: tuple[Size, ...]


@dataclass(frozen=True)
class OpenAIModel:
    """A model behind an OpenAI-compatible server. `body` holds the fields that every request has."""

    spec: ModelSpec
    base_url: str
    key: str = field(repr=False)
    body: dict[str, Any]
    max_tokens_field: str = "max_tokens"
    max_tokens: int | None = None
    seed: int | None = None
    json_schema: bool = True
    detail: str | None = None
    max_pixels: int | None = None
    max_bytes: int | None = None
    concurrency: int = 16
    attempts: int = 6
    timeout: float = 180.0
    requests_per_second: float | None = None

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """Answers as each is done, at most `concurrency` at once. A picture that cannot be read is Failed."""
        return pump(self._jobs(prompts), self._open, concurrency=self.concurrency)

    def request(self, prompt: Prompt, pictures: Prepared) -> Job:
        """The body of one request. DataError where a picture cannot be read."""
        said, sizes = messages(prompt, pictures, detail=self.detail)
        body = self.body | {"messages": said, self.max_tokens_field: self.max_tokens or prompt.max_tokens}
        if self.seed is not None:
            body["seed"] = seed_of(prompt.key, seed=self.seed)
        if self.json_schema:
            body |= response_format(prompt)
        return Job(orjson.dumps(body), sizes)

    def _jobs(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Job | Failed]]:
        pictures = Prepared(max_pixels=self.max_pixels, max_bytes=self.max_bytes)
        for prompt in prompts:
            try:
                yield prompt.key, self.request(prompt, pictures)
            except DataError as error:
                yield prompt.key, Failed("picture", str(error))

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Ask[Job]]:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        limits = httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        transport = DefaultAioHttpClient(limits=limits, timeout=httpx2.Timeout(self.timeout, connect=30.0, pool=None))
        client = AsyncOpenAI(api_key=self.key, base_url=self.base_url, max_retries=0, http_client=transport)
        gate = Gate(self.requests_per_second)

        async def ask(job: Job) -> Reply | Failed:
            answer = await persist(lambda: self._once(client, job), gate, attempts=self.attempts)
            return replace(answer, message=self._safe(answer.message)) if isinstance(answer, Failed) else answer

        async with client:
            yield ask

    async def _once(self, client: AsyncOpenAI, job: Job) -> Reply:
        import httpx2
        import openai

        started = time.monotonic()
        try:
            async with asyncio.timeout(self.timeout):
                response = await client.post(
                    "/chat/completions", cast_to=httpx2.Response, content=_content(job.body), options=_options(job.body)
                )
        except openai.APIStatusError as error:
            if _filtered(error):
                return Reply(finish="refused", sent=job.sent, seconds=round(time.monotonic() - started, 4))
            raise self._failed(error) from error
        except (TimeoutError, openai.APIConnectionError, httpx2.HTTPError) as error:
            causes = _causes(error)  # the transport calls a server that is not there a timeout: look beneath
            if any(isinstance(cause, TimeoutError) for cause in causes):
                raise AttemptError("timeout", f"no answer within {self.timeout:g} s") from error
            raise AttemptError("connection", str(causes[-1]) or type(causes[-1]).__name__) from error
        return read_response(response.content, sent=job.sent, seconds=time.monotonic() - started)

    def _failed(self, error: openai_errors.APIStatusError) -> AttemptError:
        status, headers = error.status_code, error.response.headers
        wait = retry_after(headers.get("retry-after-ms"), headers.get("retry-after"))
        passing = status >= 500 or status in PASSING
        return AttemptError(f"http-{status}", str(error.message), passing, wait)

    def _safe(self, message: str) -> str:
        """What is stored of a failure: servers and gateways echo keys in whatever they say."""
        return message.replace(self.key, "***")[:300]


def _causes(error: BaseException) -> list[BaseException]:
    found = [error]
    while (cause := found[-1].__cause__) is not None:
        found.append(cause)
    return found


def _filtered(error: openai_errors.APIStatusError) -> bool:
    """Whether the provider's filter refused the request: that is an answer, not a failure."""
    return isinstance(error.body, dict) and error.body.get("code") == "content_filter"


def _options(body: bytes) -> Any:
    headers = {"Content-Length": str(len(body))} if len(body) >= BIG_BODY else {}
    return {"headers": headers, "security": {"bearer_auth": True}}


def _content(body: bytes) -> bytes | AsyncIterator[bytes]:
    """Large bodies in pieces: in one, they would hold up the loop."""
    return body if len(body) < BIG_BODY else _pieces(body)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), CHUNK):
        yield body[start : start + CHUNK]


def openai(spec: ModelSpec, task: AnyTask | None = None) -> OpenAIModel:
    """`openai/NAME -M base_url=http://localhost:8000/v1`; see docs/models.md for the options.

    The key comes from the environment (OPENAI_API_KEY, or the variable that `key_env` names), never from an option.
    """
    if not spec.name:
        raise SpecError(f"a model of openai is named openai/NAME, got {str(spec)!r}")
    options = Options(spec)
    base_url = _checked_url(options.text("base_url", os.environ.get("OPENAI_BASE_URL") or OPENAI_URL))
    body = {
        "model": spec.name,
        **options.present("temperature", options.number("temperature", 0.0, low=0)),
        **options.present("top_p", options.number("top_p", None, low=0, high=1)),
        **({"logprobs": True} if options.flag("logprobs", False) else {}),
        **options.mapping("extra"),
    }
    default_field = "max_completion_tokens" if base_url.startswith(OPENAI_URL) else "max_tokens"
    model = OpenAIModel(
        spec=ModelSpec("openai", spec.name, {**spec.options, "base_url": base_url}),
        base_url=base_url,
        key=_key(options.text("key_env", "OPENAI_API_KEY"), base_url),
        body=body,
        max_tokens_field=options.text("max_tokens_field", default_field),
        max_tokens=options.whole("max_tokens", None),
        seed=options.whole("seed", None, low=0),
        json_schema=options.flag("json_schema", True),
        detail=options.text("detail", "") or None,
        max_pixels=options.whole("max_pixels", None, low=LEAST_PIXELS),
        max_bytes=options.whole("max_bytes", None),
        concurrency=options.whole("concurrency", 16) or 16,
        attempts=options.whole("attempts", 6) or 6,
        timeout=options.number("timeout", 180.0, low=0.001) or 180.0,
        requests_per_second=options.number("requests_per_second", None, low=1e-6),
    )
    options.done(aside=("price", "context", "single_picture"))
    return model


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SpecError(f"base_url must be http(s)://HOST[:PORT]/v1, got {url!r}")
    if parts.username or parts.password or parts.query:
        raise SpecError("base_url must hold no user, password or query: keys come from the environment (key_env=NAME)")
    return url.rstrip("/")


def _key(name: str, base_url: str) -> str:
    key = os.environ.get(name)
    if key:
        return key
    if base_url.startswith(OPENAI_URL):
        raise SpecError(f"the environment has no {name}: export it, or name another variable with -M key_env=NAME")
    return "no-key"
