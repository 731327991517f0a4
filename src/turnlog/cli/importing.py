"""`turnlog import`: files into the store, with a bar on a terminal, and what was read and what could not be in the end."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from turnlog import queries
from turnlog.cli.render import Screen, Styled, complain, count, screen, size
from turnlog.errors import TurnlogError
from turnlog.importing.loading import STDIN, FileRead, Progress, found_files, load_files
from turnlog.settings import Settings, read_settings

_BAR = 24
_TENTH = 0.1
_MOST_SHOWN = 10


# The turns and commits of each session.
_Held = dict[str, tuple[int, int]]


class _New(NamedTuple):
    """What the import made or continued; sessions with the newest first."""

    sessions: list[str]
    turns: int
    commits: int


def import_(options: argparse.Namespace) -> int:
    names = _named(options)
    files = found_files(names)
    if not files:
        raise TurnlogError(f"there is nothing to import in {', '.join(names)}")
    settings = read_settings()
    before = _held(settings)
    # Of a folder, files that hold something else are no mistake.
    was_named = set(names)
    read = []
    progress = Progress.over(files)
    with _Bar() as bar:
        for each in load_files(files, settings, options.format, progress, bar.show):
            read.append(each)
    new = _changed(before, _held(settings))
    wrong = [each for each in read if each.error and (each.name in was_named or not each.is_other)]
    if options.json:
        screen().json({**_as_json(read, new), "left_out_spans": progress.left_out})
    else:
        _tell(screen(), read, progress.left_out, new)
        _complain(read, wrong)
        _point_on(screen(), progress, new)
    return 0 if any(each.spans for each in read) else 1


def _named(options: argparse.Namespace) -> list[str]:
    refuse: Callable[[str], Any] = options.refuse
    home = Path.home()
    names = list(options.files)
    if options.claude_code:
        folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
        names.append(str(folder if folder.exists() else home / ".config" / "claude" / "projects"))
    if options.codex:
        names.append(str(Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions"))
    if not names:
        refuse("name a file or a folder, or say --claude-code or --codex")
    for name in names:
        if name != STDIN and not Path(name).exists():
            raise TurnlogError(f"there is no {name}")
    return names


def _held(settings: Settings) -> _Held:
    if not settings.directory.exists():
        return {}
    with queries.reading(settings) as db:
        sessions = queries.sessions(db, max(queries.totals(db).sessions, 1))
    return {each.session_id: (each.turns, each.commits) for each in sessions}


def _tell(out: Screen, read: list[FileRead], left_out: int, new: _New) -> None:
    spans = sum(each.spans for each in read)
    good = [each for each in read if each.spans]
    if good:
        formats = ", ".join(sorted({each.format for each in good}))
        out.line(f"{count(spans, 'span')} in {count(len(good), 'file')} ({formats})")
    if left_out:
        out.line(f"{count(left_out, 'span')} left out: no agent works in their traces")
    if new.sessions:
        told = f"{count(len(new.sessions), 'session')}, {count(new.turns, 'turn')}, {count(new.commits, 'commit')}"
        out.line(Styled("new: ", "bold"), told)
    elif spans > left_out:
        out.line("nothing of it is new")
    if unfinished := sum(each.unfinished for each in read):
        out.line(f"{count(unfinished, 'turn')} may still be going on: import again when it is over")


def _point_on(out: Screen, progress: Progress, new: _New) -> None:
    if len(new.sessions) == 1:
        out.line(Styled("next: ", "dim"), f"turnlog log --session {new.sessions[0]}")
    elif progress.spans > progress.left_out:
        out.line(Styled("next: ", "dim"), "turnlog sessions")


def _complain(read: list[FileRead], wrong: list[FileRead]) -> None:
    for each in wrong:
        complain(f"{_name(each)}: {each.error}")
    if bad := sum(each.bad_count for each in read):
        complain(f"{count(bad, 'line')} could not be read")
    for name, place, reason in _bad(read)[:_MOST_SHOWN]:
        complain(f"{name}:{place}: {reason}")
    if not any(each.spans for each in read) and not wrong:
        complain("nothing in there is an agent's work, or a span at all")


def _as_json(read: list[FileRead], new: _New) -> dict[str, Any]:
    return {
        "files": [
            {"file": _name(each), "format": each.format, "spans": each.spans, "error": each.error}
            for each in read
            if not each.is_other
        ],
        "spans": sum(each.spans for each in read),
        "sessions": new.sessions,
        "new_turns": new.turns,
        "new_commits": new.commits,
        "unfinished_turns": sum(each.unfinished for each in read),
        "bad_lines": sum(each.bad_count for each in read),
        "bad": [{"file": name, "line": place, "reason": reason} for name, place, reason in _bad(read)],
    }


def _changed(before: _Held, after: _Held) -> _New:
    turns, commits = (
        sum(each[index] for each in after.values()) - sum(each[index] for each in before.values()) for index in (0, 1)
    )
    return _New([session for session, held in after.items() if before.get(session) != held], turns, commits)


def _bad(read: list[FileRead]) -> list[tuple[str, int, str]]:
    return [(_name(each), bad.place, bad.reason) for each in read for bad in each.bad]


def _name(read: FileRead) -> str:
    return "the standard input" if read.name == STDIN else read.name


class _Bar:
    """On a terminal only, and gone when it is over."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._next = 0.0

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown and self._next:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if not self._is_shown or now < self._next:
            return
        self._next = now + _TENTH
        share = min(progress.bytes / progress.total_bytes, 1.0) if progress.total_bytes else 0.0
        bar = ("█" * round(share * _BAR)).ljust(_BAR, "░")
        read = size(progress.bytes) + (f" of {size(progress.total_bytes)}" if progress.total_bytes else "")
        told = f"{count(progress.spans, 'span')}, {count(len(progress.sessions), 'session')}"
        sys.stderr.write(f"\r\x1b[K{bar} {share:4.0%}  {read}  {told}")
        sys.stderr.flush()
