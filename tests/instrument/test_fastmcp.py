"""FastMCP: the client's own span is the commit; of the other spans that client, SDK and server make, none is a second one."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp.telemetry", reason="fastmcp 4 is not installed")

import fastmcp
import httpx2
from fastmcp import Client, Context, FastMCP, telemetry
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.server.providers.proxy import ProxyTool
from mcp.shared import _otel
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

import turnlog
from instrument.recorder import identities
from programs import commits, run
from recording import Recording
from turnlog import queries, semconv
from turnlog.instrument import instrument, uninstrument_all
from turnlog.operation import use_provider
from turnlog.settings import Settings

PARTS = (FastMCP, FastMCPProviderTool, ProxyTool)


@pytest.fixture(autouse=True)
def _hooked(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_otel, "_tracer", recording.provider.get_tracer("mcp-python-sdk"))
    monkeypatch.setattr(telemetry, "otel_get_tracer", recording.provider.get_tracer)
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)
    use_provider(recording.provider)
    before = [identities(part) for part in PARTS]
    instrument("mcp", "fastmcp", tracer_provider=recording.provider)
    yield
    uninstrument_all()
    use_provider(None)
    assert [identities(part) for part in PARTS] == before
    assert recording.processor.troubles == {}


@pytest.fixture
def server() -> FastMCP:
    server = FastMCP("desk")

    @server.tool
    def add(a: int, b: int) -> int:
        turnlog.note(f"adding {a}")
        return a + b

    @server.tool
    def fail() -> str:
        raise ValueError("kaput")

    @server.tool
    async def hang() -> str:
        await asyncio.sleep(60)
        return "never"

    @server.resource("notes://readme")
    def readme() -> str:
        return "hello"

    @server.resource("notes://picture")
    def picture() -> bytes:
        return b"\xff\xd8"

    @server.prompt
    def greet(name: str) -> str:
        return f"Greet {name}."

    return server


def log(settings: Settings) -> list[tuple[str, str, str]]:
    """Tool, outcome and what came out of every tool call, oldest first."""
    with queries.reading(settings) as db:
        found = db.execute("select tool, outcome, output_summary from commits where kind = 'tool' order by started_ns")
        return found.fetchall()


def committed(recording: Recording) -> list[tuple[str, str, str]]:
    """Scope, kind and name of the spans that are tool calls."""
    found = [span for span in recording.spans if span.attributes.get(semconv.COMMIT_KIND) == "tool"]
    return [(span.instrumentation_scope.name, span.kind.name, span.name) for span in found]


async def test_a_call_is_one_commit_on_the_clients_own_span(server: FastMCP, recording: Recording, settings: Settings) -> None:
    with turnlog.session("s"), turnlog.turn("Add."):
        async with Client(server) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).data == 3
    assert log(settings) == [("add", "ok", "3")]
    assert committed(recording) == [("fastmcp", "CLIENT", "tools/call add")]
    spans = [span for span in recording.spans if "tools/call add" in span.name]
    assert sorted((span.instrumentation_scope.name, span.kind.name) for span in spans) == [
        ("fastmcp", "CLIENT"),
        ("fastmcp", "SERVER"),
        ("mcp-python-sdk", "CLIENT"),
    ]
    (own,) = [span for span in spans if semconv.COMMIT_KIND in span.attributes]
    assert own.attributes[semconv.TOOL_SERVER] == "desk"
    (note,) = [span for span in recording.spans if span.name == "note"]
    assert {(span.attributes["session.id"], span.attributes[semconv.TURN_ID]) for span in [*spans, note]} == {
        ("s", own.attributes[semconv.TURN_ID])
    }
    assert {span.context.trace_id for span in [*spans, note]} == {own.context.trace_id}


@pytest.mark.parametrize("mode", ["propagation_only", "off"])
async def test_without_spans_of_its_own_there_is_one_of_turnlog(
    mode: Any, server: FastMCP, recording: Recording, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastmcp.settings, "telemetry_mode", mode)
    async with Client(server) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
    assert log(settings) == [("add", "ok", "3")]
    assert committed(recording) == [("turnlog.mcp", "CLIENT", "execute_tool add")]


async def test_resources_and_prompts_are_one_commit_each(server: FastMCP, recording: Recording, settings: Settings) -> None:
    async with Client(server) as client:
        await client.read_resource("notes://readme")
        await client.get_prompt("greet", {"name": "Ada"})
    assert log(settings) == [("read_resource", "ok", "hello"), ("get_prompt", "ok", "Greet Ada.")]
    assert [scope for scope, *_ in committed(recording)] == ["fastmcp", "fastmcp"]
    with queries.reading(settings) as db:
        (session,) = queries.sessions(db)
        assert [(row.kind, row.key) for row in queries.working_set(db, session.session_id, 1)] == [("source", "notes://readme")]


async def test_failures_time_limits_and_cancellation_are_told_apart(server: FastMCP, settings: Settings) -> None:
    async with Client(server) as client:
        with pytest.raises(ToolError, match="kaput"):
            await client.call_tool("fail", {})
        with pytest.raises(MCPError, match="timed out"):
            await client.call_tool("hang", {}, timeout=0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.call_tool("hang", {})
    assert [row[:2] for row in log(settings)] == [("fail", "error"), ("hang", "timeout"), ("hang", "cancelled")]


async def test_a_server_that_is_called_without_a_client_records_its_tools(
    server: FastMCP, recording: Recording, settings: Settings
) -> None:
    assert (await server.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    with pytest.raises(ToolError, match="kaput"):
        await server.call_tool("fail", {})
    await server.read_resource("notes://readme")
    await server.read_resource("notes://picture")
    await server.render_prompt("greet", {"name": "Ada"})
    assert log(settings) == [
        ("add", "ok", "3"),
        ("fail", "error", "Error calling tool 'fail': kaput"),
        ("read_resource", "ok", "hello"),
        ("read_resource", "ok", '[{"content":"��","mime_type":"text/plain","meta":null}]'),
        ("get_prompt", "ok", "Greet Ada."),
    ]
    assert len(committed(recording)) == 5


@pytest.fixture(params=["mounted", "proxied"])
def office(request: pytest.FixtureRequest, server: FastMCP) -> FastMCP:
    """A server that passes calls on to another, under other names."""
    office = FastMCP("office")
    inner = server if request.param == "mounted" else create_proxy(Client(server))
    office.mount(inner, "desk", tool_names={"add": "sum_up"})
    return office


@pytest.mark.parametrize("mode", ["native", "off"])
async def test_a_call_that_is_passed_on_to_another_server_is_one_commit(
    mode: Any, office: FastMCP, server: FastMCP, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    @server.resource("notes://{day}/page")
    def page(day: str) -> str:
        return f"on {day}"

    monkeypatch.setattr(fastmcp.settings, "telemetry_mode", mode)
    async with Client(office) as client:
        assert (await client.call_tool("desk_sum_up", {"a": 3, "b": 4})).data == 7
        await client.read_resource("notes://desk/readme")
        await client.read_resource("notes://desk/monday/page")
        await client.get_prompt("desk_greet", {"name": "Ada"})
    await office.call_tool("desk_sum_up", {"a": 1, "b": 2})
    await office.read_resource("notes://desk/readme")
    await office.read_resource("notes://desk/monday/page")
    await office.render_prompt("desk_greet", {"name": "Bob"})
    assert log(settings) == [
        ("desk_sum_up", "ok", "7"),
        ("read_resource", "ok", "hello"),
        ("read_resource", "ok", "on monday"),
        ("get_prompt", "ok", "Greet Ada."),
        ("desk_sum_up", "ok", "3"),
        ("read_resource", "ok", "hello"),
        ("read_resource", "ok", "on monday"),
        ("get_prompt", "ok", "Greet Bob."),
    ]


@pytest.mark.parametrize("has_client", [True, False])
async def test_what_a_tool_asks_of_its_own_server_is_a_commit_of_its_own(
    has_client: bool, server: FastMCP, settings: Settings
) -> None:
    @server.tool
    async def safe_add(a: int, b: int, context: Context) -> int:
        await context.fastmcp.read_resource("notes://readme")
        return (await context.fastmcp.call_tool("add", {"a": a, "b": b})).structured_content["result"]

    @server.prompt
    async def welcome(name: str, context: Context) -> str:
        greeting = (await context.fastmcp.render_prompt("greet", {"name": name})).messages[0].content.text
        return f"{greeting} Twice."

    if has_client:
        async with Client(server) as client:
            await client.call_tool("safe_add", {"a": 1, "b": 2})
            await client.get_prompt("welcome", {"name": "Ada"})
    else:
        await server.call_tool("safe_add", {"a": 1, "b": 2})
        await server.render_prompt("welcome", {"name": "Ada"})
    assert log(settings) == [
        ("safe_add", "ok", "3"),
        ("read_resource", "ok", "hello"),
        ("add", "ok", "3"),
        ("get_prompt", "ok", "Greet Ada. Twice."),
        ("get_prompt", "ok", "Greet Ada."),
    ]


async def test_a_time_limit_of_the_server_is_told_from_a_failure(server: FastMCP, settings: Settings) -> None:
    @server.tool(timeout=0.05)
    async def dawdle() -> str:
        await asyncio.sleep(60)
        return "never"

    @server.tool
    async def ask_upstream() -> str:
        raise httpx2.ReadTimeout("no answer")

    for name in ("dawdle", "ask_upstream"):
        with pytest.raises(ToolError):
            await server.call_tool(name)
    assert [row[:2] for row in log(settings)] == [("dawdle", "timeout"), ("ask_upstream", "timeout")]


async def test_a_question_that_nobody_answers_is_how_the_call_failed(server: FastMCP, settings: Settings) -> None:
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})

    @server.tool
    async def remove(context: Context) -> Any:
        return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})

    async def hesitate(*_: Any) -> Any:
        await asyncio.sleep(60)

    async with Client(server) as client:
        with pytest.raises(MCPError, match="not supported"):
            await client.call_tool("remove", {})
    async with Client(server, elicitation_handler=hesitate) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.call_tool("remove", {})
    assert [row[:2] for row in log(settings)] == [("remove", "error"), ("remove", "cancelled")]
    assert log(settings)[0][2] == "Elicitation not supported"


async def test_a_call_that_asks_something_first_is_one_commit(server: FastMCP, settings: Settings) -> None:
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})

    @server.tool
    async def remove(context: Context) -> Any:
        if context.input_responses is None:
            return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})
        return "removed"

    async def agree(*_: Any) -> Any:
        return ElicitResult(action="accept", content={})

    async with Client(server, elicitation_handler=agree) as client:
        assert (await client.call_tool("remove", {})).content[0].text == "removed"
    assert log(settings) == [("remove", "ok", "removed")]


SERVER = """
from fastmcp import FastMCP
server = FastMCP("desk")
@server.tool
def add(a: int, b: int) -> int:
    return a + b
server.run(show_banner=False, log_level="ERROR")
"""
CLIENT = """
import asyncio, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
async def main(directory, server):
    command = ["-m", "turnlog", "run", sys.executable, server]
    async with Client(StdioTransport(sys.executable, command, env={"TURNLOG_DIR": directory})) as client:
        print((await client.call_tool("add", {"a": 1, "b": 2})).data)
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("client_is_recorded", [True, False])
def test_two_processes_make_one_commit_in_a_store(client_is_recorded: bool, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    recorded = (sys.executable, "-m", "turnlog", "run") if client_is_recorded else ()
    store = tmp_path / "store"
    done = run(*(*recorded, sys.executable, tmp_path / "client.py", store, tmp_path / "server.py"), directory=store)
    assert done.stdout == "3\n"
    assert commits(store) == [(1, "tool", "add", "ok")]
    with queries.reading(Settings(directory=store)) as db:
        assert len(queries.sessions(db)) == 1
