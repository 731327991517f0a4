"""Conversations whose context grows, shrinks or changes from call to call."""

from __future__ import annotations

from fidelity.case import Case, File, Session, Tool
from turnlog.demo.scripted_model import Reply, ToolCall

APPEND_ONLY = Case(
    "append_only.py",
    ["In spring.", "In spring too.", "As deep as your arm."],
    [Session(["When do I sow carrots?", "And parsnips?", "How deep do both go?"])],
)

# The window holds four messages: the third question pushes the first one out, and each later one the two oldest.
SLIDING_WINDOW = Case(
    "sliding_window.py",
    ["The Loire.", "The Ebro.", "The Vistula.", "The Vistula is.", "Sometimes."],
    [
        Session(
            [
                "Name a river in France.",
                "And one in Spain.",
                "And one in Poland.",
                "Which of them is the longest?",
                "Does it freeze in winter?",
            ],
            evicted={
                3: ["user: Name a river in France."],
                4: ["assistant: The Loire.", "user: And one in Spain."],
                5: ["assistant: The Ebro.", "user: And one in Poland."],
            },
            contexts={
                5: [
                    "system: You are a geographer of few words.",
                    "assistant: The Vistula.",
                    "user: Which of them is the longest?",
                    "assistant: The Vistula is.",
                    "user: Does it freeze in winter?",
                ]
            },
        )
    ],
)

MIDDLE_REMOVED = Case(
    "middle_removed.py",
    ["No nuts, then.", "Soup.", "Fish.", "Pasta.", "Yes, no nuts anywhere."],
    [
        Session(
            [
                "I am allergic to nuts. Plan my week's dinners.",
                "What about Monday?",
                "And Tuesday?",
                "Wednesday, please.",
                "Is all of that safe for me?",
            ],
            evicted={
                4: ["user: What about Monday?", "assistant: Soup."],
                5: ["user: And Tuesday?", "assistant: Fish."],
            },
            contexts={
                5: [
                    "system: You are a cook.",
                    "user: I am allergic to nuts. Plan my week's dinners.",
                    "assistant: No nuts, then.",
                    "user: Wednesday, please.",
                    "assistant: Pasta.",
                    "user: Is all of that safe for me?",
                ]
            },
        )
    ],
)

_TREES = ("oak", "elm", "ash", "fir", "yew", "box", "fig", "bay", "nut", "gum", "tea", "may")
_NOTE = "Trees, ten of them."

# 22 messages lie behind the twelfth question: those about the first ten trees become one, the last exchange stays.
SUMMARISED = Case(
    "summarised.py",
    [*(f"It is a {tree}." for tree in _TREES[:-1]), _NOTE, "It is a may."],
    [
        Session(
            [f"Tell me of {tree}." for tree in _TREES],
            contexts={
                12: [
                    "system: You are a botanist.",
                    f"user: What we said so far: {_NOTE}",
                    "user: Tell me of tea.",
                    "assistant: It is a tea.",
                    "user: Tell me of may.",
                ]
            },
            evicted={
                12: [said for tree in _TREES[:10] for said in (f"user: Tell me of {tree}.", f"assistant: It is a {tree}.")]
            },
        ),
        Session(["Summarise this conversation about trees:\nuser: Tell me of oak.\nassistant: It is a oak.\nuser: Tell"]),
    ],
)

# The third answer never was in a context: the note took its place before the next call.
SUMMARISED_WHOLE = Case(
    "summarised_whole.py",
    ["Is it on?", "Pull the plug.", "Put it back.", "Buy another."],
    [
        Session(
            ["My printer is silent.", "The light is green.", "I pulled the plug.", "What now?"],
            name="support-7",
            contexts={
                4: [
                    "system: You help people with printers.",
                    "system: So far: a silent printer, green light, unplugged once.",
                    "user: What now?",
                ]
            },
            evicted={
                4: [
                    "user: My printer is silent.",
                    "assistant: Is it on?",
                    "user: The light is green.",
                    "assistant: Pull the plug.",
                    "user: I pulled the plug.",
                ]
            },
        )
    ],
)

# The call that read one.txt, path and all, stays in the context; only what it gave is cleared.
RESULTS_CLEARED = Case(
    "results_cleared.py",
    [
        Reply("I open the first.", tool_calls=[ToolCall("read_file", {"path": "one.txt"}, "c_one")]),
        "A dog comes home.",
        Reply("I open the second.", tool_calls=[ToolCall("read_file", {"path": "two.txt"}, "c_two")]),
        "A dog leaves.",
        "The second.",
    ],
    [
        Session(
            ["What is in the first chapter?", "And in the second?", "Which of the two is sadder?"],
            tools=[Tool(1, "read_file", "ok", "I open the first."), Tool(2, "read_file", "ok", "I open the second.")],
            files=[
                File(1, "one.txt", "read", "declared", "read_file"),
                File(2, "two.txt", "read", "declared", "read_file"),
            ],
            evicted={3: ["result: c_one"]},
            contexts={
                3: [
                    "user: What is in the first chapter?",
                    "assistant: I open the first.",
                    "result: c_one",
                    "assistant: A dog comes home.",
                    "user: And in the second?",
                    "assistant: I open the second.",
                    "result: c_two",
                    "assistant: A dog leaves.",
                    "user: Which of the two is sadder?",
                ]
            },
        )
    ],
)

SYSTEM_CHANGED = Case(
    "system_changed.py",
    ["Soup.", "Bread.", "Bread."],
    [
        Session(
            ["What is there to eat?", "Anything else?", "And now?"],
            contexts={
                3: [
                    "system: You are a waiter. Today there is nothing but bread.",
                    "user: What is there to eat?",
                    "assistant: Soup.",
                    "user: Anything else?",
                    "assistant: Bread.",
                    "user: And now?",
                ]
            },
        )
    ],
)

EDITED_MESSAGE = Case(
    "edited_message.py",
    ["When?", "Which class?", "Booked for Monday.", "Which class, then?", "Booked for Tuesday."],
    [
        Session(
            [
                "I want to go to Lyon.",
                "On Monday morning.",
                "Second class, please.",
                "On Tuesday evening.",
                "First class, please.",
            ],
            contexts={
                5: [
                    "system: You book trains.",
                    "user: I want to go to Lyon.",
                    "assistant: When?",
                    "user: On Tuesday evening.",
                    "assistant: Which class, then?",
                    "user: First class, please.",
                ]
            },
        )
    ],
)

RESTARTED = Case(
    "restarted.py",
    ["Is it plugged in?", "Then restart it.", "Good.", "It was the cable.", "You are welcome."],
    [
        Session(
            ["My screen is black.", "Yes, it is.", "I did.", "It is black again.", "Thank you."],
            name="ticket-9",
            contexts={
                3: [
                    "system: You are the help desk.",
                    "user: My screen is black.",
                    "assistant: Is it plugged in?",
                    "user: Yes, it is.",
                    "assistant: Then restart it.",
                    "user: I did.",
                ],
                4: ["system: You are the help desk.", "user: I did.", "assistant: Good.", "user: It is black again."],
            },
            evicted={
                4: [
                    "user: My screen is black.",
                    "assistant: Is it plugged in?",
                    "user: Yes, it is.",
                    "assistant: Then restart it.",
                ]
            },
        )
    ],
    runs=[["My screen is black.", "Yes, it is.", "I did."], ["It is black again.", "Thank you."]],
    environment={"TURNLOG_SESSION": "ticket-9"},
)

# The summary is written by a second model, within the fourth turn, before the agent's own model is asked.
AGENT_SUMMARISED = Case(
    "agent_summarised.py",
    ["The Romans.", "Long ago.", "As long as the river is wide.", "We spoke of a Roman bridge.", "It is."],
    [
        Session(
            ["Who built the bridge?", "When was that?", "How long is it?", "Is it still open?"],
            name="tour-1",
            contexts={
                4: [
                    "system: You are a city guide.",
                    "user: Here is a summary of the conversation to date: We spoke of a Roman bridge.",
                    "assistant: As long as the river is wide.",
                    "user: Is it still open?",
                ]
            },
            evicted={
                4: [
                    "user: Who built the bridge?",
                    "assistant: The Romans.",
                    "user: When was that?",
                    "assistant: Long ago.",
                    "user: How long is it?",
                ]
            },
        )
    ],
)

CASES = (
    APPEND_ONLY,
    SLIDING_WINDOW,
    MIDDLE_REMOVED,
    SUMMARISED,
    SUMMARISED_WHOLE,
    RESULTS_CLEARED,
    SYSTEM_CHANGED,
    EDITED_MESSAGE,
    RESTARTED,
    AGENT_SUMMARISED,
)
