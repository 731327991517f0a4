"""Tools of hand-written loops, of agents and of processes that die: attempts, files, and what is left open."""

from __future__ import annotations

import signal

from fidelity.case import Case, File, Retry, Session, Tool, Unfinished
from turnlog.demo.scripted_model import Reply, ToolCall

_GREETING: list[Reply | str] = [
    Reply(
        "I write the new one and read the old.",
        tool_calls=[
            ToolCall("write_file", {"path": "greeting.txt", "content": "Good day"}, "c_write"),
            ToolCall("read_file", {"path": "farewell.txt"}, "c_read"),
        ],
    ),
    "The new one is written; there is no old one.",
    "Nothing.",
]
_GREETING_TURNS = ["Write a greeting and check the old one.", "Thank you. Anything left to do?"]

TOOL_LOOP = Case(
    "tool_loop.py",
    _GREETING,
    [
        Session(
            _GREETING_TURNS,
            tools=[
                Tool(1, "write_file", "ok", "I write the new one and read the old."),
                Tool(1, "read_file", "error inferred", "I write the new one and read the old."),
            ],
            files=[File(1, "greeting.txt", "write", "declared", "write_file")],
        )
    ],
)

TOOL_LOOP_RECORDED = Case(
    "tool_loop_recorded.py",
    _GREETING,
    [
        Session(
            _GREETING_TURNS,
            tools=[
                Tool(1, "write_file", "ok", "I write the new one and read the old."),
                Tool(1, "read_file", "error", "I write the new one and read the old."),
            ],
            files=[
                File(1, "greeting.txt", "create", "both", "write_file"),
                File(1, "journal.log", "create", "observed", "write_file"),
            ],
        )
    ],
)

CLAUDE_TOOLS = Case(
    "claude_tools.py",
    [
        Reply(
            "I write a new list and look at the old.",
            tool_calls=[
                ToolCall("bash", {"command": "printf 'Ada\\nZoe\\n' > sorted.txt"}, "c_sort"),
                ToolCall("read_file", {"path": "guests.txt"}, "c_guests"),
            ],
        ),
        "Zoe and Ada are coming.",
        Reply("The old list can go.", tool_calls=[ToolCall("bash", {"command": "rm guests.txt"}, "c_remove")]),
        "Ada.",
    ],
    [
        Session(
            ["Prepare the list of guests.", "Who comes first?"],
            tools=[
                Tool(1, "bash", "ok", "I write a new list and look at the old."),
                Tool(1, "read_file", "ok", "I write a new list and look at the old."),
                Tool(2, "bash", "ok", "The old list can go."),
            ],
            files=[
                File(1, "sorted.txt", "write", "declared", "bash"),
                File(1, "guests.txt", "read", "declared", "read_file"),
                File(2, "guests.txt", "delete", "declared", "bash"),
            ],
        )
    ],
)

RESPONSES_TOOLS = Case(
    "responses_tools.py",
    [
        Reply("I add them.", tool_calls=[ToolCall("add", {"terms": [2, 3]}, "c_five")]),
        "Five.",
        Reply("I add ten.", tool_calls=[ToolCall("add", {"terms": [5, 10]}, "c_fifteen")]),
        "Fifteen.",
    ],
    [
        Session(
            ["What are 2 and 3?", "And 10 more?"],
            contexts={
                2: [
                    "system: You count.",
                    "user: What are 2 and 3?",
                    "assistant: I add them.",
                    "result: c_five",
                    "assistant: Five.",
                    "user: And 10 more?",
                    "assistant: I add ten.",
                    "result: c_fifteen",
                ]
            },
            tools=[Tool(1, "add", "ok", "I add them."), Tool(2, "add", "ok", "I add ten.")],
        )
    ],
)

LANGCHAIN_LOOP = Case(
    "langchain_loop.py",
    [
        Reply(
            "I look both up.",
            tool_calls=[
                ToolCall("price_of", {"fruit": "apple"}, "c_price"),
                ToolCall("stock_of", {"fruit": "apple"}, "c_stock"),
            ],
        ),
        "40 cents, and there are three.",
        Reply("I look it up.", tool_calls=[ToolCall("price_of", {"fruit": "pear"}, "c_pear")]),
        "55 cents.",
    ],
    [
        Session(
            ["How much is an apple, and are there any?", "And a pear?"],
            tools=[
                Tool(1, "price_of", "ok", "I look both up."),
                Tool(1, "stock_of", "ok", "I look both up."),
                Tool(2, "price_of", "ok", "I look it up."),
            ],
        )
    ],
)

# The third call repeats the second, but that had succeeded: it is no attempt.
TOOL_AGAIN = Case(
    "tool_again.py",
    [
        Reply("I ring it.", tool_calls=[ToolCall("ring_the_bell", {"times": 3}, "c_first")]),
        Reply("It was stuck; I pull again.", tool_calls=[ToolCall("ring_the_bell", {"times": 3}, "c_second")]),
        Reply("And once more, as you said.", tool_calls=[ToolCall("ring_the_bell", {"times": 3}, "c_third")]),
        "It rang six times.",
    ],
    [
        Session(
            ["Ring the bell three times, and then again."],
            tools=[
                Tool(1, "ring_the_bell", "error", "I ring it."),
                Tool(1, "ring_the_bell", "ok", "It was stuck; I pull again."),
                Tool(1, "ring_the_bell", "ok", "And once more, as you said."),
            ],
            retries=[Retry(1, "ring_the_bell", 1, 2)],
        )
    ],
)

GUARDED_TOOL = Case(
    "guarded_tool.py",
    [],
    [
        Session(
            ["Launch the Swan.", "Launch the Swan."],
            name="harbour",
            tools=[Tool(1, "launch", "error", ""), Tool(1, "launch", "ok", ""), Tool(2, "launch", "ok", "")],
            retries=[Retry(1, "launch", 1, 2)],
        )
    ],
)


def _step(said: str, tool: str, **arguments: str) -> Reply:
    return Reply(said, tool_calls=[ToolCall(tool, arguments)])


FILES_BY_AGENT = Case(
    "files_by_agent.py",
    [
        _step("Notes first.", "write_file", path="notes.txt", content="one"),
        _step("The draft gets better.", "write_file", path="draft.txt", content="second"),
        _step("I read the notes.", "read_file", path="notes.txt"),
        _step("The old file goes.", "delete_file", path="old.txt"),
        _step("A page.", "publish", title="House"),
        _step("A list.", "bash", command="echo one > list.txt"),
        _step("The draft again.", "bash", command="sed -i s/second/third/ draft.txt"),
        _step("The list is final.", "bash", command="mv list.txt final.txt"),
        _step("No, away with it.", "bash", command="rm final.txt"),
        "All is tidy.",
    ],
    [
        Session(
            ["Tidy up and publish."],
            tools=[
                Tool(1, "write_file", "ok", "Notes first."),
                Tool(1, "write_file", "ok", "The draft gets better."),
                Tool(1, "read_file", "ok", "I read the notes."),
                Tool(1, "delete_file", "ok", "The old file goes."),
                Tool(1, "publish", "ok", "A page."),
                Tool(1, "bash", "ok", "A list."),
                Tool(1, "bash", "ok", "The draft again."),
                Tool(1, "bash", "ok", "The list is final."),
                Tool(1, "bash", "ok", "No, away with it."),
            ],
            files=[
                File(1, "notes.txt", "create", "both", "write_file"),
                File(1, "draft.txt", "write", "both", "write_file"),
                File(1, "notes.txt", "read", "declared", "read_file"),
                File(1, "old.txt", "delete", "both", "delete_file"),
                File(1, "page.html", "create", "observed", "publish"),
                File(1, "list.txt", "create", "both", "bash"),
                File(1, "draft.txt", "write", "both", "bash"),
                File(1, "list.txt", "delete", "both", "bash"),
                File(1, "final.txt", "rename from list.txt", "both", "bash"),
                File(1, "final.txt", "delete", "both", "bash"),
            ],
        )
    ],
)

_SONG = "Verse, chorus and title."

FILES_AT_ONCE = Case(
    "files_at_once.py",
    [
        Reply(_SONG, tool_calls=[ToolCall("write_verse", {"number": 1}), ToolCall("write_chorus"), ToolCall("write_title")]),
        "Here is your song.",
    ],
    [
        Session(
            ["Write me a song."],
            tools=[Tool(1, tool, "ok", _SONG) for tool in ("write_verse", "write_chorus", "write_title")],
            files=[
                File(1, "verse1.txt", "create", "observed", "write_verse"),
                File(1, "chorus.txt", "create", "observed", "write_chorus"),
                File(1, "title.txt", "create", "observed", "write_title"),
            ],
        )
    ],
)

# What the commands of a child process write, nobody declares and no hook sees: the folder tells.
WATCHED = Case(
    "watched.py",
    [],
    [
        Session(
            ["Build 1.0.", "Build 1.1."],
            name="builds",
            tools=[Tool(1, "build", "ok", ""), Tool(2, "build", "ok", "")],
            files=[
                File(1, "out/app.bin", "create", "observed", "build"),
                File(2, "out/app.bin", "write", "observed", "build"),
            ],
        )
    ],
    environment={"TURNLOG_WATCH": "."},
)

KILLED = Case(
    "killed.py",
    [
        Reply("I measure.", tool_calls=[ToolCall("measure", {"what": "load"})]),
        Reply("I deploy.", tool_calls=[ToolCall("deploy", {"version": "1.4"})]),
    ],
    [
        Session(
            ["Measure the load, then deploy 1.4."],
            name="ops",
            tools=[Tool(1, "measure", "ok", "I measure."), Tool(1, "deploy", "interrupted", "I deploy.")],
            unfinished=[Unfinished(1, "interrupted", "deploy")],
        )
    ],
    exit_code=-signal.SIGKILL,
)

# Nobody saw the calls run: they were asked for and never answered.
KILLED_LOOP = Case(
    "killed_loop.py",
    [Reply("Both, in this order.", tool_calls=[ToolCall("backup"), ToolCall("upgrade")])],
    [
        Session(
            ["Back up, then upgrade."],
            unfinished=[Unfinished(1, "queued", "backup"), Unfinished(1, "queued", "upgrade")],
        )
    ],
    exit_code=-signal.SIGKILL,
)

# A call that waits for a person has not ended: it is open work, and neither ok nor failed.
APPROVAL = Case(
    "approval.py",
    [
        Reply("I pay Ann.", tool_calls=[ToolCall("pay", {"amount": 5, "to": "Ann"})]),
        Reply("I pay Ben.", tool_calls=[ToolCall("pay", {"amount": 5, "to": "Ben"})]),
        "Ann has her money.",
    ],
    [
        Session(["Pay 5 to Ann.", "true"], name="pay-Ann", tools=[Tool(2, "pay", "ok", "I pay Ann.")]),
        # The question waits for a person, and the call that the model asked for waits behind it.
        Session(
            ["Pay 5 to Ben."],
            name="pay-Ben",
            unfinished=[Unfinished(1, "pending", "pay 5 to Ben?"), Unfinished(1, "queued", "pay")],
        ),
    ],
)

PENDING = Case(
    "pending.py",
    [],
    [
        Session(
            ["Post the letter and call the bank.", "Did you post it?"],
            name="errands",
            unfinished=[Unfinished(1, "pending", "call the bank")],
        )
    ],
)

CASES = (
    TOOL_LOOP,
    TOOL_LOOP_RECORDED,
    CLAUDE_TOOLS,
    RESPONSES_TOOLS,
    LANGCHAIN_LOOP,
    TOOL_AGAIN,
    GUARDED_TOOL,
    FILES_BY_AGENT,
    FILES_AT_ONCE,
    WATCHED,
    KILLED,
    KILLED_LOOP,
    APPROVAL,
    PENDING,
)
