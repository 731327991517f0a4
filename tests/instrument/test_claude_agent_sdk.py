"""The Claude Agent SDK with its own CLI, against the scripted model: what is special to it."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed")

import claude_agent_sdk
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk._internal.query import Query
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

import turnlog
from instrument.recorder import identities
from recording import Recording
from turnlog import queries, semconv
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall
from turnlog.instrument import claude_agent_sdk as hooked
from turnlog.instrument import instrument, uninstrument_all
from turnlog.operation import use_provider
from turnlog.settings import Settings

FRAMEWORKS = ("claude_agent_sdk",)
SESSION = str(uuid.uuid5(uuid.NAMESPACE_URL, "session"))
ADD = Reply("I add.", tool_calls=[ToolCall("mcp__sums__add", {"a": 1, "b": 2})])
READ = Reply("I look.", tool_calls=[ToolCall("Read", {"file_path": "/etc/hostname"})])
AGENT = {"description": "look", "prompt": "look", "subagent_type": "general-purpose", "run_in_background": False}


class Scripted(ScriptedModel):
    """Answers by what was said last: in the user's words, or by a tool."""

    def __init__(self, replies: dict[str, Reply]) -> None:
        super().__init__(self.answer)
        self.replies = replies

    def answer(self, body: dict[str, Any]) -> Reply:
        said = next(message for message in reversed(body["messages"]) if message["role"] == "user")["content"]
        for part in reversed(said if isinstance(said, list) else [{"type": "text", "text": said}]):
            if part["type"] == "tool_result":
                return Reply("Done.")
            if part["text"].strip() in self.replies:
                return self.replies[part["text"].strip()]
            if "<summary>" in part["text"]:
                return Reply("<summary>We added.</summary>")
        return Reply("Hello.")


@pytest.fixture(autouse=True)
def _hooked(recording: Recording) -> Iterator[None]:
    use_provider(recording.provider)
    instrument(*FRAMEWORKS, tracer_provider=recording.provider)
    yield
    gc.collect()
    assert not hooked._lines, "a connection is over and still held"
    uninstrument_all()
    use_provider(None)
    assert recording.processor.troubles == {}
    assert not recording.processor._known.running


@tool("add", "Adds two numbers.", {"a": int, "b": int})
async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    with trace.get_tracer("test", tracer_provider=PROVIDER.get()).start_as_current_span("inside"):
        turnlog.note(f"{arguments['a']} and {arguments['b']}")
    if arguments["a"] < 0:
        raise ValueError("too small")
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


@tool("hang", "Never answers.", {})
async def hang(arguments: dict[str, Any]) -> dict[str, Any]:
    HANGING.get().set()
    await asyncio.sleep(60)
    return {}


class Box:
    """What a tool of the module needs of the test that runs."""

    def __init__(self) -> None:
        self.value: Any = None

    def get(self) -> Any:
        return self.value


PROVIDER, HANGING = Box(), Box()


@pytest.fixture(autouse=True)
def _boxes(recording: Recording) -> None:
    PROVIDER.value, HANGING.value = recording.provider, asyncio.Event()


def options(model: ScriptedModel, home: Path, **more: Any) -> ClaudeAgentOptions:
    environment = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(home),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": str(home),
    }
    usual: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "cwd": home,
        "setting_sources": [],
        "mcp_servers": {"sums": create_sdk_mcp_server("sums", tools=[add, hang])},
        "permission_mode": "bypassPermissions" if "can_use_tool" not in more else "default",
    }
    # The CLI refuses to go without permissions as root, unless it is told that it is in a box.
    return ClaudeAgentOptions(env={**environment, "IS_SANDBOX": "1"}, **{**usual, **more})


async def ask(client: ClaudeSDKClient, text: str) -> str:
    await client.query(text)
    said = [message async for message in client.receive_response() if isinstance(message, AssistantMessage)]
    return "".join(getattr(block, "text", "") for block in said[-1].content) if said else ""


def log(settings: Settings, session: str = "") -> list[tuple[int, str, str, str, str]]:
    """Turn, kind, tool, outcome and error, oldest first."""
    with queries.reading(settings) as db:
        found = queries.log(db, queries.find_session(db, session))
    return [(each.turn, each.kind, each.tool, each.outcome, each.error) for each in reversed(found)]


def tree(recording: Recording) -> list[tuple[str, str]]:
    """Every span and the one above it, in the order in which they started."""
    names = {span.context.span_id: span.name for span in recording.spans}
    spans = sorted(recording.spans, key=lambda span: (span.start_time, span.name))
    return [(names.get(span.parent.span_id, "?") if span.parent else "", span.name) for span in spans]


OK = ("ok", "")
CHAT, CLAUDE = "chat claude-sonnet-4-5", "invoke_agent claude"
CLOSED = ("lifecycle", "", *OK)


async def test_a_tool_in_this_process_runs_in_its_operation_and_the_application_sees_all(
    recording: Recording, settings: Settings, tmp_path: Path
) -> None:
    with Scripted({"add": ADD}) as model:
        async with ClaudeSDKClient(options(model, tmp_path, session_id=SESSION)) as client:
            assert await ask(client, "add") == "Done."
    assert tree(recording) == [
        ("", CLAUDE),
        (CLAUDE, CHAT),
        (CLAUDE, "execute_tool mcp__sums__add"),
        ("execute_tool mcp__sums__add", "inside"),
        ("inside", "note"),
        (CLAUDE, CHAT),
        ("", "session closed"),
    ]
    rows = [("decision", "", *OK), ("note", "", *OK), ("tool", "mcp__sums__add", *OK), ("decision", "", *OK), CLOSED]
    assert log(settings, SESSION) == [(1, *row) for row in rows]
    with queries.reading(settings) as db:
        (called,) = queries.log(db, SESSION, kind="tool")
        usage = db.execute("select model, calls, tokens_in, tokens_out from token_usage").fetchall()
    assert (called.tool_call_id, called.input_summary, called.output_summary) == ("call_1_0", '{"a":1,"b":2}', "3")
    assert usage == [("claude-sonnet-4-5", 2, 22, 14)]


async def test_what_a_tool_in_this_process_raised_is_known(settings: Settings, tmp_path: Path) -> None:
    small = Reply("I add.", tool_calls=[ToolCall("mcp__sums__add", {"a": -1, "b": 2})])
    with Scripted({"add": small}) as model:
        async for _ in query(prompt="add", options=options(model, tmp_path)):
            pass
    assert [row for row in log(settings) if row[1] == "tool"] == [(1, "tool", "mcp__sums__add", "error", "ValueError")]


async def test_the_applications_hooks_run_in_order_and_its_options_stay_as_they_were(
    settings: Settings, tmp_path: Path
) -> None:
    called: list[str] = []

    async def change(event: Any, tool_use_id: str | None, context: Any) -> Any:
        called.append(f"change {event['tool_input']['a']}")
        changed = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"a": 5, "b": 2}}
        return {"hookSpecificOutput": changed}

    async def see(event: Any, tool_use_id: str | None, context: Any) -> Any:
        called.append(f"see {event['tool_response'][0]['text']}")
        return {}

    with Scripted({"add": ADD}) as model:
        hooks: Any = {"PreToolUse": [HookMatcher("mcp__sums__add", [change])], "PostToolUse": [HookMatcher(None, [see, see])]}
        given = options(model, tmp_path, hooks=hooks)
        before = {event: [(each, list(each.hooks)) for each in matchers] for event, matchers in hooks.items()}
        async for _ in query(prompt="add", options=given):
            pass
    assert called == ["change 1", "see 7", "see 7"]
    assert given.hooks is hooks
    assert {event: [(each, each.hooks) for each in matchers] for event, matchers in hooks.items()} == before
    with queries.reading(settings) as db:
        (done,) = queries.log(db, queries.find_session(db, ""), kind="tool")
    assert done.output_summary == "7"


async def test_the_model_is_asked_the_same_whether_turnlog_listens_or_not(tmp_path: Path) -> None:
    async def play() -> list[str]:
        with Scripted({"add": ADD, "read": READ}) as model:
            async with ClaudeSDKClient(options(model, tmp_path, session_id=str(uuid.uuid4()))) as client:
                for text in ("add", "read", "/compact", "add"):
                    await ask(client, text)
            return [
                json.dumps([body.get("system"), body["messages"], body.get("tools")])
                for _, body in ((request.path, request.body) for request in model.requests)
            ]

    def plain(texts: list[str]) -> list[str]:
        return [re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|cch=\w+|cc_version=[\w.]+", "", text) for text in texts]

    with_us = plain(await play())
    uninstrument_all()
    assert with_us == plain(await play())


async def test_what_the_cli_writes_shows_in_the_files(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    writes = Reply("I write.", tool_calls=[ToolCall("Write", {"file_path": str(path), "content": "hi"})])
    with Scripted({"write": writes}) as model:
        async for _ in query(prompt="write", options=options(model, tmp_path)):
            pass
    assert path.read_text() == "hi"
    with queries.reading(settings) as db:
        found = queries.files_modified(db, queries.find_session(db, ""), 1)
    assert [(each.path, each.last_action) for each in found] == [(str(path), "create")]


async def test_a_sub_agent_is_nested_in_the_tool_that_runs_it(recording: Recording, settings: Settings, tmp_path: Path) -> None:
    replies = {"delegate": Reply("You look.", tool_calls=[ToolCall("Agent", AGENT)]), "look": READ}
    with Scripted(replies) as model:
        async for _ in query(prompt="delegate", options=options(model, tmp_path)):
            pass
    agent = "invoke_agent general-purpose"
    assert [each for each in tree(recording) if each[1] != "chat"] == [
        ("", CLAUDE),
        (CLAUDE, CHAT),
        (CLAUDE, "execute_tool Agent"),
        ("execute_tool Agent", agent),
        (agent, CHAT),
        (agent, "execute_tool Read"),
        (CLAUDE, CHAT),
    ]
    with queries.reading(settings) as db:
        rows = [
            (each.turn, each.kind, each.tool, each.agent, bool(each.decision_id))
            for each in reversed(queries.log(db, queries.find_session(db, "")))
        ]
    assert rows == [
        (1, "decision", "", "claude", True),
        (1, "decision", "", "general-purpose", True),
        (1, "tool", "Read", "general-purpose", True),
        (1, "decision", "", "general-purpose", True),
        (1, "tool", "Agent", "claude", True),
        (1, "decision", "", "claude", True),
    ]


async def test_a_permission_request_is_pending_until_it_is_answered(settings: Settings, tmp_path: Path) -> None:
    seen: list[list[tuple[str, str]]] = []

    def pending() -> list[tuple[str, str]]:
        with queries.reading(settings) as db:
            return [(row.status, row.action) for row in queries.pending(db, SESSION) if row.status == "pending"]

    async def decide(name: str, given: dict[str, Any], context: Any) -> Any:
        seen.append(pending())
        return PermissionResultAllow() if given["file_path"].endswith("a") else PermissionResultDeny(message="not that")

    write = {name: {"file_path": str(tmp_path / name), "content": "x"} for name in ("a", "b")}
    replies = {name: Reply("I write.", tool_calls=[ToolCall("Write", given)]) for name, given in write.items()}
    with Scripted(replies) as model:
        async with ClaudeSDKClient(options(model, tmp_path, session_id=SESSION, can_use_tool=decide)) as client:
            await ask(client, "a")
            await ask(client, "b")
    asked = [f"allow Write {json.dumps(given, separators=(',', ':'))}" for given in write.values()]
    assert [[(status, action[:20]) for status, action in each] for each in seen] == [[("pending", each[:20])] for each in asked]
    assert pending() == []
    assert [row for row in log(settings, SESSION) if row[1] in ("tool", "note")] == [
        (1, "note", "", *OK),
        (1, "note", "", *OK),
        (1, "tool", "Write", *OK),
        (2, "note", "", *OK),
        (2, "note", "", *OK),
        (2, "tool", "Write", "error", "permission_denied"),
    ]


async def test_compaction_on_request_evicts_what_the_summary_stands_for(settings: Settings, tmp_path: Path) -> None:
    with Scripted({"add": ADD}) as model:
        async with ClaudeSDKClient(options(model, tmp_path, session_id=SESSION)) as client:
            for text in ("add", "/compact", "hello"):
                await ask(client, text)
    assert [row for row in log(settings, SESSION) if row[1] == "eviction"] == [(3, "eviction", "", *OK)]
    with queries.reading(settings) as db:
        found = db.execute("select kind, reason, count(*) from evictions group by all order by all").fetchall()
    assert found == [("decision", "summarised", 1), ("message", "summarised", 2), ("result", "summarised", 1)]


async def test_compaction_by_itself_in_the_middle_of_a_turn_evicts_too(settings: Settings, tmp_path: Path) -> None:
    full = Reply("I add.", tool_calls=ADD.tool_calls, input_tokens=190_000)
    with Scripted({"add": full}) as model:
        given = options(model, tmp_path, session_id=SESSION)
        given.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        async with ClaudeSDKClient(given) as client:
            for text in ("hello", "add"):
                await ask(client, text)
    assert [row[1] for row in log(settings, SESSION) if row[0] == 2] == [
        *("decision", "note", "tool", "eviction", "decision", "lifecycle"),
    ]
    with queries.reading(settings) as db:
        found = db.execute("select turn, kind, reason, summary from evictions order by introduced_in, sequence").fetchall()
        context = [(each.role, each.summary[:12]) for each in queries.context(db, SESSION, 2)]
    assert found == [(2, "message", "summarised", text) for text in ("hello", "Hello.", "add")]
    assert context == [("user", "This session"), ("assistant", "call mcp__su"), ("tool", "3")]


async def test_a_resumed_session_goes_on_and_a_fork_begins_another(
    recording: Recording, settings: Settings, tmp_path: Path
) -> None:
    with Scripted({}) as model:
        async for _ in query(prompt="one", options=options(model, tmp_path, session_id=SESSION)):
            pass
        async for _ in query(prompt="two", options=options(model, tmp_path, resume=SESSION)):
            pass
        async for _ in query(prompt="three", options=options(model, tmp_path, resume=SESSION, fork_session=True)):
            pass
    with queries.reading(settings) as db:
        forked, resumed = (each.session_id for each in queries.sessions(db))
        assert resumed == SESSION
        assert [turn.input_summary for turn in queries.turns(db, SESSION)] == ["two", "one"]
        assert [turn.input_summary for turn in queries.turns(db, forked)] == ["three"]
        sizes = db.execute("select message_count from commits where kind = 'decision' order by ended_ns").fetchall()
        assert db.execute("select count(*) from evictions").fetchone() == (0,)
    assert sizes == [(1,), (3,), (5,)]
    (last,) = [span for span in recording.spans if span.name == CLAUDE and span.attributes["session.id"] == forked]
    assert last.attributes[semconv.SESSION_PREVIOUS_ID] == SESSION


async def test_breaking_out_of_a_query_ends_the_turn_without_an_error(
    recording: Recording, settings: Settings, tmp_path: Path
) -> None:
    with Scripted({"hang": Reply("I hang.", tool_calls=[ToolCall("mcp__sums__hang", {})])}) as model:
        stream = query(prompt="hang", options=options(model, tmp_path))
        async for message in stream:
            if isinstance(message, AssistantMessage) and "ToolUseBlock" in repr(message.content):
                await HANGING.get().wait()
                break
        await stream.aclose()
        # The SDK leaves its inner generator to the event loop.
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)
    assert log(settings) == [(1, "decision", "", *OK), (1, "tool", "mcp__sums__hang", "cancelled", "cancelled")]
    (turn,) = [span for span in recording.spans if span.name == CLAUDE]
    assert turn.status.is_ok


async def test_a_cancelled_task_cancels_its_turn(settings: Settings, tmp_path: Path) -> None:
    async def work(model: ScriptedModel) -> None:
        async with ClaudeSDKClient(options(model, tmp_path, session_id=SESSION)) as client:
            await ask(client, "hang")

    with Scripted({"hang": Reply("I hang.", tool_calls=[ToolCall("mcp__sums__hang", {})])}) as model:
        task = asyncio.ensure_future(work(model))
        await HANGING.get().wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [row[1:4] for row in log(settings, SESSION)] == [
        ("decision", "", "ok"),
        ("tool", "mcp__sums__hang", "cancelled"),
        ("lifecycle", "", "cancelled"),
        ("lifecycle", "", "ok"),
    ]


async def test_two_conversations_at_once_do_not_mix(recording: Recording, settings: Settings, tmp_path: Path) -> None:
    names = [str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in ("one", "two")]

    async def work(model: ScriptedModel, session: str) -> None:
        home = tmp_path / session
        home.mkdir()
        async with ClaudeSDKClient(options(model, home, session_id=session)) as client:
            for text in ("add", "add", "hello"):
                await ask(client, text)

    with Scripted({"add": ADD}) as model:
        await asyncio.gather(*(work(model, name) for name in names))
    added = [("decision", "", *OK), ("note", "", *OK), ("tool", "mcp__sums__add", *OK), ("decision", "", *OK)]
    expected = [(turn, *row) for turn in (1, 2) for row in added] + [(3, "decision", "", *OK), (3, *CLOSED)]
    assert [log(settings, name) for name in names] == [expected, expected]
    traces = {span.attributes["session.id"]: set() for span in recording.spans}
    for span in recording.spans:
        traces[span.attributes["session.id"]].add(span.context.trace_id)
    assert not traces[names[0]] & traces[names[1]]


async def test_a_refused_model_call_is_told_once(settings: Settings, tmp_path: Path) -> None:
    with Scripted({"bad": Reply("no such model", status=400)}) as model:
        async with ClaudeSDKClient(options(model, tmp_path, session_id=SESSION)) as client:
            assert await ask(client, "bad") == "API Error: 400 no such model"
    assert [row[:4] for row in log(settings, SESSION)] == [(1, "decision", "", "error"), (1, "lifecycle", "", "ok")]


async def test_the_applications_span_session_and_suppression_hold(
    recording: Recording, settings: Settings, tmp_path: Path
) -> None:
    with Scripted({}) as model:
        async with ClaudeSDKClient(options(model, tmp_path)) as client:
            with turnlog.session("mine"), recording.tracer.start_as_current_span("request"):
                await ask(client, "hello")
            with suppress_instrumentation():
                await ask(client, "hello")
    assert log(settings, "mine") == [(1, "decision", "", *OK), (1, *CLOSED)]
    assert tree(recording) == [("", "request"), ("request", CLAUDE), (CLAUDE, CHAT), ("", "session closed")]


async def test_a_streamed_message_is_one_model_call_with_its_own_cost(recording: Recording, tmp_path: Path) -> None:
    given: dict[str, Any] = {"include_partial_messages": True}
    with Scripted({"add": ADD}) as model:
        async for _ in query(prompt="add", options=options(model, tmp_path, **given)):
            pass
    calls = [
        (span.attributes["gen_ai.usage.output_tokens"], span.attributes["gen_ai.response.finish_reasons"])
        for span in recording.spans
        if span.name == CHAT
    ]
    assert calls == [(7, ("tool_use",)), (7, ("end_turn",))]


async def test_without_hooks_tools_are_known_from_the_messages(settings: Settings, tmp_path: Path) -> None:
    with Scripted({"read": READ}) as model:
        given = options(model, tmp_path, settings='{"disableAllHooks": true}')
        async for _ in query(prompt="read", options=given):
            pass
    assert log(settings) == [(1, "decision", "", *OK), (1, "tool", "Read", *OK), (1, "decision", "", *OK)]


async def test_undoing_restores_everything_also_under_an_open_connection(recording: Recording, tmp_path: Path) -> None:
    owners = (Query, ClaudeSDKClient, claude_agent_sdk)
    with_us = [identities(owner) for owner in owners]
    with Scripted({"add": ADD}) as model:
        async with ClaudeSDKClient(options(model, tmp_path)) as client:
            await ask(client, "add")
            count = len(recording.spans)
            held = vars(client._transport)
            assert {"read_messages", "write"} <= held.keys()
            uninstrument_all()
            assert not {"read_messages", "write"} & held.keys()
            assert await ask(client, "add") == "Done."
    assert [span.name for span in recording.spans[count:]] == ["note", "inside"]
    without = [identities(owner) for owner in owners]
    instrument(*FRAMEWORKS, tracer_provider=recording.provider)
    uninstrument_all()
    assert [identities(owner) for owner in owners] == without
    assert [before != after for before, after in zip(with_us, without, strict=True)] == [True, True, True]


class Replayed(claude_agent_sdk.Transport):
    """A transport of the application's own, that sends what a CLI would."""

    def __init__(self, frames: list[dict[str, Any]]) -> None:
        self.frames = frames
        self.hooks: dict[str, Any] = {}
        self.ready: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def connect(self) -> None: ...
    async def end_input(self) -> None: ...
    def is_ready(self) -> bool:
        return True

    async def close(self) -> None:
        await self.ready.put(None)

    async def write(self, data: str) -> None:
        said = json.loads(data)
        if said["type"] == "control_request":
            self.hooks = said["request"]["hooks"]
            answer = {"subtype": "success", "request_id": said["request_id"], "response": {}}
            await self.ready.put({"type": "control_response", "response": answer})
        elif said["type"] == "user":
            for frame in self.frames:
                await self.ready.put(self.hook(**frame) if "hook_event_name" in frame else {**frame, "session_id": SESSION})

    def hook(self, hook_event_name: str, **event: Any) -> dict[str, Any]:
        (callback,) = self.hooks[hook_event_name][-1]["hookCallbackIds"]
        event = {"hook_event_name": hook_event_name, "session_id": SESSION, **event}
        return {
            "type": "control_request",
            "request_id": str(uuid.uuid4()),
            "request": {"subtype": "hook_callback", "callback_id": callback, "input": event},
        }

    async def read_messages(self) -> Any:
        while (frame := await self.ready.get()) is not None:
            yield frame


async def test_a_message_whose_tools_run_before_it_is_whole_is_one_model_call(settings: Settings) -> None:
    def asks(call: str) -> list[dict[str, Any]]:
        used = {"tool_use_id": call, "tool_name": "Read", "tool_input": {"file_path": call}}
        block = {"type": "tool_use", "id": call, "name": "Read", "input": used["tool_input"]}
        result = {"type": "tool_result", "tool_use_id": call, "content": "text"}
        return [
            {"type": "assistant", "message": {"id": "m1", "model": "m", "content": [block], "usage": {}}},
            {"hook_event_name": "PreToolUse", **used},
            {"hook_event_name": "PostToolUse", **used, "tool_response": "text"},
            {"type": "user", "message": {"role": "user", "content": [result]}},
        ]

    words = {"id": "m2", "model": "m", "content": [{"type": "text", "text": "Read."}], "usage": {"input_tokens": 3}}
    counts = {"num_turns": 2, "duration_ms": 1, "duration_api_ms": 1, "usage": {"output_tokens": 5}}
    frames = [
        {"hook_event_name": "UserPromptSubmit", "prompt": "read both"},
        *asks("a"),
        *asks("b"),
        {"type": "assistant", "message": words},
        {"type": "result", "subtype": "success", "is_error": False, "result": "Read.", **counts},
    ]
    async with ClaudeSDKClient(transport=Replayed(frames)) as client:
        assert await ask(client, "read both") == "Read."
    rows = [("decision", ""), ("tool", "Read"), ("tool", "Read"), ("decision", ""), ("lifecycle", "")]
    with queries.reading(settings) as db:
        found = list(reversed(queries.log(db, SESSION)))
    assert sorted((each.kind, each.tool) for each in found) == sorted(rows)
    decided = [each.decision_id for each in found if each.kind == "decision"]
    assert [each.decision_id for each in found if each.kind == "tool"] == [decided[0], decided[0]]
    assert next(each.choice for each in found if each.kind == "decision") == "call Read"


class Broken(Replayed):
    async def write(self, data: str) -> None:
        raise self.error


async def test_an_error_of_a_transport_is_the_same_object() -> None:
    transport = Broken([])
    transport.error = RuntimeError("broken")
    with pytest.raises(RuntimeError) as raised:
        await ClaudeSDKClient(transport=transport).connect()
    assert raised.value is transport.error
