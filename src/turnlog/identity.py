"""Which session and turn a span belongs to.

Identity is answered by the first that knows: `with turnlog.session(...)` or TURNLOG_SESSION, the framework's own
conversation id, the enclosing span, the process. It lives beside spans, keyed by span id, so that threads, executors
and generators that lost the context variable still find their turn. Turn numbers are SQL's business, not ours.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.trace import SpanContext

_MOST_SESSIONS = 4096
# What the enclosing `with turnlog.session(...)` names; empty outside of one.
named_session: ContextVar[str] = ContextVar("turnlog_session", default="")


def make_id() -> str:
    """A UUIDv7: ordered by time, so that partitions and retention can follow the session. Not from `random`, which
    applications seed."""
    millis = time.time_ns() // 1_000_000
    time_part, noise = f"{millis:012x}", os.urandom(10).hex()
    variant = "89ab"[int(noise[3], 16) & 3]
    return f"{time_part[:8]}-{time_part[8:]}-7{noise[:3]}-{variant}{noise[4:7]}-{noise[7:19]}"


@contextmanager
def session(id: str | int | None = None) -> Iterator[str]:
    """Everything inside belongs to this session; without an id, to a new one. Gives the id."""
    token = named_session.set(make_id() if id is None or id == "" else str(id))
    try:
        yield named_session.get()
    finally:
        named_session.reset(token)


def current_session() -> str:
    """The session that the enclosing `with turnlog.session(...)` names; empty outside of one."""
    return named_session.get()


class Turn:
    """One input to the agent until its answer, as one process sees it."""

    __slots__ = ("_count", "id", "input_hash", "last_failure", "opened_by", "prefix_said")

    def __init__(self, id: str, opened_by: SpanContext | None = None) -> None:
        self.id = id
        self.opened_by = opened_by
        self.last_failure: str | None = None
        self.prefix_said = False
        self.input_hash = ""
        self._count = itertools.count()

    def next_sequence(self) -> int:
        return next(self._count)


class Identity:
    """The session and turn of one span. `opened` is true once it takes part in a turn: nothing below opens another.

    `given` tells a session that somebody named from the process's own, which an enclosing application span may have
    been stamped with before its agent said better; `explicit` one that the application itself named for this span.
    """

    __slots__ = ("explicit", "given", "opened", "session", "turn")

    def __init__(self, session: str, turn: Turn | None, *, given: bool, explicit: bool, opened: bool) -> None:
        self.session = session
        self.turn = turn
        self.given = given
        self.explicit = explicit
        self.opened = opened


class Sessions:
    """The sessions that one process takes part in, and the latest turn of each."""

    def __init__(self, default: str = "", suffix: str = "") -> None:
        """`default` is the session of all that the application does not name itself; what it does name gets the suffix."""
        self._configured = default
        self._suffix = suffix
        self._default = ""
        self._default_given = False
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        # Re-entrant: a garbage collection can start or end spans anywhere.
        self._lock = threading.RLock()

    def named(self, parent: Identity | None, conversation: str) -> str:
        """The session that somebody named for a starting span, or that it is in already; nothing when nobody did."""
        explicit = self._stated()
        if explicit or parent is None:
            return explicit or conversation
        if parent.opened or parent.explicit or (parent.given and not conversation):
            return parent.session
        return conversation

    def _stated(self) -> str:
        name = named_session.get()
        return name + self._suffix if name else self._configured

    def go_on_with(self, session: str) -> str:
        """Make a session that of all that the application does not name itself; gives the one that it was before."""
        before, self._configured = self._configured, session
        return before

    def unnamed(self) -> str:
        """A session for a conversation that nobody named: the process's own for the first, a new one for each further."""
        with self._lock:
            own, is_free = self._process_session(), not self._default_given
            self._default_given = True
            return own if is_free and own not in self._turns else self._new_id()

    def identify(
        self,
        parent: Identity | None,
        conversation: str,
        *,
        lineage: str = "",
        opens: bool,
        continues: bool,
        begins: bool = True,
        span: SpanContext,
    ) -> tuple[Identity, Turn | None]:
        """The identity of a starting span, and the turn before it when this span opens a new one.

        `conversation` is the framework's word for the session, `lineage` what its messages continue. `opens`: the span is an
        agent's invocation or a model call with fresh input. `continues`: it takes part in a turn but never opens one while
        the session has one (a tool, a note, a model call on tool results). Not `begins`: it never opens one at all.
        """
        explicit = self._stated()
        if parent is not None and parent.opened and (not explicit or explicit == parent.session):
            return parent, None
        if explicit:
            name, given = explicit, True
        elif parent is not None and (parent.explicit or (parent.given and not conversation)):
            name, given = parent.session, True
        elif conversation:
            name, given = conversation, True
        elif lineage:
            name, given = lineage, False
        else:
            name, given = parent.session if parent is not None else self._likely_session(opens), False
        if not (opens or continues) or (not begins and name not in self._turns):
            if parent is not None and parent.session == name:
                return parent, None
            return Identity(name, None, given=given, explicit=bool(explicit), opened=False), None
        with self._lock:
            previous = self._turns.get(name)
            if previous is not None and continues:
                turn, before = previous, None
            else:
                turn, before = Turn(self._new_id(), span), previous
                self._remember(name, turn)
            if parent is not None and _takes(parent, name, given):
                if parent.turn is None or parent.session != name:
                    parent.turn = turn
                parent.session, parent.given = name, given
        return Identity(name, turn, given=given, explicit=bool(explicit), opened=True), before

    def after_fork_in_child(self) -> None:
        # Another thread of the parent may have held the lock; that thread does not exist here to let it go.
        self._lock = threading.RLock()

    def _new_id(self) -> str:
        return make_id()

    def _remember(self, name: str, turn: Turn) -> None:
        self._turns[name] = turn
        self._turns.move_to_end(name)
        if len(self._turns) > _MOST_SESSIONS:
            self._turns.popitem(last=False)

    def _likely_session(self, opens: bool) -> str:
        """A tool or note that says nothing of itself belongs to the only session there is."""
        with self._lock:
            return next(iter(self._turns)) if len(self._turns) == 1 and not opens else self._process_session()

    def _process_session(self) -> str:
        if not self._default:
            with self._lock:
                self._default = self._default or self._new_id()
        return self._default


def _takes(parent: Identity, name: str, given: bool) -> bool:
    """Whether an application's own span takes over the session of the turn that begins below it."""
    if parent.opened or (parent.explicit and parent.session != name):
        return False
    return parent.turn is None or (given and not parent.given)
