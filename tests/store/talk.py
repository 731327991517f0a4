"""Sessions told by the contexts of their model calls: who said what, what left, what tools returned."""

from __future__ import annotations

from typing import Any

from store.story import Story, added, evicted, touch
from turnlog.settings import Settings

UNVERIFIED: dict[str, Any] = {"source_kind": "retrieved", "verified": False}


class Talk(Story):
    """A session told by contexts. A message is `system:text`, `user:text`, `reply:call`, `result:tool` or `cleared:tool`."""

    def __init__(self, settings: Settings, session: str = "s", after: int = 0) -> None:
        super().__init__(settings, after)
        self.session = session
        self._contexts: dict[str, dict[str, int]] = {}
        self._top = 0

    def call(self, label: str, turn: str, *messages: str, lineage: str = "main", knows: bool = True, **fields: Any) -> None:
        """A model call with that context. `knows`: the process can tell who said what."""
        before = self._contexts.get(lineage, {})
        changes = evicted(*(place for message, place in before.items() if message not in messages))
        for message in messages:
            if message not in before:
                self._top += 1
                changes.append(self._added(self._top, message, knows))
                before = {**before, message: self._top}
        self._contexts[lineage] = {message: before[message] for message in messages}
        self.chat(label, self.session, turn, lineage=lineage, context=changes, **{"choice": f"choice of {label}", **fields})

    def ran(self, label: str, turn: str, *touches: dict[str, str], by: str = "", tool: str = "", **fields: Any) -> None:
        """A tool call that a model call asked for, or that runs inside of another without having been asked for."""
        asked = {"tool_call_id": f"call {label}", "decision_id": self.spans[by]} if by else {}
        self.tool(label, self.session, turn, tool or label, *touches, output_hash=f"hash of {label}", **asked, **fields)

    def _added(self, at: int, message: str, knows: bool) -> dict[str, Any]:
        role, _, text = message.partition(":")
        if role == "reply":
            return added(at, "assistant", text, **({"from": self.spans[text]} if knows else {}))
        if role in ("result", "cleared"):
            return added(at, "tool", message, call=f"call {text}")
        return added(at, role, text)


def report(talk: Talk) -> None:
    """Something is found on the web and written to a file; the second turn has only the answer; the third reads the file."""
    talk.agent("agent1", "s", "t1", "find it")
    talk.call("c1", "t1", "system:be brief", "user:find it")
    talk.ran("web", "t1", by="c1", tool="web_search", output_summary="it is 42", **UNVERIFIED)
    talk.call("c2", "t1", "system:be brief", "user:find it", "reply:c1", "result:web", reason="keep it", reason_source="stated")
    talk.ran("write", "t1", touch("write", "notes.md", "h"), by="c2", tool="write_file", source_kind="tool_output")
    talk.call("c3", "t1", "system:be brief", "user:find it", "reply:c1", "result:web", "reply:c2", "result:write")
    talk.call("c4", "t2", "system:be brief", "reply:c3", "user:thanks")
    talk.call("c5", "t3", "system:be brief", "user:what was it?")
    talk.ran("read", "t3", touch("read", "notes.md"), by="c5", tool="read_file")
    talk.call("c6", "t3", "system:be brief", "user:what was it?", "reply:c5", "result:read")
