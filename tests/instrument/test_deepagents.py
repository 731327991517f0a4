"""Agents of deepagents, and the middleware that shortens what their model sees: sub-agents, virtual files, evictions, todos."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

deepagents = pytest.importorskip("deepagents", reason="deepagents is not installed: pip install 'turnlog[deepagents]'")

from deepagents.backends import FilesystemBackend  # noqa: E402
from deepagents.middleware.summarization import SummarizationMiddleware  # noqa: E402
from langchain.agents.middleware import TodoListMiddleware  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402

from recording import Recording  # noqa: E402
from turnlog import queries  # noqa: E402
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall  # noqa: E402
from turnlog.instrument import instrument, uninstrument_all  # noqa: E402
from turnlog.settings import Settings  # noqa: E402

CONFIG: Any = {"configurable": {"thread_id": "s"}}
SCOUT: Any = {"name": "scout", "description": "Looks around.", "system_prompt": "Look around.", "tools": []}


@pytest.fixture(autouse=True)
def _hooked(recording: Recording) -> Iterator[None]:
    instrument("openai", "langchain", "langgraph", tracer_provider=recording.provider)
    yield
    uninstrument_all()
    assert recording.processor.troubles == {}


@pytest.fixture
def chat(model: ScriptedModel) -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=model.base_url, api_key="none", max_retries=0)


def calls(*asked: ToolCall) -> Reply:
    return Reply("I go on.", tool_calls=list(asked))


def ask(text: str) -> Any:
    return {"messages": [("user", text)]}


def tree(recording: Recording) -> list[tuple[str, str]]:
    """Agents and tools, each with the agent or tool that it is in, in the order in which they began."""
    named = {span.context.span_id: span for span in recording.spans}

    def above(span: Any) -> str:
        parent = named.get(span.parent.span_id) if span.parent else None
        return "" if parent is None else parent.name

    shown = [span for span in recording.spans if span.name.startswith(("invoke_agent", "execute_tool"))]
    return [(above(span), span.name) for span in sorted(shown, key=lambda span: span.start_time)]


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_sub_agents_are_agents_inside_the_tool_call_and_the_turn_that_asked_for_them(
    form: str, settings: Settings, recording: Recording, model: Any, chat: ChatOpenAI
) -> None:
    model.script[:] = [
        calls(ToolCall("task", {"description": "Look.", "subagent_type": "scout"}, "t1")),
        calls(ToolCall("ls", {"path": "/"}, "l1")),
        "Nothing there.",
        "There is nothing.",
    ]
    agent = deepagents.create_deep_agent(chat, subagents=[SCOUT], checkpointer=InMemorySaver(), name="lead")
    await agent.ainvoke(ask("Look."), CONFIG) if form == "async" else agent.invoke(ask("Look."), CONFIG)
    assert tree(recording) == [
        ("", "invoke_agent lead"),
        ("invoke_agent lead", "execute_tool task"),
        ("execute_tool task", "invoke_agent scout"),
        ("invoke_agent scout", "execute_tool ls"),
    ]
    with queries.reading(settings) as db:
        assert [
            (row.turn, row.tool or row.choice, row.agent, row.output_summary) for row in reversed(queries.log(db, "s"))
        ] == [
            (1, "call task", "lead", "I go on."),
            (1, "call ls", "scout", "I go on."),
            (1, "ls", "scout", "No files found"),
            (1, "answer", "scout", "Nothing there."),
            (1, "task", "lead", "Nothing there."),
            (1, "answer", "lead", "There is nothing."),
        ]
        assert len(queries.turns(db, "s")) == 1


def test_virtual_files_are_in_the_working_set_and_the_state_is_committed(
    settings: Settings, model: Any, chat: ChatOpenAI
) -> None:
    model.script[:] = [
        calls(ToolCall("write_file", {"file_path": "/a.md", "content": "one"}, "w")),
        calls(ToolCall("edit_file", {"file_path": "/a.md", "old_string": "one", "new_string": "two"}, "e")),
        calls(ToolCall("read_file", {"file_path": "/a.md"}, "r")),
        "Done.",
    ]
    agent = deepagents.create_deep_agent(chat, checkpointer=InMemorySaver(), name="lead")
    agent.invoke(ask("Write."), CONFIG)
    with queries.reading(settings) as db:
        done = "select action, key, evidence, tool from entries where kind = 'file' order by changed_ns"
        assert db.execute(done).fetchall() == [
            ("write", "/a.md", "declared", "write_file"),
            ("write", "/a.md", "declared", "edit_file"),
            ("read", "/a.md", "declared", "read_file"),
        ]
        state = {row.key: row.value for row in queries.state(db, "s") if row.kind == "state"}
    assert list(state) == ["files"]
    assert state["files"].startswith('{"/a.md":{"content":"two"')


def test_files_on_disk_are_seen_to_be_written(tmp_path: Any, settings: Settings, model: Any, chat: ChatOpenAI) -> None:
    model.script[:] = [calls(ToolCall("write_file", {"file_path": "/a.md", "content": "one"}, "w")), "Done."]
    place = tmp_path / "disk"
    place.mkdir()
    backend = FilesystemBackend(root_dir=place, virtual_mode=True)
    agent = deepagents.create_deep_agent(chat, backend=backend, checkpointer=InMemorySaver(), name="lead")
    agent.invoke(ask("Write."), CONFIG)
    assert (place / "a.md").read_text() == "one"
    with queries.reading(settings) as db:
        files = db.execute("select action, key, evidence from entries where kind = 'file' order by sequence").fetchall()
    assert (("create", str(place / "a.md"), "observed")) in files


def test_todos_are_state(settings: Settings, model: Any, chat: ChatOpenAI) -> None:
    todos = [{"content": "write", "status": "in_progress"}]
    model.script[:] = [calls(ToolCall("write_todos", {"todos": todos}, "t")), "Done."]
    agent = deepagents.create_deep_agent(chat, middleware=[TodoListMiddleware()], checkpointer=InMemorySaver(), name="lead")
    agent.invoke(ask("Plan."), CONFIG)
    with queries.reading(settings) as db:
        state = {row.key: row.value for row in queries.state(db, "s") if row.kind == "state"}
        [result] = [row.output_summary for row in queries.log(db, "s", tool="write_todos")]
    assert state["todos"] == '[{"content":"write","status":"in_progress"}]'
    assert result.startswith("Updated todo list to")


def test_its_summary_evicts_exactly_what_the_model_no_longer_sees(
    tmp_path: Any, settings: Settings, model: Any, chat: ChatOpenAI
) -> None:
    backend = FilesystemBackend(root_dir=tmp_path / "disk", virtual_mode=True)
    shortens = SummarizationMiddleware(model=chat, backend=backend, trigger=("messages", 6), keep=("messages", 2))
    model.script[:] = [
        calls(ToolCall("read_file", {"file_path": "/a.md"}, "r1")),
        "There is no a.",
        calls(ToolCall("read_file", {"file_path": "/b.md"}, "r2")),
        "It looked for a file.",
        "There is no b either.",
    ]
    agent = deepagents.create_deep_agent(chat, middleware=[shortens], checkpointer=InMemorySaver(), name="lead")
    agent.invoke(ask("Read a."), CONFIG)
    agent.invoke(ask("Read b."), CONFIG)
    with queries.reading(settings) as db:
        gone = [(row.turn, row.reason, row.kind, row.introduced_in, row.summary) for row in queries.evictions(db, "s")]
        seen = [row.role for row in queries.context(db, "s", 2)]
        state = {row.key for row in queries.state(db, "s") if row.kind == "state"}
    assert gone == [
        (2, "summarised", "decision", 1, "call read_file - I go on."),
        (2, "summarised", "result", 1, "Error: File '/a.md' not found"),
        (2, "summarised", "message", 1, "Read a."),
        (2, "summarised", "message", 1, "call read_file - I go on."),
        (2, "summarised", "message", 1, "There is no a."),
        (2, "summarised", "message", 2, "Read b."),
    ]
    assert seen == ["system", "user", "assistant", "tool"]
    # The framework itself forgets nothing: only the model's view shrinks, by an event in the state.
    assert "_summarization_event" in state


def test_a_result_that_is_too_long_goes_to_a_file_and_evicts_nothing(settings: Settings, model: Any, chat: ChatOpenAI) -> None:
    def dump() -> str:
        """Give all there is."""
        return "all there is\n" * 20_000

    model.script[:] = [calls(ToolCall("dump", {}, "d1")), "That was long."]
    agent = deepagents.create_deep_agent(chat, [dump], checkpointer=InMemorySaver(), name="lead")
    agent.invoke(ask("Dump."), CONFIG)
    with queries.reading(settings) as db:
        assert queries.evictions(db, "s") == []
        state = {row.key: row.value for row in queries.state(db, "s") if row.kind == "state"}
    assert state["files"].startswith("sha256:")
    assert '{"/large_tool_results/d1":{"content":"all there is' in state["files"]
