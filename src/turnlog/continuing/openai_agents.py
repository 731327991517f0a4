"""The OpenAI Agents SDK's `Session`, kept by turnlog: `Runner.run(agent, input, session=TurnlogSession("ticket-42"))`.

Every change of it is a commit, so memory and log cannot disagree; reading needs nothing to be loaded. Items come back as they
were added, but for secrets, which are redacted before anything is written.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from turnlog import identity, queries, runtime, semconv
from turnlog.continuing.messages import CAPTURE_FULL
from turnlog.errors import NotCaptured, StoreNotWritable
from turnlog.operation import Operation
from turnlog.semconv import CommitKind, MemoryOperation
from turnlog.settings import Capture

Item = dict[str, Any]


class TurnlogSession:
    """The items of one conversation. Starts recording where `turnlog.init()` has not."""

    def __init__(self, session_id: str, session_settings: Any = None) -> None:
        runtime.init()
        active = runtime.start()
        if active is None:
            raise NotCaptured("turnlog is disabled, so it can keep no items: unset TURNLOG_DISABLED, or use another Session.")
        if active.settings.capture is not Capture.FULL:
            raise NotCaptured(f"TurnlogSession would lose its items. {CAPTURE_FULL}, or after turnlog.init(capture='full').")
        self.session_id = str(session_id)
        self.session_settings = session_settings
        self._active = active

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the last so many, oldest first."""
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        return await asyncio.to_thread(self._read, limit)

    async def add_items(self, items: list[Any]) -> None:
        if items:
            self._record(MemoryOperation.ADD, [_plain(item) for item in items])

    async def pop_item(self) -> Any:
        """Take the last item away."""
        found = await asyncio.to_thread(self._read, 1)
        if not found:
            return None
        self._record(MemoryOperation.POP)
        return found[0]

    async def clear_session(self) -> None:
        self._record(MemoryOperation.CLEAR)

    def _read(self, limit: int | None) -> list[Item]:
        with queries.reading(self._active.settings) as db:
            # A replay writes beside what it replays.
            texts = queries.session_items(db, self.session_id + self._active.settings.replay_suffix, limit)
        try:
            return [orjson.loads(text or "") for text in texts]
        except ValueError:
            raise NotCaptured(
                f"session {self.session_id}: an item was deleted by `turnlog gc`, or was too long to be kept whole. "
                "Go on without it after `await session.clear_session()`."
            ) from None

    def _record(self, operation: MemoryOperation, items: list[Item] | None = None) -> None:
        attributes = {semconv.COMMIT_KIND: CommitKind.STATE.value, semconv.MEMORY_OPERATION: operation.value}
        said = f"{operation} {len(items)} item{'s' if len(items) > 1 else ''}" if items else operation.value
        content: dict[str, Any] = {semconv.COMMIT_INPUT_SUMMARY: said}
        if items:
            content[semconv.MEMORY_ITEMS] = items
        lost = self._active.journal.lost
        with identity.session(self.session_id):
            Operation.start(f"memory {operation}", attributes, content).end()
        if self._active.journal.lost > lost:
            raise StoreNotWritable(f"cannot write in {self._active.settings.journals}: the session's items are not kept.")


def _plain(item: Any) -> Item:
    found: Item = item if isinstance(item, dict) else item.model_dump(exclude_unset=True)
    return found
