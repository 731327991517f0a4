"""Where Claude Code keeps what: a session's file, and the files of its sub-agents.

Today those lie in a folder of the session's name, each with a note of the call that runs it; late in 2025 they lay beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson


class AgentFile(NamedTuple):
    """`call` is the tool call that ran it, and `kind` which agent it is, where that was written down."""

    path: Path
    call: str = ""
    kind: str = ""


def is_inner_file(path: Path) -> bool:
    """Whether a file is a sub-agent's, and read with its session."""
    return path.name.startswith("agent-") and has_session(path)


def has_session(path: Path) -> bool:
    if path.parent.name == "subagents":
        return path.parent.parent.with_suffix(".jsonl").exists()
    session = _session_of(path)
    return bool(session) and (path.parent / f"{session}.jsonl").exists()


def agent_files(main: Path, session: str) -> Iterator[AgentFile]:
    """All of a session's sub-agents."""
    for path in sorted((main.parent / session / "subagents").glob("agent-*.jsonl")):
        noted = _first(path.with_suffix(".meta.json"))
        yield AgentFile(path, str(noted.get("toolUseId") or ""), str(noted.get("agentType") or ""))
    for path in sorted(main.parent.glob("agent-*.jsonl")):
        if _session_of(path) == session:
            yield AgentFile(path)


def agent_file(main: Path, session: str, agent: str) -> Path | None:
    name = f"agent-{agent}.jsonl"
    if Path(name).name != name:
        return None
    places = (main.parent / session / "subagents" / name, main.parent / name)
    return next((path for path in places if path.exists()), None)


def _session_of(path: Path) -> str:
    return str(_first(path).get("sessionId") or "")


def _first(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as lines:
            found = orjson.loads(lines.readline())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
