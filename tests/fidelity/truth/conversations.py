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

CASES = (SERVER_SIDE, TWO_CHATS, CHATS_IN_THREADS, CHATS_IN_TASKS, BATCH, AGENTS_AT_ONCE)
