"""`turnlog watch`: what running agents do, as it is written. The files are looked at, and the store is opened for as long as
one question takes, only after they have changed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import select
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.commit import Marks, commit_line, marks_of, turn_line
from turnlog.cli.render import Styled, complain, record, screen, short
from turnlog.errors import StoreLocked
from turnlog.queries import Commit, Database, Loop, Turn
from turnlog.settings import read_settings
from turnlog.watching import look

_EVERY = 0.5
# A call is worth a line before it has ended when it takes so long.
_LONG = 1.0
# A process that dies writes nothing more: while something runs, it is asked whether it still does.
_STILL_RUNS = 5.0
# However much is written, at most this share of a processor reads it, but nobody waits longer than this for the next look.
_SHARE = 0.2
_LONGEST = 2.0
# What a receiver derives late has ended long ago.
_LATE_NS = 600 * 10**9
_ACTOR = 12


def watch(options: argparse.Namespace) -> int:
    settings = read_settings()
    out = screen()
    session = ""
    if options.session:
        with asking() as db:
            session = queries.find_session(db, options.session)
    tail = _Tail(session, options.json)
    if options.json:
        out.json({"event": "watching", "session_id": session})
    else:
        out.line(Styled(f"watching {f'session {session}' if session else 'all sessions'}: Ctrl-C ends it", "dim"))
    seen = None
    asked = pause = 0.0
    while _is_read(pause):
        now = look(settings)
        waited = time.monotonic() - asked
        pause = _EVERY
        if now == seen and waited < tail.patience:
            continue
        spent = time.process_time()
        try:
            tail.show()
            seen = now
        except StoreLocked as error:
            complain(f"{error} Still watching")
        asked = time.monotonic()
        # What a busy machine makes it wait is nothing that it took.
        pause = pause_after(time.process_time() - spent)
    return 0


def pause_after(spent: float) -> float:
    """How long to wait after a look that took so many seconds of a processor."""
    return min(max(_EVERY, spent / _SHARE), _LONGEST)


def _is_read(seconds: float) -> bool:
    """Wait; false once nobody reads any more, which a pipe tells only those who ask or write."""
    sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return not poll.poll(seconds * 1000)
    time.sleep(seconds)
    return True


class _Tail:
    """What was shown, so that each commit comes once when it runs and once when it has ended."""

    def __init__(self, session: str, as_json: bool) -> None:
        self._out = screen()
        self._session = session
        self._as_json = as_json
        self._since_ns = time.time_ns()
        self._shown: dict[str, str] = {}
        self._loops: dict[tuple[str, int, str, str], int] = {}
        self._last = ("", 0)

        self.patience = math.inf

    def show(self) -> None:
        # A terminal is as wide as it is now.
        self._out = screen()
        with asking() as db:
            since = max(self._since_ns, time.time_ns() - _LATE_NS)
            ran = [commit for commit, outcome in self._shown.items() if outcome == "in_flight"]
            found = queries.written_since(db, since, self._session, ran=ran)
            short_ago = datetime.fromtimestamp(time.time() - _LONG, UTC).replace(tzinfo=None)
            begun = {commit.commit_id for commit in found if commit.outcome == "in_flight" and commit.committed_at > short_ago}
            names: dict[str, list[str]] = {}
            for each in found:
                if self._shown.get(each.commit_id) != each.outcome and each.commit_id not in begun:
                    names.setdefault(each.session_id, []).append(each.commit_id)
            # Agents that work side by side are not mixed line by line.
            sessions = list(names)
            news: list[Commit] = []
            for session, those in names.items():
                commits = queries.commits(db, session, those)
                news += [commits[name] for name in those]
            loops = [loop for session in sessions for loop in self._new_loops(db, session)]
            turns = {} if self._as_json else self._turns(db, news)
            marked = [] if self._as_json or self._goes_on_plainly(news) else news
            marks = {each: marks_of(db, each, marked) for each in sessions}
        self._shown = {commit.commit_id: commit.outcome for commit in found if commit.commit_id not in begun}
        runs = "in_flight" in self._shown.values()
        self.patience = _LONG if begun else _STILL_RUNS if runs else math.inf
        for commit in news:
            if self._as_json:
                self._out.json({"event": "commit", "commit": record(commit)})
            else:
                self._tell(commit, turns.get((commit.session_id, commit.turn)), marks[commit.session_id])
        for loop in loops:
            if self._as_json:
                self._out.json({"event": "loop", "loop": record(loop)})
            else:
                self._warn(loop, many=len(sessions) > 1)
        self._out.stream.flush()

    def _goes_on_plainly(self, news: list[Commit]) -> bool:
        """Of a turn that was told already, only calls of tools and what is said of the lifecycle can be marked."""
        return all(
            (commit.session_id, commit.turn) == self._last and not (commit.tool or commit.lifecycle_state) for commit in news
        )

    def _new_loops(self, db: Database, session: str) -> Iterator[Loop]:
        """Calls that go in circles, once each and again when they have doubled."""
        for loop in queries.loops(db, session):
            name = (loop.session_id, loop.turn, loop.tool, loop.input_hash)
            is_new = loop.last_at.replace(tzinfo=UTC).timestamp() >= self._since_ns / 1e9
            if is_new and loop.is_going_on and loop.times >= 2 * self._loops.get(name, 1):
                self._loops[name] = loop.times
                yield loop

    def _turns(self, db: Database, news: list[Commit]) -> dict[tuple[str, int], Turn]:
        numbers: dict[str, set[int]] = {}
        for commit in news:
            numbers.setdefault(commit.session_id, set()).add(commit.turn)
        found = [turn for session, those in numbers.items() for turn in queries.turns(db, session, sorted(those))]
        return {(turn.session_id, turn.turn): turn for turn in found}

    def _tell(self, commit: Commit, turn: Turn | None, marks: Marks) -> None:
        place = (commit.session_id, commit.turn)
        if self._last[0] != place[0]:
            self._out.line(Styled(f"session {commit.session_id}", "dim"))
        if self._last != place:
            self._out.line(*turn_line(commit.turn, turn, marks))
        self._last = place
        self._out.line(*commit_line(commit, _ACTOR, marks))

    def _warn(self, loop: Loop, many: bool) -> None:
        where = f" in {loop.session_id}" if many else ""
        self._out.line(
            Styled(f"going in circles{where}", "red bold"),
            f"  {loop.tool} {loop.times} times with the same result  ",
            Styled(f"{short(loop.input_summary)} -> {loop.outcome} {short(loop.result_summary)}".rstrip(), "dim"),
        )
