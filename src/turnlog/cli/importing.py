"""`turnlog import`: files into the store, with a bar on a terminal, and what was read and what could not be in the end."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from turnlog import queries
from turnlog.cli.render import Screen, Styled, complain, count, progress, screen, size
from turnlog.errors import is_interrupt
from turnlog.importing.loading import STDIN, FileRead, Progress, found_files, load_files
from turnlog.settings import Settings, read_settings

_BAR = 24
_TENTH = 0.1
_MOST_SHOWN = 10
_INTERRUPTED = 130

# The turns and commits of each session.
_Held = dict[str, tuple[int, int]]


class _Added(NamedTuple):
    """Sessions, the newest first, and what came into them."""

    sessions: list[str]
    turns: int
    commits: int

    @property
    def told(self) -> str:
        counts = ((self.turns, "turn"), (self.commits, "commit"))
        return ", ".join(count(number, noun) for number, noun in counts if number > 0)


class _New(NamedTuple):
    """What the import made, and the sessions that it continued."""

    made: _Added
    grown: _Added

    @property
    def sessions(self) -> list[str]:
        return self.made.sessions + self.grown.sessions


def import_(options: argparse.Namespace) -> int:
    refuse: Callable[[str], Any] = options.refuse
    agents = _agents_folders(options)
    names = [*options.files, *agents]
    if not names:
        refuse("name a file or a folder, or say --claude-code or --codex")
    files = found_files(names)
    settings = read_settings()
    read = []
    done = Progress.over(files)
    try:
        with _Bar() as bar:
            before = _held(settings)
            for each in load_files(files, settings, options.format, done, bar.show):
                read.append(each)
            new = _changed(before, _held(settings))
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        complain("interrupted: what was read is kept; run it again and it goes on")
        return _INTERRUPTED
    for each in read:
        if each.error and each.name in agents:
            each.error += "; name the folder: turnlog import DIR"
    # Of a folder, files that hold something else are no mistake.
    wrong = [each for each in read if each.error and (each.name in names or not each.is_other)]
    skipped = [each for each in read if each.error and not each.spans and each.name not in names]
    if options.json:
        listed = [each for each in read if each.name in names or not each.is_other]
        counts = {"skipped_files": len(skipped), "left_out_spans": done.left_out}
        screen().json({**_as_json(read, listed, new), **counts})
    else:
        _tell(screen(), read, skipped, done.left_out, new)
        _complain(read, wrong)
        _point_on(screen(), done, new)
    return 0 if any(each.spans for each in read) else 1


def _agents_folders(options: argparse.Namespace) -> list[str]:
    home = Path.home()
    folders = []
    if options.claude_code:
        own = os.environ.get("CLAUDE_CONFIG_DIR")
        places = [Path(own)] if own else [home / ".claude", home / ".config" / "claude"]
        folders.append(next((place for place in places if (place / "projects").exists()), places[0]) / "projects")
    if options.codex:
        folders.append(Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions")
    return [str(folder) for folder in folders]


def _held(settings: Settings) -> _Held:
    if not settings.directory.exists():
        return {}
    with queries.reading(settings) as db:
        sessions = queries.sessions(db, max(queries.totals(db).sessions, 1))
    return {each.session_id: (each.turns, each.commits) for each in sessions}


def _tell(out: Screen, read: list[FileRead], skipped: list[FileRead], left_out: int, new: _New) -> None:
    spans = sum(each.spans for each in read)
    good = [each for each in read if each.spans]
    if good:
        formats = ", ".join(sorted({each.format for each in good}))
        out.line(f"{count(spans, 'span')} in {count(len(good), 'file')} ({formats})")
    if skipped:
        others = sum(each.is_other for each in skipped)
        kinds = ((others, "empty or of another kind"), (len(skipped) - others, "unreadable"))
        told = ", ".join(f"{number:,} {kind}" for number, kind in kinds if number)
        out.line(f"{count(len(skipped), 'file')} skipped: {told}")
    if left_out:
        out.line(f"{count(left_out, 'span')} left out: no agent works in their traces")
    if new.made.sessions:
        told = ", ".join(filter(None, (count(len(new.made.sessions), "session"), new.made.told)))
        out.line(Styled("new: ", "bold"), told)
    if new.grown.told:
        out.line(Styled("new: ", "bold"), f"{new.grown.told} in {count(len(new.grown.sessions), 'known session')}")
    if not new.sessions and spans > left_out:
        out.line("nothing of it is new")
    if unfinished := sum(each.unfinished for each in read):
        out.line(f"{count(unfinished, 'turn')} may still be going on: import again when it is over")


def _point_on(out: Screen, done: Progress, new: _New) -> None:
    if len(new.sessions) == 1:
        out.line(Styled("next: ", "dim"), f"turnlog log --session {new.sessions[0]}")
    elif done.spans > done.left_out:
        out.line(Styled("next: ", "dim"), "turnlog sessions")


def _complain(read: list[FileRead], wrong: list[FileRead]) -> None:
    for each in wrong:
        complain(f"{_name(each)}: {each.error}")
    partly = [each for each in read if each.spans]
    if bad := sum(each.bad_count for each in partly):
        complain(f"{count(bad, 'line')} could not be read")
    for name, place, reason in _bad(partly)[:_MOST_SHOWN]:
        complain(f"{name}:{place}: {reason}")
    if not any(each.spans for each in read) and not wrong:
        complain("nothing in there is an agent's work, or a span at all")


def _as_json(read: list[FileRead], listed: list[FileRead], new: _New) -> dict[str, Any]:
    return {
        "files": [{"file": _name(each), "format": each.format, "spans": each.spans, "error": each.error} for each in listed],
        "spans": sum(each.spans for each in read),
        "sessions": new.sessions,
        "new_sessions": new.made.sessions,
        "new_turns": new.made.turns + new.grown.turns,
        "new_commits": new.made.commits + new.grown.commits,
        "unfinished_turns": sum(each.unfinished for each in read),
        "bad_lines": sum(each.bad_count for each in read),
        "bad": [{"file": name, "line": place, "reason": reason} for name, place, reason in _bad(read)],
    }


def _changed(before: _Held, after: _Held) -> _New:
    def added(sessions: list[str]) -> _Added:
        turns, commits = (
            sum(after[session][index] - before.get(session, (0, 0))[index] for session in sessions) for index in (0, 1)
        )
        return _Added(sessions, turns, commits)

    changed = [session for session, held in after.items() if before.get(session) != held]
    return _New(
        added([session for session in changed if session not in before]),
        added([session for session in changed if session in before]),
    )


def _bad(read: list[FileRead]) -> list[tuple[str, int, str]]:
    return [(_name(each), bad.place, bad.reason) for each in read for bad in each.bad]


def _name(read: FileRead) -> str:
    return "the standard input" if read.name == STDIN else read.name


class _Bar:
    """On a terminal only, and gone when it is over."""

    def __init__(self) -> None:
        self._next = 0.0
        self._was_read = False

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._next:
            progress("")

    def show(self, done: Progress) -> None:
        now = time.monotonic()
        if now < self._next and self._was_read == done.is_read:
            return
        self._next, self._was_read = now + _TENTH, done.is_read
        read, spans = size(done.bytes), count(done.spans, "span")
        if done.is_read:
            told = f"{read} read, {spans}: putting them into the store …"
        elif not done.total_bytes:
            told = f"{read} read, {spans}"
        else:
            share = min(done.bytes / done.total_bytes, 1.0)
            bar = ("█" * round(share * _BAR)).ljust(_BAR, "░")
            told = f"{bar} {share:4.0%}  {read} of {size(done.total_bytes)}  {spans}"
        progress(told)
