"""Finished spans in, session state out: taken durably, put in order, played through the deriver, written to the journal."""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Sequence

from turnlog.content import ContentPolicy
from turnlog.errors import StoreNotWritable, TurnlogError
from turnlog.intake.inbox import Inbox
from turnlog.intake.player import Player
from turnlog.intake.provisional import Provisional
from turnlog.intake.waiting import Trace, Waiting
from turnlog.journal.writer import JournalWriter
from turnlog.received import ReceivedSpan
from turnlog.settings import ORPHANED_AFTER, Settings

__all__ = ["GIVE_UP", "Intake", "IntakeFull", "settle_orphans"]

_log = logging.getLogger("turnlog")
QUIET = 5.0
GIVE_UP = ORPHANED_AFTER
_MOST_WAITING = 50_000
_MOST_BYTES = 256 * 1024 * 1024
_MOST_TOLD = 10_000
_MOST_SEEN = 200_000
_EVERY = 0.5
# Of a file that is read, a trace is whole when so many spans of others have come since.
_QUIET_SPANS = 20_000
_GIVE_UP_SPANS = 200_000
_SETTLE_SPANS = 5_000
_intakes: weakref.WeakSet[Intake] = weakref.WeakSet()


class IntakeFull(TurnlogError):
    """No more spans can be taken for the moment. The sender should try again."""


class Intake:
    """Takes spans from any thread. `durable`: what was taken survives the process, and is derived while more arrives; else it
    is derived as it comes, for a source that can be read again."""

    def __init__(self, settings: Settings, *, durable: bool = True, quiet: float = QUIET, give_up: float = GIVE_UP) -> None:
        policy = ContentPolicy(settings)
        self.journal = JournalWriter(settings)
        self.taken = self._repeated = 0
        self._player = Player(policy, functools.partial(self.journal.append, is_kept=True))
        self._inbox = Inbox(settings) if durable else None
        self._provisional = Provisional(settings, policy, self._inbox.process_id) if self._inbox is not None else None
        self._waiting = Waiting(
            quiet if durable else _QUIET_SPANS,
            give_up if durable else _GIVE_UP_SPANS,
            lambda span_id: int(span_id, 16) in self._player.known,
        )
        self._seen: OrderedDict[tuple[str, str, int], None] = OrderedDict()
        # Whoever takes spans waits for nobody who derives; of those there is one at a time.
        self._lock = threading.Lock()
        self._playing = threading.Lock()
        self._done = threading.Event()
        self._wake = threading.Event()
        self._is_crowded = False
        self._worker: threading.Thread | None = None
        self._unsettled = 0
        # Traces that are played and may not be written yet, with the files of the inbox that hold them.
        self._played: list[tuple[str, Counter[str]]] = []
        self._is_untold = False
        _intakes.add(self)

    @property
    def waiting(self) -> int:
        return self._waiting.count

    @property
    def repeated(self) -> int:
        """Spans that were sent again, or whose calls another instrumentation told of."""
        return self._repeated + self._player.repeated

    @property
    def nobodys(self) -> int:
        """Spans of traces in which no agent worked. They are not kept."""
        return self._player.nobodys

    def start(self) -> None:
        """Take over what dead receivers left, and derive from now on while spans arrive."""
        self._adopt()
        self._start_worker()

    def _start_worker(self) -> None:
        self._worker = threading.Thread(target=self._work, name="turnlog-intake", daemon=True)
        self._worker.start()

    def after_fork_in_child(self) -> None:
        """What was taken is the parent's to derive; the child takes its own."""
        self._lock, self._playing = threading.Lock(), threading.Lock()
        self._done, self._wake = threading.Event(), threading.Event()
        self._waiting.clear()
        self._played = []
        if self._inbox is not None and self._provisional is not None:
            self._inbox.after_fork_in_child()
            self._provisional.move(self._inbox.process_id)
        if self._worker is not None:
            self._start_worker()

    def take(self, spans: Sequence[ReceivedSpan]) -> None:
        """Returns once the spans are safe. Those that were taken before are dropped. Raises IntakeFull."""
        with self._lock:
            fresh = list({span.key: span for span in spans if span.key not in self._seen}.values())
            self._repeated += len(spans) - len(fresh)
            if not fresh:
                return
            if self._inbox is None:
                self._remember(fresh)
            elif self._waiting.count + len(fresh) > _MOST_WAITING or self._waiting.size > _MOST_BYTES:
                self._is_crowded = True
                self._wake.set()
                raise IntakeFull(f"{self._waiting.count:,} spans wait for the rest of their traces")
            else:
                self._keep(self._inbox, fresh)
        if self._inbox is None and self._unsettled >= _SETTLE_SPANS:
            self.settle()

    def settle(self, *, everything: bool = False, whole: bool = False) -> None:
        """Derive what has arrived whole and was quiet since; all that is `whole`; or everything that has arrived."""
        with self._playing:
            with self._lock:
                self._unsettled = 0
                at_least = _MOST_WAITING // 2 if self._is_crowded else 0
                self._is_crowded = False
                ready = self._waiting.take_ready(self._now(), everything=everything, whole=whole, at_least=at_least)
            for trace in ready:
                self._play(trace)
                self._played.append((trace.spans[0].trace_id, trace.files))
                self._is_untold = True
            if not self._player.flush():
                if self._inbox is None:
                    raise StoreNotWritable(
                        f"cannot write in {self.journal.directory}. Make room there, then read it all again."
                    )
            elif self._inbox is None:
                self._played = []
            elif self._played:
                with self._lock:
                    self._inbox.let_go(self._played)
                self._played = []

    def close(self) -> None:
        """What has not arrived whole stays in the inbox, for whoever receives next."""
        self._done.set()
        self._wake.set()
        if self._worker is not None:
            self._worker.join()
        try:
            self.settle(everything=self._inbox is None, whole=True)
            self._tell_provisionally()
        finally:
            if self._inbox is not None:
                self._inbox.close()
            self.journal.close()

    def _adopt(self, youngest_ns: int | None = None) -> None:
        if self._inbox is not None and self._provisional is not None:
            with self._lock:
                for file, waiting, played in self._inbox.adopt(youngest_ns):
                    self._remember(waiting, file)
                    self._see(played)
                    self._provisional.forget(file.partition(".")[0])

    def _keep(self, inbox: Inbox, spans: Sequence[ReceivedSpan]) -> None:
        kept = inbox.append(spans)
        for file, some, size in kept:
            self._remember(some, file, size)
        if sum(len(some) for _, some, _ in kept) < len(spans):
            raise IntakeFull("the inbox cannot be written. Make room in the store's directory.")

    def _remember(self, spans: Sequence[ReceivedSpan], file: str = "", size: int = 0) -> None:
        self.taken += len(spans)
        self._unsettled += len(spans)
        self._is_untold = True
        self._waiting.add(spans, self._now(), file, size)
        self._see(spans)

    def _see(self, spans: Sequence[ReceivedSpan]) -> None:
        self._seen.update(dict.fromkeys(span.key for span in spans))
        while len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)

    def _now(self) -> float:
        return time.monotonic() if self._inbox is not None else float(self.taken)

    def _play(self, trace: Trace) -> None:
        try:
            self._player.play(trace.spans)
        except Exception as error:  # noqa: BLE001 - one trace that cannot be played must not stop the others
            _log.warning("turnlog could not derive a trace of %d spans: %r", len(trace.spans), error)
            self.journal.report_loss("a received trace could not be derived")

    def _work(self) -> None:
        while not self._done.is_set():
            self._wake.wait(_EVERY)
            self._wake.clear()
            self.journal.show_life()
            try:
                self.settle()
            except Exception as error:  # noqa: BLE001 - what is not derived now is derived the next time
                _log.warning("turnlog could not derive what it received and tries again: %r", error)
            if self._is_untold and self._provisional is not None and self._provisional.is_due():
                self._tell_provisionally()

    def _tell_provisionally(self) -> None:
        if self._provisional is not None:
            with self._lock:
                self._is_untold = False
                traces = [list(trace.spans) for trace in self._waiting.newest(_MOST_TOLD)]
            try:
                self._provisional.tell(traces, self._player.known)
            except Exception as error:  # noqa: BLE001 - what is told for the time being is told anew the next time
                _log.warning("turnlog could not say what is known of incomplete traces: %r", error)


def _after_fork_in_child() -> None:
    for intake in list(_intakes):
        intake.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)


def settle_orphans(settings: Settings) -> None:
    """Derive what receivers left that are dead for longer than anybody waits for more of a trace."""
    intake = Intake(settings)
    intake._adopt(time.time_ns() - int(GIVE_UP * 1e9))
    intake.settle(everything=True)
    intake.close()
