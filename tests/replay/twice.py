"""A program that is run twice as a user would: recorded, then replayed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from programs import run
from turnlog import queries
from turnlog.settings import Settings

# What differs between two runs of the same program: ids, times, and which of them repeats which.
_OWN = {"commit_id", "committed_at", "session_id", "trace_id", "span_id", "parent_id", "decision_id", "retry_of", "duration_ms"}
_OWN |= {"started_ns", "ended_ns", "lineage", "replay_of", "checkpoint_id", "checkpoint_parent", "previous_session"}

# Ids by which entries are named.
_NAMING = ("span_id", "checkpoint_id")


class Twice:
    def __init__(self, folder: Path, program: str, python: str = sys.executable, **environment: str) -> None:
        self.directory = folder / "store"
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self._program = folder / "program.py"
        self._program.write_text(program)
        self._python = python
        self._environment = environment

    def record(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return self._run("--capture", "full", **environment)

    def replay(self, session: str, *options: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        return self._run("--replay", session, *options, code=code, **environment)

    def replay_of(self, session: str) -> str:
        """The session that the last replay of one is."""
        found = self._ask("select session_id from commits where replay_of = $1 order by started_ns desc limit 1", session)
        return str(found[0]["session_id"])

    def commits(self, session: str) -> list[dict[str, Any]]:
        """Every column of a session's commits that tells what happened, in order."""
        found = self._ask("select * from commits where session_id = $1 order by turn, sequence, started_ns", session)
        ids = {row[name]: f"{name} {number}" for number, row in enumerate(found) for name in _NAMING if row[name]}
        for row in found:
            row["delta"] = [{**change, "key": ids.get(change["key"], change["key"])} for change in json.loads(row["delta"])]
        return [{name: value for name, value in row.items() if name not in _OWN} for row in found]

    def _ask(self, question: str, session: str) -> list[dict[str, Any]]:
        with queries.reading(Settings(directory=self.directory)) as db:
            found = db.execute(question, [session])
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def _run(self, *options: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        command = (self._python, "-m", "turnlog", "run", *options, "--", self._python, self._program)
        return run(*command, directory=self.directory, cwd=self.workspace, code=code, **self._environment, **environment)
