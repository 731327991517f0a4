"""`turnlog export`: history as Parquet files, as OTLP JSON, or sent to an OTLP endpoint."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.render import Screen, Styled, complain, count, progress, screen, size
from turnlog.errors import TurnlogError
from turnlog.exporting.files import written
from turnlog.exporting.lines import write_lines
from turnlog.exporting.parquet import write_parquet
from turnlog.exporting.selection import EVER, Extent, Selection, extent
from turnlog.exporting.sending import MOST_SPANS, Endpoint, SendingFailed
from turnlog.exporting.spans import ended_spans, windows
from turnlog.queries import Database
from turnlog.received import ReceivedSpan
from turnlog.settings import read_settings

_STDOUT = "-"
_PATIENCE = 60.0


def export(options: argparse.Namespace) -> int:
    _refuse_contradictions(options)
    if options.format == "parquet":
        return _to_parquet(options)
    with asking() as db:
        selection = _selection(db, options)
        found = extent(db, selection)
        parts = windows(db, selection)
    return _to_endpoint(options, found, parts) if options.to else _to_lines(options, found, parts)


def _refuse_contradictions(options: argparse.Namespace) -> None:
    refuse: Callable[[str], None] = options.refuse
    if options.all and (options.sessions or options.since is not None or options.until is not None):
        refuse("--all is everything: name no session and no time with it")
    if options.since is not None and options.until is not None and options.until < options.since:
        refuse("--until is before --since: nothing is in between")
    if options.to:
        if options.format:
            refuse("--to sends OTLP: --format is for files")
        return
    if options.header or options.patience is not None:
        refuse("--header and --patience belong to --to URL")
    if options.output != _STDOUT:
        return
    if options.format == "parquet":
        refuse("--format parquet writes several files: name a folder with -o")
    if options.json:
        refuse("--json tells what was written, and the standard output takes the spans: name a file with -o")
    if sys.stdout.isatty():
        refuse("this would fill the terminal: name a file with -o, an endpoint with --to, or use a pipe")


def _selection(db: Database, options: argparse.Namespace) -> Selection:
    named = [queries.find_session(db, prefix) for prefix in options.sessions]
    if not named and options.since is None and options.until is None:
        newest = queries.find_session(db)
        named = [] if options.all else [newest]
    until = EVER if options.until is None else options.until
    return Selection(sorted(set(named)) or None, options.since or 0, until)


def _to_parquet(options: argparse.Namespace) -> int:
    with asking() as db:
        selection = _selection(db, options)
        found = extent(db, selection)
        files = write_parquet(db, selection, found, Path(options.output), progress)
    progress("")
    out = screen()
    if options.json:
        told = [{"path": str(file.path), "rows": file.rows, "bytes": file.bytes} for file in files]
        out.json(_counts(found) | {"format": "parquet", "to": options.output, "files": told})
        return 0
    out.table([(file.path.name, f"{file.rows:,}", size(file.bytes)) for file in files], ("FILE", "ROWS", "SIZE"))
    out.line(f"{count(found.spans + found.unfinished, 'span')} of {count(len(found.sessions), 'session')} in {options.output}")
    return 0


def _to_lines(options: argparse.Namespace, found: Extent, parts: list[Selection]) -> int:
    if options.output == _STDOUT:
        for spans in _steps(found, parts):
            write_lines(spans, sys.stdout.buffer)
        sys.stdout.flush()
    else:
        with written(Path(options.output)) as file:
            for spans in _steps(found, parts):
                write_lines(spans, file)
    if options.json:
        screen().json(_counts(found) | {"format": "otlp-json", "to": options.output})
    elif options.output == _STDOUT:
        _tell(found, "", Screen(sys.stderr))
    else:
        _tell(found, f"written to {options.output}", screen())
    return 0


def _to_endpoint(options: argparse.Namespace, found: Extent, parts: list[Selection]) -> int:
    patience = _PATIENCE if options.patience is None else options.patience
    headers = dict(read_settings().otlp_headers) | {name.lower(): value for name, value in options.header}
    with closing(Endpoint(options.to, headers, patience, progress)) as endpoint:
        sent = endpoint.sent
        reached = 0
        try:
            for spans in _steps(found, parts):
                reached = spans[0].end_ns
                endpoint.send(spans)
        except (SendingFailed, KeyboardInterrupt) as error:
            progress("")
            # They go out in the order in which they ended: where it stops is where it can go on.
            rest = parts[-1]._replace(since_ns=reached)
            again = ", with --header again" if options.header else ""
            went = f"{sent.spans:,} of {count(found.spans, 'span')} went out. The rest{again}: {_command(rest, options)}"
            if isinstance(error, SendingFailed):
                raise TurnlogError(f"{error} {went}") from error
            complain(went)
            raise
    if options.json:
        told = {"sent": sent.spans, "rejected": sent.rejected, "reason": sent.reason, "retries": sent.retries}
        screen().json(_counts(found) | {"format": "otlp", "to": endpoint.url} | told)
    else:
        _tell(found, f"sent to {endpoint.url}", screen())
        if sent.rejected:
            complain(f"{sent.rejected:,} of these spans were refused there: {sent.reason or 'no reason given'}")
    return 1 if sent.rejected else 0


def _steps(found: Extent, parts: list[Selection]) -> Iterator[list[ReceivedSpan]]:
    """The spans, about a request at a time."""
    done = 0
    for spans in ended_spans(read_settings(), parts):
        for first in range(0, len(spans), MOST_SPANS):
            progress(f"{done:,} of {count(found.spans, 'span')}")
            yield spans[first : first + MOST_SPANS]
            done += len(spans[first : first + MOST_SPANS])
    progress("")


def _counts(found: Extent) -> dict[str, Any]:
    return {"sessions": len(found.sessions), "spans": found.spans, "unfinished": found.unfinished}


def _tell(found: Extent, where: str, out: Screen) -> None:
    out.line(f"{count(found.spans, 'span')} of {count(len(found.sessions), 'session')} {where}")
    if found.unfinished:
        out.line(Styled(f"{count(found.unfinished, 'span')} left out: not ended", "dim"))
    if found.blobs:
        out.line(Styled(f"{count(found.blobs, 'blob')} left out: OTLP has no place for captured content", "dim"))


def _command(selection: Selection, options: argparse.Namespace) -> str:
    """Without the headers, which may be secret."""
    others = [*(["--patience", f"{options.patience:g}"] if options.patience else []), *(["--json"] if options.json else [])]
    times = [f"--since {_moment(selection.since_ns)}", f"--until {_moment(selection.until_ns + 1000)}"]
    chosen = [*map(shlex.quote, selection.sessions or ()), *times]
    return " ".join(["turnlog export", *chosen, "--to", shlex.quote(options.to), *others])


def _moment(at_ns: int) -> str:
    return f"{datetime.fromtimestamp(at_ns // 1000 / 1e6, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
