"""A program that is recorded in full and then replayed, each in a process of its own; the replay may not open a connection."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from programs import run
from turnlog import queries
from turnlog.demo.reply import Reply
from turnlog.demo.scripted_model import ScriptedModel
from turnlog.settings import Settings

CLI = (sys.executable, "-m", "turnlog")
# Where and when it ran, the names that only one run has, and what is said of replays themselves.
_OWN = (
    *("session_id", "committed_at", "started_ns", "ended_ns", "duration_ms", "trace_id", "parent_id", "lineage"),
    "replay_of",
)
_NAMES = ("commit_id", "span_id", "checkpoint_id")
_ORDER = ("turn", "sequence", "kind", "tool", "input_hash", "context_hash", "checkpoint_source", "delta")
# Before the program's first line and below every library. Said, lest a program that expects the network to fail goes on.
_FORBID = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        sys.stderr.write(f"{event} {args[1:]}\\n")
        raise AssertionError(event)
sys.addaudithook(refuse)
"""

Script = Sequence[Reply | str] | Callable[[dict[str, Any]], Reply | str]


class Stage:
    """`program` is Python text; the model's addresses are in its arguments: OpenAI's and Anthropic's base URL."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self.settings = Settings(directory=folder / "turnlog")
        self.program = program
        self.work = folder / "work"
        self._urls: tuple[str, ...] = ()
        self.work.mkdir()
        (folder / "offline").mkdir()
        (folder / "offline" / "sitecustomize.py").write_text(_FORBID)

    def record(self, script: Script, *options: str, code: int = 0, session: str = "s") -> str:
        """What the program printed."""
        with ScriptedModel(script) as model:
            self._urls = model.base_url, model.url
            named = ("--session", session) if session else ()
            return self._run("--capture", "full", *named, *options, code=code).stdout

    def replay(self, *options: str, code: int = 0, session: str = "s") -> subprocess.CompletedProcess[str]:
        return self._run("--replay", session, *options, code=code, PYTHONPATH=str(self.folder / "offline"))

    def replay_live(self, script: Script, *options: str, code: int = 0) -> tuple[subprocess.CompletedProcess[str], int]:
        """A replay that may ask the model, and how often it did."""
        with ScriptedModel(script) as model:
            self._urls = model.base_url, model.url
            done = self._run("--replay", "s", *options, code=code)
            return done, len(model.requests)

    def _run(self, *options: str, code: int, **environment: str) -> subprocess.CompletedProcess[str]:
        path = self.folder / "app.py"
        path.write_text(self.program)
        command = (*CLI, "run", *options, sys.executable, path, *self._urls)
        return run(*command, directory=self.settings.directory, cwd=self.work, code=code, **environment)

    def take_effects(self) -> dict[str, str]:
        """What the program wrote, which is gone then."""
        found = {}
        for path in sorted(self.work.iterdir()):
            found[path.name] = path.read_text()
            path.unlink()
        return found

    def sessions(self) -> list[str]:
        """Oldest first."""
        with queries.reading(self.settings) as db:
            return [session.session_id for session in reversed(queries.sessions(db, limit=1000))]

    def commits(self, session: str, at_once: bool = False) -> list[dict[str, Any]]:
        """All that the log says of each commit, in the order in which they began, but for what only one run has. Of those that
        run `at_once` nobody knows the order."""
        with queries.reading(self.settings) as db:
            found = db.execute(f"select * exclude ({', '.join(_OWN)}) from commits where session_id = ?", [session])
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        if at_once:
            rows = [row | {"sequence": 0} for row in rows]
        rows.sort(key=lambda row: [row[name] for name in _ORDER])
        ids = {row[name]: f"#{number}" for number, row in enumerate(rows) for name in _NAMES if row[name]}
        pattern = re.compile("|".join(map(re.escape, ids)) or "$^")
        return [
            {name: pattern.sub(lambda id: ids[id[0]], text) if isinstance(text, str) else text for name, text in row.items()}
            for row in rows
        ]

    def assert_exact(self, session: str = "s", at_once: bool = False) -> None:
        """The newest session has the same commits as the recorded one, in the same order."""
        newest = self.sessions()[-1]
        assert newest.startswith(f"{session}~replay-")
        recorded, replayed = self.commits(session, at_once), self.commits(newest, at_once)
        assert recorded
        differences = [
            (name, row[name], other[name])
            for row, other in zip(recorded, replayed, strict=True)
            for name in row
            if row[name] != other[name]
        ]
        assert not differences, differences
