"""Turns that are run again, as journal rows."""

from __future__ import annotations

from typing import Any

from store.story import Story

ASKS = {"choice": "call read, run", "output_hash": "asks", "calls": ["c1", "c2"], "input_tokens": 10, "output_tokens": 2}
ANSWERS = {"choice": "answer", "output_hash": "done", "input_tokens": 20, "output_tokens": 4}


class Attempts(Story):
    """Turns of one session: a model call that asks for two tools, the two calls, and an answer."""

    session = "s"

    def open(self, turn: str, prefix: str = "p", text: str = "go", **first: Any) -> None:
        self.span(
            f"{turn} opens", self.session, turn, operation="invoke_agent", turn_input=text, turn_input_hash=f"hash of {text}"
        )
        self.chat(f"{turn} asks", self.session, turn, **{"turn_prefix_hash": prefix, "context_hash": "k1", **ASKS, **first})

    def call(self, label: str, tool: str, call_id: str, **fields: Any) -> None:
        turn = label.partition(" ")[0]
        usual = {"decision_id": self.spans[f"{turn} asks"], "tool_call_id": call_id, "input_hash": f"to {tool}"}
        self.tool(label, self.session, turn, tool, **{**usual, "output_hash": f"from {tool}", **fields})

    def run(self, turn: str, *, read: Any = None, run: Any = None, answer: Any = None, **opening: Any) -> None:
        self.open(turn, **opening)
        self.call(f"{turn} reads", "read", "c1", **(read or {}))
        self.call(f"{turn} runs", "run", "c2", **(run or {}))
        self.chat(f"{turn} answers", self.session, turn, **{"context_hash": "k2", **ANSWERS, **(answer or {})})
