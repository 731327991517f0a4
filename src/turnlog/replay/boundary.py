"""What every boundary shares. A boundary is where side effects begin: the request that a model's SDK sends, a tool's function.

Around each stands the same code:

    given = boundary.given_back(operation)      # replaying: what came back then; None: do the real thing
    if given is not None:
        return <what given.answer says>
    result = <the real thing>
    boundary.keep(operation, record)            # recording: what a replay needs to give the same back

Recording does nothing unless content is captured in full, and never raises. Replaying raises ReplayDiverged: it was asked for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.errors import ReplayDiverged
from turnlog.operation import Operation, stamp_of
from turnlog.queries.replaying import MODEL, TOOL, RecordedCall
from turnlog.replay.place import asked_at
from turnlog.replay.tape import Tape
from turnlog.semconv import GenAiOperation
from turnlog.settings import Capture

Record = dict[str, Any]

_GIVEN = "given back"


class Words(Protocol):
    """What was asked, then and now, for people."""

    def is_same(self, call: RecordedCall, operation: Operation) -> bool:
        """Whether both asked the same but for secrets, which no recording has."""
        ...

    def report(self, call: RecordedCall | None, operation: Operation, kind: str, why: str) -> str:
        """What was expected, what was asked instead, and how the two differ."""
        ...


class Replay:
    """One process's replay: what is left of the tape, and whether the program still does what it did."""

    def __init__(self, tape: Tape, words: Words, *, goes_on: bool = False) -> None:
        """`goes_on`: what comes after the tape is live."""
        self.tape = tape
        self.diverged = ""
        self._words = words
        self._goes_on = goes_on
        self._lock = threading.Lock()

    def is_live(self, kind: str) -> bool:
        """Whether calls of a kind are made, now, and not given back."""
        return kind not in self.tape.kinds or (self._goes_on and self.tape.is_over)

    def find(self, operation: Operation, key: str = "") -> RecordedCall | None:
        """The recorded call that an operation repeats, or None when it is to be made. The same again for the same operation."""
        if self.diverged:
            raise ReplayDiverged(_first_line(self.diverged))
        known = operation.content.get(_GIVEN)
        if isinstance(known, RecordedCall):
            return known
        kind = kind_of(operation)
        if self.is_live(kind):
            return None
        stamp = stamp_of(operation)
        tool = str(operation.known().get(semconv.GEN_AI_TOOL_NAME) or "") if kind == TOOL else ""
        key = str(stamp.get(semconv.COMMIT_INPUT_HASH if kind == TOOL else semconv.CONTEXT_HASH) or key)
        call = self.tape.take(kind, key, tool) or self._take_redacted(kind, operation)
        if call is None:
            self.diverge(operation, self.tape.next_of(kind))
        operation.content[_GIVEN] = call
        return call

    def diverge(self, operation: Operation, call: RecordedCall | None, why: str = "") -> NoReturn:
        """Report the first mismatch, and raise it; whoever asks later gets the same."""
        self._stop(lambda: self._words.report(call, operation, kind_of(operation), why))

    @contextmanager
    def or_stop(self) -> Iterator[None]:
        """Around what finds the answer: its failure is no failed tool and no failed request, after which an agent goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, going on would be live or wrong
            self.stop(f"{type(error).__name__}: {error}")

    def stop(self, why: str) -> NoReturn:
        """Going on would be live."""
        self._stop(lambda: f"turnlog: the replay of {self.tape.session} stops: {why}")

    def _stop(self, report: Callable[[], str]) -> NoReturn:
        with self._lock:
            if not self.diverged:
                self.diverged = report()
                if place := asked_at():
                    self.diverged += f"\nasked at {place}"
                sys.stderr.write(f"\n{self.diverged}\n")
        raise ReplayDiverged(_first_line(self.diverged))

    def _take_redacted(self, kind: str, operation: Operation) -> RecordedCall | None:
        """The next call, if what differs is only a secret: what was given back before came without it."""
        call = self.tape.next_of(kind)
        return call if call is not None and self._words.is_same(call, operation) and self.tape.take_call(call) else None


_replay: Replay | None = None
_policy: ContentPolicy | None = None


def begin(policy: ContentPolicy, replay: Replay | None = None) -> None:
    """From now on calls are given back, if there is a replay, and kept, if content is captured in full."""
    global _replay, _policy
    _replay, _policy = replay, policy


def end() -> None:
    global _replay, _policy
    _replay = _policy = None


def replaying() -> Replay | None:
    """The replay that this process is, if it is one."""
    return _replay


def recording() -> bool:
    """Whether what comes back is to be kept."""
    return _policy is not None and _policy.capture is Capture.FULL


def digest(value: object) -> str:
    """The hash of a value, as everywhere in the record."""
    return "" if _policy is None else _policy.hash(value)


def given_back(operation: Operation, key: str = "") -> RecordedCall | None:
    """What an operation gets instead of what it would do: the recorded call that it repeats. None: do the real thing.

    `key` tells a call that says nothing else of itself. What the call changed then is what it changes now, and its record is
    kept again. Raises ReplayDiverged when nobody asked for this when the program was recorded.
    """
    if _replay is None:
        return None
    call = _replay.find(operation, key)
    if call is None:
        return None
    operation.content.setdefault(semconv.REPLAY_RECORD, call.answer)
    if call.call_kind == TOOL:
        operation.content.setdefault(semconv.COMMIT_DELTA, call.changes)
        if _replay.tape.is_agent(call):
            return None
    return call


def keep(operation: Operation, record: Record | Callable[[], Record]) -> None:
    """What a replay needs to give this back: JSON, or what makes it when the operation ends. A record `{"lost": why}` says why
    the call cannot be replayed."""
    if recording():
        operation.content[semconv.REPLAY_RECORD] = record


def kind_of(operation: Operation) -> str:
    return TOOL if operation.known().get(semconv.GEN_AI_OPERATION_NAME) == GenAiOperation.EXECUTE_TOOL else MODEL


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
