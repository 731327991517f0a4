"""MCP calls: one commit for client and server, in one process or two, and none for the hop of a framework's tool."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.client.client", reason="mcp 2 is not installed")

import uvicorn
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import StreamableHTTPTransport
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared import _otel, jsonrpc_dispatcher
from mcp.shared.exceptions import MCPError
from mcp_types import REQUEST_TIMEOUT, ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

import turnlog
from instrument.recorder import identities
from programs import commits, run
from recording import Recording
from turnlog import queries, semconv
from turnlog.instrument import instrument, uninstrument_all
from turnlog.instrument.calls import Account, Call, Hook, Start, begin
from turnlog.instrument.drivers import complete_async
from turnlog.operation import use_provider
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings

Row = tuple[str, str, str, str]
PARTS = (Client, ClientSession, OpenTelemetryMiddleware, StreamableHTTPTransport, jsonrpc_dispatcher)


@pytest.fixture(autouse=True)
def _hooked(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_otel, "_tracer", recording.provider.get_tracer("mcp-python-sdk"))
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    use_provider(recording.provider)
    # A protocol's class gets its __init__ when it is first called.
    OpenTelemetryMiddleware()
    before = [identities(part) for part in PARTS]  # type: ignore[arg-type]
    instrument("mcp", tracer_provider=recording.provider)
    yield
    uninstrument_all()
    use_provider(None)
    assert [identities(part) for part in PARTS] == before  # type: ignore[arg-type]
    assert recording.processor.troubles == {}


@pytest.fixture
def server() -> MCPServer:
    server = MCPServer("desk", log_level="WARNING")

    @server.tool()
    def add(a: int, b: int) -> int:
        turnlog.note(f"adding {a}")
        return a + b

    @server.tool()
    def fail() -> str:
        raise ValueError("kaput")

    @server.tool()
    async def hang() -> str:
        await asyncio.sleep(60)
        return "never"

    @server.resource("https://example.com/readme")
    def page() -> str:
        return "hello from afar"

    @server.resource("notes://readme")
    def readme() -> str:
        return "hello"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Greet {name}."

    return server


def log(settings: Settings) -> list[Row]:
    """Kind, tool, outcome and what came out of every commit, oldest first."""
    with queries.reading(settings) as db:
        found = db.execute("select kind, tool, outcome, output_summary from commits order by started_ns, ended_ns")
        return found.fetchall()


def tool_span(recording: Recording, tool: str = "") -> dict[str, Any]:
    (found,) = [span for span in recording.spans if semconv.COMMIT_KIND in span.attributes and tool in span.name]
    return dict(found.attributes)


async def test_a_call_is_one_commit_and_what_the_tool_does_is_inside(
    server: MCPServer, recording: Recording, settings: Settings
) -> None:
    with turnlog.session("s"), turnlog.turn("Add."):
        async with Client(server) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    assert log(settings) == [("tool", "add", "ok", "3"), ("note", "", "ok", "")]
    said = tool_span(recording, "execute_tool add")
    assert (said["mcp.method.name"], said[semconv.TOOL_SERVER], said["session.id"]) == ("tools/call", "desk", "s")
    by_id = {span.context.span_id: span for span in recording.spans}
    (note,) = [span for span in recording.spans if span.name == "note"]
    native = by_id[note.parent.span_id]
    assert (native.name, by_id[native.parent.span_id].name) == ("tools/call add", "execute_tool add")
    assert {span.attributes["session.id"] for span in recording.spans if "list" not in span.name} == {"s"}


async def test_a_resource_is_a_source_and_unverified_when_it_is_from_outside(server: MCPServer, settings: Settings) -> None:
    async with Client(server) as client:
        await client.read_resource("https://example.com/readme")
        await client.read_resource("notes://readme")
        assert (await client.get_prompt("greet", {"name": "Ada"})).messages[0].content.text == "Greet Ada."
    with queries.reading(settings) as db:
        rows = db.execute("select tool, source_kind, verified, input_summary, output_summary from commits order by started_ns")
        assert rows.fetchall() == [
            ("read_resource", "retrieved", "false", '{"uri":"https://example.com/readme"}', "hello from afar"),
            ("read_resource", "tool_output", "", '{"uri":"notes://readme"}', "hello"),
            ("get_prompt", "tool_output", "", '{"name":"greet","arguments":{"name":"Ada"}}', "Greet Ada."),
        ]
        (session,) = queries.sessions(db)
        entries = [(row.kind, row.key) for row in queries.working_set(db, session.session_id, 1)]
    assert sorted(entries) == [("source", "https://example.com/readme"), ("source", "notes://readme")]


async def test_failures_time_limits_and_cancellation_are_told_apart(server: MCPServer, settings: Settings) -> None:
    async with Client(server) as client:
        assert (await client.call_tool("fail", {})).is_error
        with pytest.raises(MCPError, match="Timed out"):
            await client.call_tool("hang", {}, read_timeout_seconds=0.05)
        with pytest.raises(MCPError):
            await client.get_prompt("nobody")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.call_tool("hang", {})
    with queries.reading(settings) as db:
        rows = db.execute("select tool, outcome, error from commits order by started_ns").fetchall()
    assert rows == [
        ("fail", "error", "tool_error"),
        ("hang", "timeout", "timeout"),
        ("get_prompt", "error", "mcp.shared.exceptions.MCPError"),
        ("hang", "cancelled", "CancelledError"),
    ]


async def test_the_application_gets_the_same_exception(server: MCPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    error = ConnectionError("gone")

    async def send(*_: Any) -> Any:
        raise error

    async with Client(server) as client:
        with monkeypatch.context() as patched, pytest.raises(ConnectionError) as caught:
            patched.setattr(client.session._dispatcher, "send_raw_request", send)
            await client.call_tool("add", {"a": 1, "b": 2})
    assert caught.value is error


@pytest.mark.parametrize("name", ["add", "desk_add", "mcp__desk__add"])
async def test_inside_a_frameworks_call_of_the_same_tool_there_is_no_second_commit(
    name: str, server: MCPServer, recording: Recording, settings: Settings
) -> None:
    async with Client(server) as client:

        @turnlog.tool(name=name)
        async def forward(a: int, b: int) -> str:
            with recording.tracer.start_as_current_span("in between"):
                return (await client.call_tool("add", {"a": a, "b": b})).content[0].text

        assert await forward(1, 2) == "3"
    assert [row[1] for row in log(settings)] == [name, ""]
    said = tool_span(recording, name)
    assert (said["mcp.method.name"], said[semconv.TOOL_SERVER]) == ("tools/call", "desk")


async def test_another_tool_that_a_tool_calls_is_a_commit_of_its_own(server: MCPServer, settings: Settings) -> None:
    async with Client(server) as client:

        @turnlog.tool
        async def sum_up() -> str:
            await client.read_resource("notes://readme")
            return (await client.call_tool("add", {"a": 1, "b": 2})).content[0].text

        assert await sum_up() == "3"
    assert [row[1] for row in log(settings) if row[0] == "tool"] == ["sum_up", "read_resource", "add"]


@pytest.mark.parametrize("name", ["add", "double_add"])
async def test_other_arguments_are_another_call_whatever_the_name(name: str, server: MCPServer, settings: Settings) -> None:
    async with Client(server) as client:

        @turnlog.tool(name=name)
        async def double(a: int, b: int) -> str:
            await client.call_tool("add", {"a": a, "b": a})
            return (await client.call_tool("add", {"a": 2 * a, "b": 2 * b})).content[0].text

        assert await double(1, 2) == "6"
    assert [row[1:] for row in log(settings) if row[0] == "tool"] == [(name, "ok", "6"), ("add", "ok", "2"), ("add", "ok", "6")]


@pytest.mark.parametrize("arguments", ['{"a": 1, "b": 2}', {"a": 1, "b": 2, "unit": None}], ids=["as text", "with a null"])
async def test_the_same_arguments_in_a_frameworks_own_form_are_the_same_call(
    arguments: Any, server: MCPServer, recording: Recording, settings: Settings
) -> None:
    hook = Hook(
        "a framework",
        GenAiOperation.EXECUTE_TOOL,
        at_start=lambda call: Start(
            "tool", {semconv.GEN_AI_TOOL_NAME: "desk_add"}, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}
        ),
    )
    account = Account("a framework")
    account.use(recording.provider)
    async with Client(server) as client:
        frame = begin(hook, account, Call(None, (), {}))
        assert frame is not None
        await complete_async(frame, client.call_tool, "add", {"a": 1, "b": 2})
    assert [row[1] for row in log(settings) if row[0] == "tool"] == ["desk_add"]


async def test_what_a_tool_asks_another_server_is_a_commit_of_its_own(server: MCPServer, settings: Settings) -> None:
    outer = MCPServer("office", log_level="WARNING")

    @outer.tool()
    async def safe_add(a: int, b: int) -> str:
        async with Client(server) as inside:
            await inside.read_resource("notes://readme")
            return (await inside.call_tool("add", {"a": a, "b": b + 1})).content[0].text

    async with Client(outer) as client:
        assert (await client.call_tool("safe_add", {"a": 1, "b": 2})).content[0].text == "4"
    assert [row[1:] for row in log(settings) if row[0] == "tool"] == [
        ("safe_add", "ok", "4"),
        ("read_resource", "ok", "hello"),
        ("add", "ok", "4"),
    ]


async def test_calls_that_run_at_once_have_each_their_own_span(server: MCPServer, settings: Settings) -> None:
    @server.tool()
    async def wait(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async with Client(server) as client:
        first = asyncio.create_task(client.call_tool("wait", {"seconds": 0.2}))
        await asyncio.sleep(0.05)
        await asyncio.gather(client.read_resource("notes://readme"), client.call_tool("wait", {"seconds": 0.1}))
        await first
    assert log(settings) == [
        ("tool", "wait", "ok", "0.2"),
        ("tool", "read_resource", "ok", "hello"),
        ("tool", "wait", "ok", "0.1"),
    ]


async def test_two_sessions_that_call_at_once_are_kept_apart(server: MCPServer, settings: Settings) -> None:
    async def work(client: Client, name: str, a: int) -> None:
        with turnlog.session(name), turnlog.turn(name):
            for b in range(3):
                await client.call_tool("add", {"a": a, "b": b})

    async with Client(server) as client:
        await asyncio.gather(work(client, "one", 10), work(client, "two", 20))
    for name, sums in (("one", ["10", "11", "12"]), ("two", ["20", "21", "22"])):
        with queries.reading(settings) as db:
            found = [commit for commit in reversed(queries.log(db, name)) if commit.kind == "tool"]
        assert [(commit.turn, commit.output_summary) for commit in found] == [(1, each) for each in sums]


async def test_a_call_that_asks_something_first_is_one_commit(server: MCPServer, settings: Settings) -> None:
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})

    @server.tool()
    async def remove(context: Context) -> str | InputRequiredResult:
        if context.input_responses is None:
            return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})
        return f"removed: {context.input_responses['sure'].action}"

    async def agree(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={})

    async with Client(server, elicitation_callback=agree) as client:
        assert (await client.call_tool("remove", {})).content[0].text == "removed: accept"
    assert log(settings) == [("tool", "remove", "ok", "removed: accept")]


async def test_a_question_that_nobody_answers_is_how_the_call_failed(server: MCPServer, settings: Settings) -> None:
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})

    @server.tool()
    async def remove(context: Context) -> str | InputRequiredResult:
        return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})

    async with Client(server) as client:
        with pytest.raises(MCPError, match="not supported"):
            await client.call_tool("remove", {})
    assert log(settings) == [("tool", "remove", "error", "Elicitation not supported")]


async def test_a_server_that_has_forgotten_the_session_is_no_time_limit(
    server: MCPServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send(*_: Any) -> Any:
        raise MCPError(REQUEST_TIMEOUT, "Session not found")

    async with Client(server) as client:
        with monkeypatch.context() as patched, pytest.raises(MCPError):
            patched.setattr(client.session._dispatcher, "send_raw_request", send)
            await client.call_tool("add", {"a": 1, "b": 2})
    assert log(settings) == [("tool", "add", "error", "Session not found")]


async def test_a_tool_that_only_connects_to_a_server_is_not_on_it(server: MCPServer, recording: Recording) -> None:
    with serving(server) as url:

        @server.tool()
        async def look_around() -> int:
            async with Client(url) as inside:
                return len((await inside.list_tools()).tools)

        async with Client(server) as client:
            await client.call_tool("look_around", {})
    assert "server.address" not in tool_span(recording, "look_around")


async def test_over_http_the_servers_address_is_said_and_the_server_leaves_the_call_to_the_client(
    server: MCPServer, recording: Recording, settings: Settings
) -> None:
    with serving(server) as url:
        async with Client(url) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    assert [row[:3] for row in log(settings)] == [("tool", "add", "ok"), ("note", "", "ok")]
    said = tool_span(recording, "execute_tool add")
    assert f"http://{said['server.address']}:{said['server.port']}/mcp" == url
    assert len({span.context.trace_id for span in recording.spans if "add" in span.name}) == 1


@contextlib.contextmanager
def serving(server: MCPServer) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free.listen()
        config = uvicorn.Config(server.streamable_http_app(), log_level="critical", lifespan="on")
        web = uvicorn.Server(config)
        thread = threading.Thread(target=web.run, kwargs={"sockets": [free]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
        finally:
            web.should_exit = True
            thread.join()


SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("desk", log_level="ERROR")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run()
"""
CLIENT = """
import asyncio, os, sys
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
async def main(directory, server):
    command = ["-m", "turnlog", "run", sys.executable, server]
    given = StdioServerParameters(command=sys.executable, args=command, env={"TURNLOG_DIR": directory})
    async with Client(stdio_client(given)) as client:
        print((await client.call_tool("add", {"a": 1, "b": 2})).content[0].text)
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("client_is_recorded", "server_writes_to", "in_here", "in_there"),
    [(True, "here", 1, 0), (True, "there", 1, 1), (False, "here", 1, 0)],
    ids=["both into one store", "each into its own", "only the server"],
)
def test_two_processes_make_one_commit_in_a_store(
    client_is_recorded: bool, server_writes_to: str, in_here: int, in_there: int, tmp_path: Path
) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    recorded = (sys.executable, "-m", "turnlog", "run") if client_is_recorded else ()
    here = tmp_path / "here"
    done = run(
        *(*recorded, sys.executable, tmp_path / "client.py", tmp_path / server_writes_to, tmp_path / "server.py"),
        directory=here,
    )
    assert (done.stdout, done.stderr) == ("3\n", "")
    added = (1, "tool", "add", "ok")
    assert commits(here) == [added] * in_here
    if in_there:
        assert commits(tmp_path / "there") == [added] * in_there
    with queries.reading(Settings(directory=here)) as db:
        assert len(queries.sessions(db)) == 1
        traces = db.execute("select distinct trace_id from span_rows where name like '%call add'").fetchall()
        assert len(traces) == 1
