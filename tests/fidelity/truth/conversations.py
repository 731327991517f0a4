"""Conversations that go on at the same time: in one thread, in several, in tasks, and on the provider's side."""

from __future__ import annotations

import json
from typing import Any

from fidelity.case import Case, File, Session, Tool
from turnlog.demo.scripted_model import Reply, ToolCall


def _answer(body: dict[str, Any]) -> str:
    """Something that depends on the whole conversation, as a model's answer does."""
    said = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    return f"I heard {len(said)}: {said[0]}"


SERVER_SIDE = Case(
    "server_side.py",
    [f"{what} {step}." for step in ("first", "second", "third") for what in ("Bike", "Boat", "Kite")],
    [
        Session(
            ["Hello, I need help with my bike.", "The chain.", "It is off."],
            contexts={
                3: [
                    "system: You repair things. This is question 3.",
                    "user: Hello, I need help with my bike.",
                    "assistant: Bike first.",
                    "user: The chain.",
                    "assistant: Bike second.",
                    "user: It is off.",
                ]
            },
        ),
        Session(["Hello, I need help with my boat.", "The sail.", "It is torn."]),
        Session(
            ["Hello, I need help with my kite.", "The tail.", "It is gone."],
            name="conv_carol",
            contexts={2: ["user: Hello, I need help with my kite.", "assistant: Kite first.", "user: The tail."]},
        ),
    ],
)

TWO_CHATS = Case(
    "two_chats.py",
    _answer,
    [
        Session(["Hi! Please translate: cat", "Into Latin.", "Thank you."]),
        Session(["Hi! Please translate: dog", "Into Latin.", "Thank you."]),
    ],
)

CHATS_IN_THREADS = Case(
    "chats_in_threads.py",
    _answer,
    [
        Session(["Good morning. My order is late: number 41.", "Since Friday.", "Please cancel it."]),
        Session(["Good morning. My order is late: number 42.", "Since Friday.", "I can wait."]),
    ],
)

CHATS_IN_TASKS = Case(
    "chats_in_tasks.py",
    _answer,
    [Session([f"I feel ill: my {part}.", "Since today.", "Thanks."]) for part in ("head", "knee", "back")],
)

BATCH = Case(
    "batch.py",
    _answer,
    [Session([f"My essay is about {topic}.", "Why this grade?"]) for topic in ("rain", "snow", "wind")],
)


def _note_taker(body: dict[str, Any]) -> Reply:
    food = "ham" if "ham" in json.dumps(body["messages"]) else "jam"
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply(f"The note on {food} is saved.")
    if last["content"] == "And who told me so?":
        return Reply(f"You said so of {food}.")
    call = ToolCall("save_note", {"path": f"{food}.txt", "text": f"there is no more {food}"}, f"c_{food}")
    return Reply(f"I note it: {food}.", tool_calls=[call])


AGENTS_AT_ONCE = Case(
    "agents_at_once.py",
    _note_taker,
    [
        Session(
            [f"Note that {food} is out of stock.", "And who told me so?"],
            name=food,
            tools=[Tool(1, "save_note", "ok", f"I note it: {food}.")],
            files=[File(1, f"{food}.txt", "create", "both", "save_note")],
        )
        for food in ("ham", "jam")
    ],
)

# The researcher sees its question and its tool, and nothing of what the keeper sees; the keeper loses nothing meanwhile.
SUB_AGENT = Case(
    "sub_agent.py",
    [
        "Hello to you.",
        Reply("I ask.", tool_calls=[ToolCall("research", {"question": "Which birds are missing?"}, "c_ask")]),
        Reply("I count.", tool_calls=[ToolCall("count_birds", {}, "c_count")]),
        "The swans.",
        "The swans, he says.",
        "Goodbye.",
    ],
    [
        Session(
            ["Hello.", "Which birds are missing?", "Thank you."],
            name="pond",
            tools=[Tool(2, "research", "ok", "I ask."), Tool(2, "count_birds", "ok", "I count.")],
            contexts={
                2: [
                    "system: You keep the pond.",
                    "user: Hello.",
                    "assistant: Hello to you.",
                    "user: Which birds are missing?",
                    "assistant: I ask.",
                    "result: c_ask",
                ],
                3: [
                    "system: You keep the pond.",
                    "user: Hello.",
                    "assistant: Hello to you.",
                    "user: Which birds are missing?",
                    "assistant: I ask.",
                    "result: c_ask",
                    "assistant: The swans, he says.",
                    "user: Thank you.",
                ],
            },
        )
    ],
)

SUB_LOOP = Case(
    "sub_loop.py",
    [
        Reply(tool_calls=[ToolCall("ask_pilot", {"question": "Which boats are out?"}, "c_1")]),
        Reply("I look.", tool_calls=[ToolCall("look_out", {}, "c_look")]),
        "Two of them.",
        "Two, says the pilot.",
        Reply("I ask again.", tool_calls=[ToolCall("ask_pilot", {"question": "Are they safe?"}, "c_2")]),
        "The sea is calm.",
        "They are.",
    ],
    [
        Session(
            ["Which boats are out?", "Are they safe?"],
            tools=[
                Tool(1, "ask_pilot", "ok", ""),
                Tool(1, "look_out", "ok", "I look."),
                Tool(2, "ask_pilot", "ok", "I ask again."),
            ],
            contexts={
                2: [
                    "user: Which boats are out?",
                    "assistant: ",
                    "result: c_1",
                    "assistant: Two, says the pilot.",
                    "user: Are they safe?",
                    "assistant: I ask again.",
                    "result: c_2",
                ]
            },
        )
    ],
)

CASES = (SERVER_SIDE, TWO_CHATS, CHATS_IN_THREADS, CHATS_IN_TASKS, BATCH, AGENTS_AT_ONCE, SUB_AGENT, SUB_LOOP)
