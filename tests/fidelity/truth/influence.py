"""Turns that are run again, turns that only look so, and what flows from the web into decisions and files."""

from __future__ import annotations

from fidelity.case import Case, File, Retry, Session, Taint, Tool
from turnlog.demo.scripted_model import Reply, ToolCall

API_ERROR = Case(
    "api_error.py",
    ["Noon.", Reply("out of order", status=500), Reply("still out of order", status=500), "Six in the morning."],
    [
        Session(
            ["What time is it in Rome?", "And in Lima?", "And in Lima?", "And in Lima?"],
            retries=[Retry(3, "turn", 2, 2), Retry(4, "turn", 2, 3)],
        )
    ],
)

REGENERATED = Case(
    "regenerated.py",
    ["There was a fox.", "It met a crow.", "They quarrelled.", "It met a crow with a cheese.", "They shared it."],
    [
        Session(
            [
                "Begin a tale of a fox.",
                "Let it meet a crow.",
                "Let them quarrel.",
                "Let it meet a crow.",
                "Let them make friends.",
            ],
            contexts={
                5: [
                    "system: You write tales.",
                    "user: Begin a tale of a fox.",
                    "assistant: There was a fox.",
                    "user: Let it meet a crow.",
                    "assistant: It met a crow with a cheese.",
                    "user: Let them make friends.",
                ]
            },
            retries=[Retry(4, "turn", 2, 2)],
        )
    ],
)

SAID_TWICE = Case(
    "said_twice.py",
    ["Once upon a time.", "A king lived.", "He was old.", "He died."],
    [Session(["Tell me a story.", "Go on.", "Go on.", "Go on."])],
)

_REPORT = "It rains; I write that down."

# The answer of the second turn never was in a context, and what the user said stays.
WEB_SEARCH = Case(
    "web_search.py",
    [
        Reply("I look it up.", tool_calls=[ToolCall("fetch_page", {"url": "https://weather.example/today"}, "c_page")]),
        Reply(_REPORT, tool_calls=[ToolCall("write_file", {"path": "report.md", "content": "Rain."}, "c_report")]),
        "The report is written.",
        "Yes, take one.",
        Reply("A list, then.", tool_calls=[ToolCall("write_file", {"path": "list.md", "content": "Bread."}, "c_list")]),
        "The list is written.",
    ],
    [
        Session(
            ["How is the weather? Write it down.", "Do I need an umbrella?", "Now write me a shopping list."],
            contexts={
                3: [
                    "system: You look things up.",
                    "user: How is the weather? Write it down.",
                    "user: Do I need an umbrella?",
                    "user: Now write me a shopping list.",
                    "assistant: A list, then.",
                    "result: c_list",
                ]
            },
            tools=[
                Tool(1, "fetch_page", "ok", "I look it up."),
                Tool(1, "write_file", "ok", _REPORT),
                Tool(3, "write_file", "ok", "A list, then."),
            ],
            files=[
                File(1, "report.md", "write", "declared", "write_file"),
                File(3, "list.md", "write", "declared", "write_file"),
            ],
            evicted={
                3: [
                    "assistant: I look it up.",
                    "decision: I look it up.",
                    "source: https://weather.example/today",
                    "result: c_page",
                    f"assistant: {_REPORT}",
                    f"decision: {_REPORT}",
                    "file: report.md",
                    "result: c_report",
                    "assistant: The report is written.",
                ]
            },
            taint=[
                Taint(1, "fetch_page", _REPORT, "", 0),
                Taint(1, "fetch_page", _REPORT, "write_file", 0),
                Taint(1, "fetch_page", "The report is written.", "", 0),
                Taint(2, "fetch_page", "Yes, take one.", "", 1),
            ],
        )
    ],
)

_DATES = "The web says whenever."

AGENT_SEARCH = Case(
    "agent_search.py",
    [
        Reply("I search.", tool_calls=[ToolCall("web_search", {"query": "best date library"}, "c_search")]),
        Reply(_DATES, tool_calls=[ToolCall("write_file", {"path": "dates.py", "content": "import whenever"}, "c_dates")]),
        "dates.py uses it.",
        Reply("A greeting.", tool_calls=[ToolCall("write_file", {"path": "hello.py", "content": "print('hello')"}, "c_hello")]),
        "hello.py greets you.",
    ],
    [
        Session(
            ["Which library parses dates best? Use it.", "Write a file that greets me."],
            name="dates",
            contexts={
                2: [
                    "system: You are a programmer.",
                    "user: Write a file that greets me.",
                    "assistant: A greeting.",
                    "result: c_hello",
                ]
            },
            tools=[
                Tool(1, "web_search", "ok", "I search."),
                Tool(1, "write_file", "ok", _DATES),
                Tool(2, "write_file", "ok", "A greeting."),
            ],
            files=[
                File(1, "dates.py", "create", "both", "write_file"),
                File(2, "hello.py", "create", "both", "write_file"),
            ],
            evicted={
                2: [
                    "user: Which library parses dates best? Use it.",
                    "assistant: I search.",
                    "decision: I search.",
                    "result: c_search",
                    f"assistant: {_DATES}",
                    f"decision: {_DATES}",
                    "file: dates.py",
                    "result: c_dates",
                ]
            },
            taint=[
                Taint(1, "web_search", _DATES, "", 0),
                Taint(1, "web_search", _DATES, "write_file", 0),
                Taint(1, "web_search", "dates.py uses it.", "", 0),
            ],
        )
    ],
)

# What the page said is cleared before the second question; what the model made of it is still there.
SEARCH_CLEARED = Case(
    "search_cleared.py",
    [
        Reply("I ask the web.", tool_calls=[ToolCall("web_search", {"query": "height of the Eiffel tower"}, "c_height")]),
        "It is 330 metres high.",
        Reply("I add the mast.", tool_calls=[ToolCall("add", {"terms": [330, 10]}, "c_sum")]),
        "340 metres.",
    ],
    [
        Session(
            ["How high is the tower?", "And with a mast of ten metres?"],
            tools=[Tool(1, "web_search", "ok", "I ask the web."), Tool(2, "add", "ok", "I add the mast.")],
            evicted={2: ["result: c_height"]},
            taint=[
                Taint(1, "web_search", "It is 330 metres high.", "", 0),
                Taint(2, "web_search", "I add the mast.", "", 1, "derived"),
                Taint(2, "web_search", "I add the mast.", "add", 1, "derived"),
                Taint(2, "web_search", "340 metres.", "", 1, "derived"),
            ],
        )
    ],
)

CASES = (API_ERROR, REGENERATED, SAID_TWICE, WEB_SEARCH, AGENT_SEARCH, SEARCH_CLEARED)
