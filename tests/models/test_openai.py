"""The OpenAI-compatible model, over real HTTP on loopback."""

from __future__ import annotations

import asyncio
import base64
import io
import time

import numpy as np
import pytest
from aiohttp import web
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Token, Turn, Usage
from snellen.models.table import build


def png(width: int = 8, height: int = 6) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(buffer, "PNG")
    return buffer.getvalue()


def prompt(name: str = "a", *, data: bytes | None = None, **fields) -> Prompt:
    parts = ("What colour?",) if data is None else (Picture(f"{name}.png", lambda: data), "What colour?")
    return Prompt(Key(name), (Turn("system", ("Be brief.",)), Turn("user", parts)), "choice", **fields)


def ask(model, *prompts: Prompt) -> dict[Key, Reply | Failed]:
    return dict(model.answer(prompts or [prompt()]))


def answer(model, asked: Prompt | None = None) -> Reply | Failed:
    (found,) = ask(model, asked or prompt()).values()
    return found


def test_a_request_holds_the_turns_in_order_and_greedy_decoding(server) -> None:
    answer(server.model(), prompt(data=png(), max_tokens=5))
    (body,) = server.bodies
    assert body["model"] == "vlm"
    assert body["temperature"] == 0
    assert body["max_tokens"] == 5
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    picture, text = body["messages"][1]["content"]
    assert text == {"type": "text", "text": "What colour?"}
    assert picture["type"] == "image_url"


def test_the_bytes_of_an_upright_png_are_sent_unchanged(server) -> None:
    data = png(40, 30)
    reply = answer(server.model(), prompt(data=data))
    url = server.bodies[0]["messages"][1]["content"][0]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == data
    assert reply.sent == (Size(40, 30),)


def test_a_reply_holds_text_usage_latency_and_who_served_it(server) -> None:
    reply = answer(server.model())
    assert (reply.text, reply.finish, reply.usage, reply.served_by) == ("red", "stop", Usage(7, 2), "served")
    assert 0 < reply.seconds < 5


@pytest.mark.parametrize(
    ("response", "text", "finish"),
    [
        ({"content": "a long sto", "finish": "length"}, "a long sto", "length"),
        ({"content": None, "finish": "length"}, "", "length"),
        ({"content": None, "message": {"refusal": "No."}}, "No.", "refused"),
        ({"content": "", "finish": "content_filter"}, "", "refused"),
        ({"content": [{"type": "text", "text": "re"}, {"type": "text", "text": "d"}]}, "red", "stop"),
        ({"content": ""}, "", "stop"),
    ],
    ids=["cut", "cut before a word", "refusal", "filter", "parts", "says nothing"],
)
def test_what_a_model_says_is_a_reply_however_bad(server, response, text, finish) -> None:
    server.respond = server.always(server.completion(**response))
    reply = answer(server.model())
    assert (reply.text, reply.finish) == (text, finish)
    assert len(server.bodies) == 1


def test_a_filter_that_refuses_the_request_is_a_refusal(server) -> None:
    server.respond = server.always({"error": {"message": "filtered", "code": "content_filter"}}, 400)
    assert answer(server.model()).finish == "refused"


async def _cut(request: web.Request, asked: object) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [{"mess')
    request.transport.close()
    return response


async def _hang(request: web.Request, asked: object) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits for this")


WORLD = {
    "http-500": lambda s: s.always({"error": {"message": "bad day"}}, 500),
    "http-429": lambda s: s.always({"error": {"message": "slow down"}}, 429, **{"Retry-After": "0"}),
    "connection": lambda s: _cut,
    "timeout": lambda s: _hang,
    "empty-choice": lambda s: s.always({"choices": []}),
    "no-json": lambda s: s.always("<html>gateway</html>"),
    "error-in-body": lambda s: s.always({"error": {"message": "overloaded"}}),
}


@pytest.mark.parametrize("cause", WORLD)
def test_what_the_world_does_is_tried_again_and_then_failed(server, cause) -> None:
    server.respond = WORLD[cause](server)
    found = answer(server.model(attempts=2, timeout=0.3))
    assert isinstance(found, Failed)
    assert (found.cause, found.attempts, len(server.bodies)) == (cause, 2, 2)


@pytest.mark.parametrize("cause", WORLD)
def test_a_trouble_that_passes_leaves_no_trace(server, cause) -> None:
    server.one_after_the_other(WORLD[cause](server), server.always(server.completion("blue")))
    assert answer(server.model(timeout=0.3)).text == "blue"


def test_a_null_content_without_a_reason_is_no_answer(server) -> None:
    server.respond = server.always(server.completion(None))
    assert answer(server.model(attempts=1)).cause == "empty-choice"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_is_wrong_is_not_tried_again(server, status) -> None:
    server.respond = server.always({"error": {"message": "wrong"}}, status)
    found = answer(server.model())
    assert (found.cause, found.attempts, len(server.bodies)) == (f"http-{status}", 1, 1)
    assert "wrong" in found.message


def test_a_server_that_is_not_there_is_failed() -> None:
    model = build(ModelSpec("openai", "x", {"base_url": "http://127.0.0.1:9/v1", "attempts": 1}))
    assert answer(model).cause == "connection"


def test_retry_after_is_respected(server) -> None:
    server.one_after_the_other(
        server.always({}, 429, **{"Retry-After": "0.4"}), server.always(server.completion("late"))
    )
    started = time.monotonic()
    assert answer(server.model()).text == "late"
    assert time.monotonic() - started >= 0.4


def test_a_pause_longer_than_anyone_waits_ends_the_request(server) -> None:
    server.respond = server.always({}, 429, **{"Retry-After": "86400"})
    found = answer(server.model())
    assert (found.cause, found.attempts) == ("http-429", 1)


def test_answers_come_as_they_are_done_and_a_hung_request_holds_nothing_back(server) -> None:
    async def respond(request: web.Request, asked):
        return await (_hang if "slow" in str(asked) else server.always(server.completion()))(request, asked)

    server.respond = respond
    slow = Prompt(Key("slow"), (Turn("user", ("slow",)),))
    prompts = [slow, *(prompt(str(i)) for i in range(30))]
    order = [key.sample for key, _ in server.model(concurrency=2, attempts=1, timeout=1.5).answer(prompts)]
    assert len(order) == 31
    assert order[-1] == "slow"


def test_no_more_requests_are_out_than_allowed(server) -> None:
    async def respond(request: web.Request, asked):
        await asyncio.sleep(0.02)
        return web.json_response(server.completion())

    server.respond = respond
    ask(server.model(concurrency=3), *(prompt(str(i)) for i in range(20)))
    assert server.most_at_once == 3


def test_prompts_are_pulled_only_as_fast_as_they_can_be_asked(server) -> None:
    pulled = []

    def source():
        for i in range(1000):
            pulled.append(i)
            yield prompt(str(i))

    answers = server.model(concurrency=2).answer(source())
    next(answers)
    assert len(pulled) < 20
    answers.close()


def test_the_rate_limit_holds(server) -> None:
    started = time.monotonic()
    ask(server.model(requests_per_second=20, concurrency=8), *(prompt(str(i)) for i in range(9)))
    assert time.monotonic() - started >= 8 / 20


def test_two_askings_of_one_model_do_not_disturb_each_other(server) -> None:
    model = server.model()
    assert len(ask(model, prompt("a"), prompt("b"))) == len(ask(model, prompt("a"), prompt("b"))) == 2


def test_it_works_where_an_event_loop_runs_already(server) -> None:
    async def notebook() -> Reply | Failed:
        return answer(server.model())

    assert asyncio.run(notebook()).text == "red"


def test_a_large_body_arrives_whole(server) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (800, 800, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "PNG")
    assert len(buffer.getvalue()) > 2**20
    assert answer(server.model(), prompt(data=buffer.getvalue())).text == "red"
    url = server.bodies[0]["messages"][1]["content"][0]["image_url"]["url"]
    assert base64.b64decode(url.partition(",")[2]) == buffer.getvalue()


def test_max_pixels_scales_down_and_tells_the_size_sent(server) -> None:
    reply = answer(server.model(max_pixels=900), prompt(data=png(120, 30)))
    assert reply.sent == (Size(60, 15),)
    url = server.bodies[0]["messages"][1]["content"][0]["image_url"]["url"]
    assert Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size == (60, 15)


def test_a_picture_that_cannot_be_read_is_failed_and_the_others_go_on(server) -> None:
    found = ask(server.model(), prompt("bad", data=b"no picture"), prompt("good", data=png()))
    assert found[Key("bad")].cause == "picture"
    assert "bad.png" in found[Key("bad")].message
    assert found[Key("good")].text == "red"


def test_log_probabilities_are_kept(server) -> None:
    rows = {"content": [{"token": "re", "logprob": -0.1}, {"token": "d", "logprob": -0.2}]}
    server.respond = server.always(server.completion(logprobs=rows))
    assert answer(server.model(logprobs=True)).tokens == (Token("re", -0.1), Token("d", -0.2))
    assert server.bodies[0]["logprobs"] is True


def test_a_server_that_ignores_log_probabilities_leaves_them_absent(server) -> None:
    assert answer(server.model(logprobs=True)).tokens is None


@pytest.mark.parametrize("wanted", [True, False])
def test_the_schema_is_sent_where_it_is_wanted(server, wanted) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    answer(server.model(json_schema=wanted), prompt(schema=schema))
    sent = server.bodies[0].get("response_format")
    assert (sent == {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}) is wanted
    assert (sent is None) is not wanted


def test_options_of_decoding_reach_the_server(server) -> None:
    model = server.model(temperature=0.7, top_p=0.9, seed=5, max_tokens=99, max_tokens_field="max_completion_tokens",
                         extra={"reasoning_effort": "low"}, detail="high")  # fmt: skip
    answer(model, prompt(data=png()).drawn(2))
    body = server.bodies[0]
    assert (body["temperature"], body["top_p"], body["max_completion_tokens"]) == (0.7, 0.9, 99)
    assert body["reasoning_effort"] == "low"
    assert body["messages"][1]["content"][0]["image_url"]["detail"] == "high"


def test_every_request_has_a_seed_of_its_own_and_the_same_again(server) -> None:
    model = server.model(temperature=1, seed=5, concurrency=1)
    asked = [prompt(name).drawn(draw) for name in ("a", "b") for draw in range(3)]
    for _ in range(2):
        ask(model, *asked)
    ask(server.model(temperature=1, seed=6, concurrency=1), *asked)
    seeds = [body["seed"] for body in server.bodies]
    assert seeds[:6] == seeds[6:12]
    assert len(set(seeds)) == 12
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_temperature_null_is_left_out(server) -> None:
    answer(server.model(temperature=None))
    assert "temperature" not in server.bodies[0]


@pytest.mark.parametrize("status", [401, 503, 200], ids=["refused", "a bad day", "a gateway that says 200"])
def test_the_key_comes_from_the_environment_and_stands_nowhere_else(server, monkeypatch, status) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    server.respond = server.always({"error": {"message": "bad key sk-very-secret"}}, status)
    model = server.model(key_env="MY_KEY", attempts=1)
    found = answer(model)
    assert server.headers[0]["Authorization"] == "Bearer sk-very-secret"
    assert "sk-very-secret" not in repr(model) + str(model.spec.to_json()) + repr(found)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"api_key": "sk-1"}, "environment"),
        ({"extra": {"Authorization": "Bearer sk-1"}}, "environment"),
        ({"base_url": "http://user:pw@host/v1"}, "environment"),
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"temprature": 1}, "Did you mean 'temperature'"),
        ({"concurrency": 0}, "at least 1"),
        ({"timeout": "long"}, "a number"),
        ({"logprobs": 1}, "true or false"),
        ({"extra": "x"}, "a JSON object"),
    ],
)
def test_a_bad_option_is_refused_with_its_reason(options, word) -> None:
    with pytest.raises(SpecError, match=word):
        build(ModelSpec("openai", "x", {"base_url": "http://h/v1", **options}))


def test_openai_itself_needs_a_key(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SpecError, match="OPENAI_API_KEY"):
        build(ModelSpec("openai", "gpt-4o"))


def test_an_example_picture_is_encoded_once(server) -> None:
    looked = []
    data = png()

    def load() -> bytes:
        looked.append(1)
        return data

    example = Picture("example.png", load)
    prompts = [Prompt(Key(str(i)), (Turn("user", (example, "and?")),)) for i in range(5)]
    ask(server.model(), *prompts)
    assert len(looked) == 1
