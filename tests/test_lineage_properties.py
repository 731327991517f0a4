"""Whatever an application does to its messages between two model calls, contexts rebuilt from the record are the real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.content import ContentPolicy
from turnlog.derive.lineage import Lineages
from turnlog.settings import Settings

POLICY = ContentPolicy(Settings(directory=Path("nowhere")))
Message = dict[str, Any]
# Few texts, so that the same one often comes twice.
TEXTS = ("yes", "no", "go on", "why?")


class Edit(NamedTuple):
    conversation: int
    action: str
    text: str
    a: int
    b: int
    instructions: str
    answered: bool


ACTIONS: dict[str, Callable[[Edit, list[Message]], list[Message]]] = {
    "ask": lambda edit, said: [*said, _text("user", edit.text)],
    "answer": lambda edit, said: [*said, _text("assistant", edit.text)],
    "call a tool": lambda edit, said: [*said, *_tool_call(edit)],
    "drop the head": lambda edit, said: said[edit.a % len(said) :],
    "drop the middle": lambda edit, said: [*said[: edit.a % len(said)], *said[edit.b % len(said) + 1 :]],
    "replace one": lambda edit, said: [*said[: edit.a % len(said)], _text("user", edit.text), *said[edit.a % len(said) + 1 :]],
    "insert one": lambda edit, said: [*said[: edit.a % len(said)], _text("user", edit.text), *said[edit.a % len(said) :]],
    "say one again": lambda edit, said: [*said, dict(said[edit.a % len(said)])],
    "clear a result": lambda edit, said: _cleared(said, edit.a),
    "go back and ask": lambda edit, said: [*said[: edit.a % len(said)], _text("user", edit.text)],
    "shrink to the last": lambda edit, said: said[-(edit.a % 3 + 1) :],
    "send it again": lambda edit, said: list(said),
    "forget everything": lambda edit, said: [_text("user", edit.text)],
}


EDITS = st.lists(
    st.builds(
        Edit,
        conversation=st.integers(0, 1),
        action=st.sampled_from(sorted(ACTIONS)),
        text=st.sampled_from(TEXTS),
        a=st.integers(0, 20),
        b=st.integers(0, 20),
        instructions=st.sampled_from(("", "be kind", "be brief")),
        answered=st.booleans(),
    ),
    max_size=25,
)


@settings(max_examples=300, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(edits=EDITS, named=st.booleans())
def test_contexts_rebuilt_from_what_was_added_and_evicted_are_the_real_ones(edits: list[Edit], named: bool) -> None:
    lineages, record = Lineages(POLICY), Record()
    talks: dict[int, list[Message]] = {}
    for number, edit in enumerate(edits):
        said = talks.get(edit.conversation) or [_text("user", f"I am {edit.conversation}")]
        said = ACTIONS[edit.action](edit, said) or [_text("user", edit.text)]
        system = [_text("system", edit.instructions)] if edit.instructions else []
        match = lineages.match([*system, *said], session=f"talk {edit.conversation}" if named else "")
        session = f"talk {edit.conversation}" if named else match.session or f"new {number}"
        sight = lineages.advance(match, session, f"{number:016x}")
        before = record.contexts.get(sight.lineage.id)
        record.apply(sight.lineage.id, sight.changes(POLICY))
        assert record.context(sight.lineage.id) == [_hash(message) for message in (*system, *said)]
        if before is not None:
            assert set(sight.evicted) == _lost(before, record.contexts[sight.lineage.id])
        if edit.answered:
            said = [*said, _text("assistant", f"answer {number}")]
            lineages.replied(sight, [said[-1]], f"{number:016x}", "", None)
        talks[edit.conversation] = said


class Record:
    """Contexts as a reader puts them together: by lineage, in the order of places, each place taken once and for all."""

    def __init__(self) -> None:
        self.contexts: dict[str, dict[int, dict[str, Any]]] = {}
        self._taken: set[tuple[str, int]] = set()

    def apply(self, lineage: str, changes: list[Message]) -> None:
        context = self.contexts[lineage] = dict(self.contexts.get(lineage, {}))
        for change in changes:
            if change["op"] == "evict":
                del context[change["at"]]
        for change in changes:
            if change["op"] == "add":
                assert (lineage, change["at"]) not in self._taken
                self._taken.add((lineage, change["at"]))
                context[change["at"]] = change

    def context(self, lineage: str) -> list[str]:
        return [row["hash"] for _, row in sorted(self.contexts[lineage].items())]


def _lost(before: dict[int, dict[str, Any]], after: dict[int, dict[str, Any]]) -> set[str]:
    """The messages and results that a context no longer has. Instructions change without being lost."""
    present = {row["hash"] for row in after.values()}
    lost = [row for row in before.values() if row["role"] != "system" and row["hash"] not in present]
    return {f"result:{row['call']}" if "call" in row else f"message:{row['hash'][7:23]}" for row in lost}


def _hash(message: Message) -> str:
    return POLICY.hash(message)


def _text(role: str, text: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _tool_call(edit: Edit) -> list[Message]:
    call = f"call_{edit.a}"
    return [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": "look", "arguments": {"at": edit.text}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": edit.text}]},
    ]


def _cleared(said: list[Message], number: int) -> list[Message]:
    results = [index for index, message in enumerate(said) if message["role"] == "tool"]
    if not results:
        return said
    index = results[number % len(results)]
    stub = {**said[index]["parts"][0], "response": "[cleared]"}
    return [*said[:index], {"role": "tool", "parts": [stub]}, *said[index + 1 :]]
