"""LangGraph keeps its own state: a graph with a checkpointer goes on by its thread id, which is the session's."""

from __future__ import annotations

from typing import Any

from turnlog import queries
from turnlog.errors import NotCaptured
from turnlog.runtime import settings_in_use


def config(session: str) -> dict[str, Any]:
    """The configuration with which a graph goes on where its last checkpoint of a session was saved.

    After a crash: `graph.invoke(None, config(session))`; with a new input: `graph.invoke(input, config(session))`.
    """
    with queries.reading(settings_in_use()) as db:
        state = queries.session_state(db, queries.find_exact(db, str(session)))
    if state.checkpoint is None:
        raise NotCaptured(
            f"session {session} has no checkpoint: compile its graph with a checkpointer that outlives the process."
        )
    return {"configurable": {"thread_id": state.checkpoint.thread_id}}
