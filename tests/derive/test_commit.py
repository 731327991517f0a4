"""The deriver: what a span says and carries becomes one commit, whichever framework it came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from recording import assistant, tool_result, user
from turnlog import semconv
from turnlog.content import Blob, ContentPolicy
from turnlog.derive import Commit, Decision, derive
from turnlog.derive.change import Change
from turnlog.derive.files import Observed
from turnlog.derive.touch import Touch
from turnlog.semconv import (
    CommitKind,
    DeltaOp,
    EntryKind,
    FileEvidence,
    GenAiOperation,
    Outcome,
    ReasonSource,
    SourceKind,
    Tier,
)
from turnlog.settings import Capture, Settings

POLICY = ContentPolicy(Settings(directory=Path("unused")))
FULL = ContentPolicy(Settings(directory=Path("unused"), capture=Capture.FULL))
NONE = ContentPolicy(Settings(directory=Path("unused"), capture=Capture.NONE))
SPAN = "00000000000000aa"
ASKED = ("search call-0",)

Facts = Mapping[str, Any]


def tool(
    name: str, arguments: Any, result: Any = None, error: str = "", message: str = "", policy: ContentPolicy = POLICY
) -> Commit:
    attributes = {semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value, semconv.GEN_AI_TOOL_NAME: name}
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments, semconv.GEN_AI_TOOL_CALL_RESULT: result}
    if error:
        attributes[semconv.ERROR_TYPE] = error
        content[semconv.EXCEPTION_MESSAGE] = message
    return committed(attributes, content, bool(error), policy)


def chat(inputs: Any, outputs: Any, error: str = "", policy: ContentPolicy = POLICY, operation: str = "chat") -> Commit:
    attributes = {semconv.GEN_AI_OPERATION_NAME: operation}
    if error:
        attributes[semconv.ERROR_TYPE] = error
    content = {semconv.GEN_AI_INPUT_MESSAGES: inputs, semconv.GEN_AI_OUTPUT_MESSAGES: outputs}
    return committed(attributes, content, bool(error), policy)


def by_hand(kind: CommitKind, content: Facts, policy: ContentPolicy = POLICY) -> Commit:
    return committed({semconv.COMMIT_KIND: kind.value}, content, False, policy)


def committed(attributes: Facts, content: Facts, failed: bool, policy: ContentPolicy) -> Commit:
    commit = derive(SPAN, attributes, content, failed, policy)
    assert commit is not None
    return commit


def ran(name: str, outcome: str) -> Change:
    return Change(DeltaOp.SET, EntryKind.TOOL, name, outcome, Tier.TRANSIENT)


def wrote(path: str, content: object) -> Change:
    value = POLICY.hash(content)
    return Change(DeltaOp.SET, EntryKind.FILE, path, value, Tier.DURABLE, "write", FileEvidence.DECLARED)


def test_a_tool_call_is_a_commit_of_its_hashes_summaries_and_files() -> None:
    arguments = {"path": "a.py", "content": "x = 1"}
    assert tool("write_file", arguments, "written") == Commit(
        CommitKind.TOOL,
        Outcome.OK,
        input_hash=POLICY.hash(arguments),
        input_summary='{"path":"a.py","content":"x = 1"}',
        output_hash=POLICY.hash("written"),
        output_summary="written",
        changes=(ran("write_file", "ok"), wrote("a.py", "x = 1")),
        source_kind=SourceKind.TOOL_OUTPUT,
    )


def test_arguments_as_json_text_give_the_same_commit_as_a_mapping() -> None:
    text = '{"path": "a.py",\n "content": "x = 1"}'
    assert tool("write_file", text, "ok") == tool("write_file", {"path": "a.py", "content": "x = 1"}, "ok")


def test_arguments_on_the_span_give_the_same_commit_as_carried_ones() -> None:
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: "execute_tool",
        semconv.GEN_AI_TOOL_NAME: "write_file",
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS: '{"path":"a.py","content":"x = 1"}',
        semconv.GEN_AI_TOOL_CALL_RESULT: "ok",
    }
    assert committed(attributes, {}, False, POLICY) == tool("write_file", {"path": "a.py", "content": "x = 1"}, "ok")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("ValueError", Outcome.ERROR),
        ("500", Outcome.ERROR),
        ("TimeoutError", Outcome.TIMEOUT),
        ("httpx.ReadTimeout", Outcome.TIMEOUT),
        ("openai.APITimeoutError", Outcome.TIMEOUT),
        ("google.api_core.exceptions.DeadlineExceeded", Outcome.TIMEOUT),
        ("timed_out", Outcome.TIMEOUT),
        ("CancelledError", Outcome.CANCELLED),
        ("KeyboardInterrupt", Outcome.CANCELLED),
        ("GeneratorExit", Outcome.CANCELLED),
        ("timeout_lib.errors.ParseError", Outcome.ERROR),
    ],
)
def test_a_failed_tool_says_how_and_touches_no_file(error: str, outcome: Outcome) -> None:
    commit = tool("write_file", {"path": "a.py", "content": "x"}, error=error, message="no: password=hunter2")
    assert (commit.outcome, commit.changes, commit.output_hash, commit.output_summary) == (
        outcome,
        (ran("write_file", outcome.value),),
        "",
        "no: password=[REDACTED:credential]",
    )


def test_a_span_with_error_status_and_no_error_type_is_an_error() -> None:
    attributes = {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "t"}
    assert committed(attributes, {}, True, POLICY).outcome is Outcome.ERROR


def test_a_tool_without_a_name_or_arguments_is_still_a_commit() -> None:
    attributes = {semconv.GEN_AI_OPERATION_NAME: "execute_tool"}
    assert committed(attributes, {}, False, POLICY) == Commit(
        CommitKind.TOOL, Outcome.OK, changes=(ran("unknown", "ok"),), source_kind=SourceKind.TOOL_OUTPUT
    )


def test_deleting_a_file_drops_its_entry_and_moving_one_does_both() -> None:
    commit = tool("move_file", {"source": "a.py", "destination": "b.py"})
    assert [(change.op, change.action, change.key, change.renamed_from) for change in commit.changes[1:]] == [
        (DeltaOp.DROP, "delete", "a.py", ""),
        (DeltaOp.SET, "rename", "b.py", "a.py"),
    ]


def test_of_a_failed_tool_only_what_was_seen_counts() -> None:
    attributes = {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "write_file"}
    content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {"paths": ["/w/a.py", "b.py"], "content": "x"}}
    seen = Touch("create", "a.py", value="sha256:1", evidence=FileEvidence.OBSERVED)
    commit = derive(SPAN, attributes, content, True, POLICY, Observed((seen,), cwd="/w"))
    assert commit is not None
    assert commit.changes == (
        ran("write_file", "error"),
        Change(DeltaOp.SET, EntryKind.FILE, "a.py", "sha256:1", Tier.DURABLE, "create", FileEvidence.BOTH),
    )
    finished = derive(SPAN, attributes, content, False, POLICY, Observed((seen,), cwd="/w"))
    assert finished is not None
    assert finished.changes[2] == wrote("b.py", "x")
    assert [finished.attributes()[key] for key in (semconv.FILE_ACTIONS, semconv.FILE_EVIDENCE)] == [
        ("create a.py", "write b.py"),
        "both",
    ]


def test_an_address_is_a_source_without_its_password() -> None:
    commit = tool("fetch", {"url": "https://me:pw@host/x?token=abcdef"})
    assert commit.changes[1] == Change(
        DeltaOp.SET,
        EntryKind.SOURCE,
        "https://[REDACTED:url_password]@host/x?token=[REDACTED:credential]",
        "",
        Tier.TRANSIENT,
        "fetch",
        FileEvidence.DECLARED,
    )


def test_spellings_of_one_path_are_one_entry() -> None:
    keys = [tool("write_file", {"path": path, "content": "x"}).changes[1].key for path in ("a.py", "./a.py", "b/..//a.py")]
    assert keys == ["a.py", "a.py", "a.py"]


def test_a_path_that_is_no_text_or_not_unicode_costs_no_commit() -> None:
    commit = tool("write_file", {"path": "b\udcff.txt", "content": "x"})
    assert commit.attributes()[semconv.STATE_CHANGED_KEYS] == ("tool:write_file", "file:b?.txt")
    assert tool("write_file", {"path": 7, "content": "x"}).changes == (ran("write_file", "ok"),)


def test_a_result_that_cannot_be_printed_costs_no_commit() -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError

    assert tool("t", {}, Unprintable()).output_summary == '"<Unprintable>"'


def test_choosing_tools_is_a_decision_with_the_reason_that_the_model_stated() -> None:
    question, answer = user("fix it"), assistant("The test is wrong.", "read_file", "write_file", "read_file")
    choice = "call read_file, write_file"
    assert chat([user("earlier"), question], [answer]) == Commit(
        CommitKind.DECISION,
        Outcome.OK,
        input_hash=POLICY.hash(question),
        input_summary="fix it",
        output_hash=POLICY.hash([answer]),
        output_summary="The test is wrong.",
        changes=(Change(DeltaOp.SET, EntryKind.DECISION, SPAN, choice, Tier.DURABLE),),
        decision=Decision(
            SPAN,
            choice,
            "The test is wrong.",
            ReasonSource.STATED,
            calls=("read_file call-0", "write_file call-1", "read_file call-2"),
        ),
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (assistant("", "search"), Decision(SPAN, "call search", calls=ASKED)),
        (
            assistant("", "search", reasoning="I must look."),
            Decision(SPAN, "call search", "I must look.", ReasonSource.STATED, calls=ASKED),
        ),
        (
            assistant("Because.", "search", reasoning="I must look."),
            Decision(SPAN, "call search", "Because.", ReasonSource.STATED, calls=ASKED),
        ),
        (assistant("It is 4."), Decision(SPAN, "answer")),
        (assistant("It is 4.", reasoning="2 + 2"), Decision(SPAN, "answer", "2 + 2", ReasonSource.STATED)),
    ],
)
def test_a_reason_is_what_was_said_before_a_call_or_thought_and_never_made_up(
    answer: dict[str, Any], expected: Decision
) -> None:
    assert chat([user("?")], [answer]).decision == expected


def test_an_answer_changes_no_state() -> None:
    commit = chat([tool_result("42")], [assistant("It is 42.")])
    assert (commit.changes, commit.output_summary) == ((), "It is 42.")


def test_a_call_that_is_the_answer_asks_for_no_tool() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "Sum", "arguments": {"total": 3}, "is_answer": True}
    commit = chat([user("1 + 2?")], [{"role": "assistant", "parts": [call]}])
    assert (commit.decision, commit.changes, commit.output_summary) == (Decision(SPAN, "answer"), (), '{"total":3}')


def test_a_model_call_that_failed_decided_nothing() -> None:
    commit = chat([user("?")], [assistant("Let me", "search")], error="httpx.ReadTimeout")
    assert (commit.outcome, commit.decision, commit.changes) == (Outcome.TIMEOUT, None, ())
    assert chat([user("?")], None, error="RateLimitError").output_summary == "RateLimitError"


@pytest.mark.parametrize("operation", ["generate_content", "text_completion"])
def test_every_kind_of_model_call_is_a_decision(operation: str) -> None:
    assert chat([user("?")], [assistant("!")], operation=operation) == chat([user("?")], [assistant("!")])


def test_messages_as_json_text_give_the_same_commit_as_carried_ones() -> None:
    inputs, outputs = [user("?")], [assistant("why", "search")]
    assert chat(orjson.dumps(inputs).decode(), orjson.dumps(outputs).decode()) == chat(inputs, outputs)


@pytest.mark.parametrize("nonsense", ["{", "7", '["text", null, {"role": "user"}]', 7, {"role": "user"}, b"x", None])
def test_messages_that_are_none_are_no_trouble(nonsense: Any) -> None:
    assert chat(nonsense, nonsense).outcome is Outcome.OK


def test_other_spans_are_no_commits() -> None:
    for attributes in ({}, {semconv.GEN_AI_OPERATION_NAME: "invoke_agent"}, {"http.request.method": "GET"}):
        assert derive(SPAN, attributes, {}, False, POLICY) is None


def stated(op: str, kind: str, key: str, value: str) -> dict[str, str]:
    return {"op": op, "kind": kind, "key": key, "value": value}


def test_facts_and_pending_actions_are_commits_as_stated() -> None:
    changes = [stated("set", "fact", "db", "Postgres 17"), stated("drop", "pending", "deploy", "done")]
    expected = Commit(
        CommitKind.NOTE,
        Outcome.OK,
        input_hash=POLICY.hash("Postgres 17; done"),
        input_summary="Postgres 17; done",
        changes=(
            Change(DeltaOp.SET, EntryKind.FACT, "db", "Postgres 17", Tier.DURABLE),
            Change(DeltaOp.DROP, EntryKind.PENDING, "deploy", "done", Tier.DURABLE),
        ),
    )
    assert by_hand(CommitKind.NOTE, {semconv.COMMIT_DELTA: changes}) == expected
    assert by_hand(CommitKind.NOTE, {semconv.COMMIT_DELTA: orjson.dumps(changes).decode()}) == expected


def test_a_stated_change_that_makes_no_sense_costs_only_itself() -> None:
    changes = [
        stated("set", "wish", "a", "x"),
        stated("bend", "fact", "b", "x"),
        {"op": "set", "kind": "fact"},
        {"op": [], "kind": {}, "key": "c"},
        "text",
        stated("set", "fact", "d", "kept"),
    ]
    commit = by_hand(CommitKind.NOTE, {semconv.COMMIT_DELTA: changes})
    assert [change.entry for change in commit.changes] == ["fact:d"]


def test_a_decision_by_hand_is_an_entry_of_what_it_is_about() -> None:
    content = {
        semconv.DECISION_CHOICE: "DuckDB",
        semconv.DECISION_REASON_TEXT: "embedded",
        semconv.DECISION_ABOUT: "storage",
        semconv.DECISION_ALTERNATIVES: ["SQLite", "Postgres"],
    }
    assert by_hand(CommitKind.DECISION, content) == Commit(
        CommitKind.DECISION,
        Outcome.OK,
        input_hash=POLICY.hash("DuckDB"),
        input_summary="DuckDB",
        changes=(Change(DeltaOp.SET, EntryKind.DECISION, "storage", "DuckDB", Tier.DURABLE),),
        decision=Decision(SPAN, "DuckDB", "embedded", ReasonSource.STATED, "storage", ("SQLite", "Postgres")),
    )
    unexplained = by_hand(CommitKind.DECISION, {semconv.DECISION_CHOICE: "DuckDB"})
    assert unexplained.decision == Decision(SPAN, "DuckDB")
    assert [change.key for change in unexplained.changes] == [SPAN]


def test_full_capture_keeps_each_content_once_under_its_hash() -> None:
    commit = tool("t", {"q": "password=hunter2"}, "done", policy=FULL)
    assert commit.blobs == (
        Blob(commit.input_hash, '{"q":"password=[REDACTED:credential]"}'),
        Blob(commit.output_hash, "done"),
    )
    assert tool("t", {"q": 1}, "done").blobs == ()


@pytest.mark.parametrize(
    "commit",
    [
        tool("t", {"q": "MARK"}, "MARK", policy=NONE),
        tool("write_file", {"path": "a.py", "content": "MARK"}, "MARK", policy=NONE),
        tool("t", {"q": "MARK"}, error="ValueError", message="MARK", policy=NONE),
        chat([user("MARK")], [assistant("MARK", "search", reasoning="MARK")], policy=NONE),
        chat([user("MARK")], [assistant("MARK")], error="ValueError", policy=NONE),
        by_hand(CommitKind.NOTE, {semconv.COMMIT_DELTA: [stated("set", "fact", "k", "MARK")]}, NONE),
        by_hand(
            CommitKind.DECISION,
            {
                semconv.DECISION_CHOICE: "MARK",
                semconv.DECISION_REASON_TEXT: "MARK",
                semconv.DECISION_ALTERNATIVES: ["MARK"],
                semconv.DECISION_ABOUT: "k",
            },
            NONE,
        ),
    ],
)
def test_without_capture_no_text_is_anywhere_and_hashes_and_keys_are(commit: Commit) -> None:
    assert "MARK" not in repr(commit)
    assert commit.input_hash.startswith("sha256:")


def test_a_commit_speaks_the_words_of_the_convention() -> None:
    commit = tool("write_file", {"path": "a.py", "content": "x"}, "ok")
    assert commit.attributes() == {
        "turnlog.commit.kind": "tool",
        "turnlog.commit.outcome": "ok",
        "turnlog.commit.input.hash": commit.input_hash,
        "turnlog.commit.input.summary": '{"path":"a.py","content":"x"}',
        "turnlog.commit.output.hash": commit.output_hash,
        "turnlog.commit.output.summary": "ok",
        "turnlog.commit.delta": (
            '[{"op":"set","kind":"tool","key":"write_file","value":"ok","tier":"transient"},'
            '{"op":"set","kind":"file","key":"a.py","value":"' + POLICY.hash("x") + '",'
            '"tier":"durable","action":"write","evidence":"declared"}]'
        ),
        "turnlog.state.changed_keys": ("tool:write_file", "file:a.py"),
        "turnlog.state.changed_key.count": 2,
        "turnlog.file.actions": ("write a.py",),
        "turnlog.file.evidence": "declared",
        "turnlog.provenance.source.kind": "tool_output",
    }
    decided = chat([user("?")], [assistant("why", "search")])
    assert {key: value for key, value in decided.attributes().items() if "decision" in key} == {
        "turnlog.decision.id": SPAN,
        "turnlog.decision.choice": "call search",
        "turnlog.decision.reason.text": "why",
        "turnlog.decision.reason.source": "stated",
        "turnlog.decision.calls": ASKED,
    }


def test_arguments_that_the_tool_changed_are_not_kept_under_the_hash_of_what_it_was_given() -> None:
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
        semconv.GEN_AI_TOOL_NAME: "t",
        semconv.COMMIT_INPUT_HASH: FULL.hash({"q": 1}),
    }
    for arguments, kept in (({"q": 1}, (Blob(FULL.hash({"q": 1}), '{"q":1}'),)), ({"q": 2}, ())):
        assert committed(attributes, {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}, False, FULL).blobs == kept
