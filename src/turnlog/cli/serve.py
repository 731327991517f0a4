"""`turnlog serve`: receive traces until told to stop, and say how many came."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from dataclasses import asdict
from pathlib import Path

from turnlog.cli.render import Screen, complain, count, screen
from turnlog.errors import TurnlogError
from turnlog.receiver import Receiver, guard_for, receiving
from turnlog.settings import read_settings


def serve(options: argparse.Namespace) -> int:
    settings = read_settings()
    if settings.disabled:
        raise TurnlogError("nothing would be kept: TURNLOG_DISABLED or OTEL_SDK_DISABLED is set. Unset it.")
    for problem in settings.problems:
        complain(problem)
    guard = guard_for(options.host, read_token(options.token_file), options.allow_host)
    out = screen(whole=True)
    stop = _stop_signal()
    with receiving(settings, guard, options.host, options.port) as receiver:
        _say_where(out, receiver, settings.directory, options)
        stop.wait()
    _say_what(out, receiver, options.json)
    return 0


def read_token(path: str) -> str:
    if not path:
        return ""
    file = Path(path)
    token = file.read_text().strip()
    if not token:
        raise TurnlogError(f"{path} holds no token. Make one with `openssl rand -hex 32 > {path}`.")
    found = file.stat()
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        complain(f"others can read the token in {path}. Change that with `chmod 600 {path}`")
    return token


def _stop_signal() -> threading.Event:
    """Set by the first SIGINT or SIGTERM; the second one ends the process as it always does."""
    stop = threading.Event()

    def on_signal(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return stop


def _say_where(out: Screen, receiver: Receiver, directory: Path, options: argparse.Namespace) -> None:
    traces = f"{receiver.url}/v1/traces"
    if options.json:
        out.json({"event": "listening", "traces": traces, "directory": str(directory), "pid": os.getpid()})
    else:
        headers = f' OTEL_EXPORTER_OTLP_TRACES_HEADERS="authorization=Bearer%20$(cat {options.token_file})"'
        out.line(f"listening on {traces}, keeping what comes in {directory}. Senders need:")
        out.line(
            f"  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={traces} OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
            headers if options.token_file else "",
        )
    out.stream.flush()


def _say_what(out: Screen, receiver: Receiver, as_json: bool) -> None:
    counts, intake = receiver.counts, receiver.intake
    kept = intake.taken - intake.nobodys
    if as_json:
        seen = {"left": receiver.left, "repeated": intake.repeated, "without_agent": intake.nobodys}
        out.json({"event": "stopped", "kept": kept, **asdict(counts), **seen})
        return
    also = [
        f"{count(number, noun)} {what}"
        for number, noun, what in (
            (intake.nobodys, "span", "of traces without an agent not kept"),
            (intake.repeated, "span", "sent again"),
            (counts.rejected, "span", "rejected"),
            (counts.cut, "value", "cut"),
            (counts.refused, "request", "refused"),
            (counts.metrics, "request", "of metrics not kept"),
            (counts.logs, "request", "of logs not kept"),
        )
        if number
    ]
    left = f" and of {count(receiver.left, 'span')} left by the last serve" if receiver.left else ""
    out.line("; ".join([f"kept {count(kept, 'span')} of {count(counts.requests, 'request')}{left}", *also]))
