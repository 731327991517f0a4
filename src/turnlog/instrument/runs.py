"""Operations that a framework's callbacks start and end by run id, for frameworks whose runs form a tree.

A run without an operation of its own belongs to the nearest one above it. What is still open below an operation that
ends, ends with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.trace import get_current_span, set_span_in_context

from turnlog.instrument.adopted import Adopted
from turnlog.instrument.calls import Account, Facts, Scope, Start, finish_operation, learn
from turnlog.operation import Operation, claim_started

_MOST_OPEN = 10_000


@dataclass(slots=True, eq=False)
class OpenRun:
    """An operation that is running, and the runs inside it that are not over. `answers_by_call`: what its model calls is no
    tool but the form of its answer."""

    run_id: UUID
    operation: Operation
    attributes: dict[str, Any]
    above: OpenRun | None
    inside: set[UUID] = field(default_factory=set)
    answers_by_call: bool = False

    def parent_context(self) -> Context | None:
        """For a child: what is current, when that is in this operation's trace (a span of the application between the
        two), else this operation."""
        here = get_current_span().get_span_context()
        own = self.operation.span.get_span_context()
        return None if here.trace_id == own.trace_id else set_span_in_context(self.operation.span)


class Runs:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._open: dict[UUID, OpenRun] = {}

    def __getitem__(self, run_id: UUID | None) -> OpenRun | None:
        """The operation that a run is, or is in."""
        return self._open.get(run_id) if run_id is not None else None

    def enter(self, run_id: UUID, above: OpenRun | None, start: Start, scope: Scope | None) -> OpenRun:
        operation = self._account.start(start, above.parent_context() if above else None)
        run = OpenRun(run_id, operation, start.attributes, above)
        self._add(run_id, run, above)
        if scope is not None:
            scope.hold(operation, partial(self._abandon, run_id))
        return run

    def join(self, run_id: UUID, above: OpenRun) -> None:
        # What others have started for a run that is nothing to us is not the next run's.
        claim_started()
        self._add(run_id, above, above)

    def leave(self, run_id: UUID, error: BaseException | None = None, facts: Callable[[], Facts | None] | None = None) -> None:
        run = self._open.pop(run_id, None)
        if run is None:
            return
        if run.run_id != run_id:
            run.inside.discard(run_id)
            return
        if run.above is not None:
            run.above.inside.discard(run_id)
        for inner in list(run.inside):
            self._abandon(inner, error)
        found = self._account.ask("reading a result", facts) if facts is not None else None
        if found is not None:
            self._account.ask("recording a result", learn, run.operation, found)
        self._account.ask("ending a span", finish_operation, run.operation, error)

    def _abandon(self, run_id: UUID, error: BaseException | None = None) -> None:
        """The run is over without an end callback: others have not been told either."""
        run = self._open.get(run_id)
        self.leave(run_id, error)
        if run is not None and run.run_id == run_id and isinstance(run.operation, Adopted):
            self._account.ask("ending a span", run.operation.give_up)

    def leave_all(self) -> None:
        for run_id in list(self._open):
            self.leave(run_id)

    def _add(self, run_id: UUID, run: OpenRun, above: OpenRun | None) -> None:
        self._open[run_id] = run
        if above is not None:
            above.inside.add(run_id)
        if len(self._open) > _MOST_OPEN:
            # Only runs that were never told to end pile up like this.
            self.leave(next(iter(self._open)))
