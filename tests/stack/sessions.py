"""The agent's sessions, gone through the collector once, to every end of it."""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from programs import run
from stack.parts import Collector, Jaeger, Sink, eventually

SERVICE = "keeper"
_AGENT = Path(__file__).parent / "agent.py"


@dataclass(frozen=True, slots=True)
class Stack:
    """`kept`, `quiet` and `failing` are sessions: one of the share that is kept, and two that are not, one of which fails.
    `spare` is another of the kept share, for spans that a test sends itself. `recorded` is where turnlog recorded them all."""

    collector: Collector
    jaeger: Jaeger
    turnlog: Sink
    tempo: Sink
    recorded: Path
    kept: str
    quiet: str
    failing: str
    spare: str


@contextmanager
def played(otelcol: Path, jaeger_binary: Path, folder: Path) -> Iterator[Stack]:
    jaeger = Jaeger(jaeger_binary, folder)
    kept, spare = (_session(number, "01234567") for number in range(2))
    quiet, failing = (_session(number, "89abcdef") for number in range(2))
    with Sink().serving() as turnlog, Sink().serving() as tempo:
        collector = Collector(
            otelcol,
            folder,
            turnlog=turnlog.http_endpoint,
            jaeger=jaeger.endpoint,
            tempo=tempo.grpc_endpoint,
            kept_sessions="[0-7]",
        )
        stack = Stack(collector, jaeger, turnlog, tempo, folder / "recorded", kept, quiet, failing, spare)
        with jaeger.running(), collector.running():
            play(kept, collector, stack.recorded)
            play(quiet, collector, stack.recorded, "--quiet")
            play(failing, collector, stack.recorded)
            _wait_for_last_spans(stack)
            yield stack


def play(session: str, collector: Collector, directory: Path, *options: str) -> None:
    """The agent, recorded by turnlog into a directory and sent to a collector with all its content."""
    run(
        *(sys.executable, "-m", "turnlog", "run", sys.executable, _AGENT, session, *options),
        directory=directory,
        TURNLOG_CAPTURE="full",
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true",
        OTEL_SERVICE_NAME=SERVICE,
        **collector.for_programs,
    )


def _wait_for_last_spans(stack: Stack) -> None:
    """A turn's root ends last, and what one program sends stays in order."""
    turns = {stack.turnlog: {stack.kept: 2, stack.quiet: 1, stack.failing: 2}, stack.tempo: {stack.kept: 2, stack.failing: 1}}
    for sink, expected in turns.items():
        for session, count in expected.items():

            def arrived(sink: Sink = sink, session: str = session, count: int = count) -> bool:
                return sum(not span.parent_span_id for span in sink.of_session(session)) == count

            eventually(arrived, what=f"{count} turns of {session}")
    for session, count in turns[stack.tempo].items():
        eventually(
            lambda session=session, count=count: len(stack.jaeger.traces(SERVICE, {"session.id": session})) == count,
            what=f"{count} turns of {session} in Jaeger",
        )


def _session(number: int, digits: str) -> str:
    """The n-th name whose hash begins with one of these digits: what the collector's share goes by."""
    names = (f"session-{count}" for count in itertools.count())
    found = (name for name in names if hashlib.sha256(name.encode()).hexdigest()[0] in digits)
    return next(itertools.islice(found, number, None))
