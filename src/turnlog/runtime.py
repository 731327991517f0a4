"""The joint: provider, processor, journal and background loader of one process, put together once.

An application's own TracerProvider is added to, never replaced: where there is none we bring one, and give way when the
application sets its own later.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import weakref
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from turnlog import transitions
from turnlog.background import BackgroundLoader
from turnlog.content import ContentPolicy
from turnlog.errors import TurnlogError
from turnlog.identity import Sessions
from turnlog.journal import holding
from turnlog.journal.writer import JournalWriter
from turnlog.observe import Observer
from turnlog.operation import use_provider
from turnlog.processor import SessionProcessor
from turnlog.settings import Capture, Settings, read_settings

_log = logging.getLogger("turnlog")
_lock = threading.RLock()
_active: Runtime | None = None


class Runtime:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.policy = ContentPolicy(settings)
        self.journal = JournalWriter(settings)
        observer = Observer(settings, self.policy, self._report)
        suffix = settings.replay_suffix
        self.sessions = Sessions(settings.session, suffix)
        self.processor = SessionProcessor(self.policy, self.sessions, observer=observer, replays=settings.replay)
        self.providers: weakref.WeakSet[TracerProvider] = weakref.WeakSet()
        self.own_provider: TracerProvider | None = None
        self._loader: BackgroundLoader | None = None

    def has_seen(self, span: ReadableSpan) -> bool:
        """Whether a span came to the processor, and so is in the journal."""
        context = span.get_span_context()
        return context is not None and self.processor.has_seen(context.span_id)

    def attach(self, provider: trace.TracerProvider) -> None:
        if isinstance(provider, TracerProvider) and provider not in self.providers:
            self.providers.add(provider)
            self.journal.resource = dict(provider.resource.attributes)
            provider.add_span_processor(self.processor)

    def _report(self, loss: str) -> None:
        if self.processor.journal is not None:
            self.processor.journal.report_loss(loss)

    def start_journal(self) -> None:
        if self.processor.journal is None:
            self.processor.journal = self.journal
            holding.adopt(self.settings, self.journal)
            self.processor.on_turn = lambda session: holding.notice_loss(session, self.journal)
            self._loader = BackgroundLoader(self.settings, self.journal)
            self._loader.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        atexit.unregister(self.stop)
        if self._loader is not None:
            self._loader.finish()
            self._loader = None
        self.processor.retire()
        holding.release_all()
        self.journal.close()


def init(
    *,
    directory: str | Path | None = None,
    session: str | None = None,
    capture: str | None = None,
    tracer_provider: TracerProvider | None = None,
    instrument: bool = True,
) -> None:
    """Record this process: attach to the application's TracerProvider (or bring one), write the journal, patch the frameworks.

    What is not given comes from the environment. A second call changes nothing. Never raises, except where a replay was asked
    for and cannot be.
    """
    try:
        active = start(directory=directory, session=session, capture=capture)
        if active is None:
            if read_settings().replay:
                raise TurnlogError("turnlog is disabled, so that nothing can be replayed: unset TURNLOG_DISABLED")
            return
        attach(tracer_provider)
        use_provider(tracer_provider)
        if active.settings.capture is Capture.FULL or active.settings.replay:
            from turnlog.replay import playing

            playing.start(active.settings, active.policy)
        if instrument:
            from turnlog.instrument import instrument_all

            instrument_all()
    except Exception as error:
        if read_settings().replay:
            # Going on would be live: what the user asked not to happen.
            raise
        _log.warning("turnlog could not start and records nothing: %s: %s", type(error).__name__, error)


def start(**overrides: Any) -> Runtime | None:
    """The process's runtime with its journal on; None when turnlog is disabled."""
    active = _runtime(**overrides)
    if active is not None:
        active.start_journal()
    return active


def settings_in_use() -> Settings:
    """Those that this process records by; while it records nothing, the environment's."""
    active = _active
    return read_settings() if active is None else active.settings


def attach(tracer_provider: trace.TracerProvider | None = None) -> bool:
    """Add the SessionProcessor to a provider: the given one, the application's, or one of ours. False when disabled."""
    active = _runtime()
    if active is None:
        return False
    with _lock:
        provider = tracer_provider or trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            provider = active.own_provider = _own_provider(active.settings)
            trace.set_tracer_provider(provider)
            if active.settings.exports_here:
                # OpenTelemetry's launcher constructs no exporter unless a distro is installed.
                active.start_journal()
        active.attach(provider)
        _follow_application()
    return True


def shutdown() -> None:
    """Stop recording: undo the patches, finish the journal. `init()` may start again."""
    global _active
    if "turnlog.instrument" in sys.modules:
        sys.modules["turnlog.instrument"].uninstrument_all()
    if "turnlog.replay.playing" in sys.modules:
        sys.modules["turnlog.replay.playing"].stop()
    use_provider(None)
    with _lock:
        active, _active = _active, None
    if active is not None:
        active.stop()
    transitions.forget_all()


def _runtime(**overrides: Any) -> Runtime | None:
    global _active
    with _lock:
        if _active is None:
            settings = _settings(**overrides)
            if settings.disabled:
                return None
            for problem in settings.problems:
                _log.warning("turnlog: %s", problem)
            _active = Runtime(settings)
        return _active


def _settings(directory: str | Path | None = None, session: str | None = None, capture: str | None = None) -> Settings:
    settings = read_settings()
    if directory is not None:
        settings = replace(settings, directory=Path(directory).expanduser())
    if session is not None:
        settings = replace(settings, session=session)
    return settings if capture is None else replace(settings, capture=Capture(capture))


def _own_provider(settings: Settings) -> TracerProvider:
    provider = TracerProvider(resource=Resource.create())
    for name in settings.exporters:
        for entry in entry_points(group="opentelemetry_traces_exporter", name=name):
            provider.add_span_processor(BatchSpanProcessor(entry.load()()))
    return provider


def _follow_application() -> None:
    """Let the application set its own provider after us: OpenTelemetry takes the first one and refuses any other."""
    original = trace._set_tracer_provider
    if getattr(original, "_turnlog", False):
        return

    def set_tracer_provider(tracer_provider: trace.TracerProvider, log: bool) -> None:
        active = _active
        if active is not None and active.own_provider is not None and trace._TRACER_PROVIDER is active.own_provider:
            trace._TRACER_PROVIDER = tracer_provider
        else:
            original(tracer_provider, log)
        if active is not None and trace._TRACER_PROVIDER is tracer_provider:
            active.attach(tracer_provider)

    set_tracer_provider._turnlog = True  # type: ignore[attr-defined]
    trace._set_tracer_provider = set_tracer_provider
