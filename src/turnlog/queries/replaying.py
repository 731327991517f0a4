"""What a replay is made from: the calls of a session in order, with what came back from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import orjson

from turnlog.queries.asking import Database, rows

MODEL, TOOL, TOLD = "model", "tool", "told"
_OUTSIDE = "turnlog"
_TITLE = 80


class RecordedCall(NamedTuple):
    """A model call or a tool call, or a commit that the program made by hand (`told`).

    `call_key` is what the same call has in a replay: the digest of the context that a model saw, the input hash of a tool.
    `inside` is the span of the tool call in which it ran. `record` is the text of what came back; empty when nothing was kept.
    """

    commit_id: str
    trace_id: str
    span_id: str
    turn: int
    call_kind: str
    tool: str
    call_key: str
    commit_kind: str
    outcome: str
    error: str
    error_message: str
    input_hash: str
    input_summary: str
    output_hash: str
    output_summary: str
    delta: str
    inside: str
    scope: str
    span_name: str
    record: str
    started_ns: int = 0
    ended_ns: int = 0
    sequence: int = 0
    decision_id: str = ""

    @property
    def title(self) -> str:
        """`the model call "fix the tests"`, `the model call that answered "done"`, `the call of write_file "{…}"`."""
        name = "the model call" if self.call_kind == MODEL else f"the call of {self.tool or 'a tool'}"
        if self.call_kind == MODEL and not self.input_summary and self.output_summary:
            return f'{name} that answered "{self.output_summary[:_TITLE]}"'
        return f'{name} "{self.input_summary[:_TITLE]}"' if self.input_summary else name

    @property
    def is_recovered(self) -> bool:
        """Known from the messages only: the program ran the tool where nobody saw it."""
        return self.call_kind == TOOL and self.scope == _OUTSIDE

    @property
    def is_unrun(self) -> bool:
        """It came to no function of a tool: whoever refused it, or handed over instead, does so again."""
        return "unrun" in self.answer

    @property
    def answer(self) -> dict[str, Any]:
        """What came back, in the form of its boundary; empty when nothing was kept."""
        found = orjson.loads(self.record) if self.record else {}
        return found if isinstance(found, dict) else {}

    @property
    def changes(self) -> list[dict[str, str]]:
        """Its delta."""
        found = orjson.loads(self.delta) if self.delta else []
        return found if isinstance(found, list) else []


def recorded_calls(db: Database, session: str, before_turn: int = 0) -> list[RecordedCall]:
    """The calls of a session that ended, in the order in which they began; only those before a turn, if one is given."""
    return rows(
        db,
        RecordedCall,
        """
        from (
            select c.*, coalesce(b.text, '') as record
            from recorded_calls($session) as c
            left join raw.blobs as b on b.hash = c.replay_record and c.replay_record <> ''
            where $before = 0 or c.turn < $before
        )
        order by started_ns, commit_id
        """,
        {"session": session, "before": before_turn},
    )


def unplayable(calls: Sequence[RecordedCall], kinds: Collection[str]) -> list[tuple[RecordedCall, str]]:
    """The calls of these kinds that cannot be given back, each with the reason."""
    wanted = [call for call in calls if call.call_kind in kinds and not call.is_recovered]
    reasons = [(call, str(call.answer.get("lost", "")) if call.record else "nothing was kept of it") for call in wanted]
    return [(call, why) for call, why in reasons if why]


def messages_seen(db: Database, session: str, span: str) -> list[str]:
    """The messages that a model call saw, in order, as captured: JSON text of each, or its summary."""
    found = db.execute(
        """
        select coalesce(b.text, m.summary)
        from commits as c
        join context_messages as m on m.session_id = c.session_id and m.lineage = c.lineage
        left join raw.blobs as b on b.hash = m.message_hash
        where c.session_id = $session
          and c.span_id = $span
          and m.added_ns <= c.started_ns
          and m.evicted_ns > c.started_ns
        order by m.position
        """,
        {"session": session, "span": span},
    ).fetchall()
    return [str(text) for (text,) in found]
