"""`turnlog doctor`: where the data is, what was lost, what is in force, what would be recorded.

It only looks: nothing is loaded, created or repaired. It answers without a store, with a busy one and with a broken one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from turnlog import queries
from turnlog.cli.render import Screen, Styled, Text, count, day_time, record, screen, size
from turnlog.errors import TurnlogError
from turnlog.journal.reader import list_journals
from turnlog.settings import Settings, read_settings
from turnlog.store import Store

_PATIENCE = 3.0
_PACKAGES = ("turnlog", "duckdb", "opentelemetry-api", "opentelemetry-sdk", "opentelemetry-instrumentation")
_VARIABLES = {
    "TURNLOG_DIR": "directory",
    "TURNLOG_SESSION": "session",
    "TURNLOG_CAPTURE": "capture",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "content_on_spans",
    "TURNLOG_HASH_KEY": "hash_key",
    "TURNLOG_DISABLED": "disabled",
    "TURNLOG_FSYNC": "fsync",
    "TURNLOG_LOAD_INTERVAL": "load_interval",
    "TURNLOG_ROTATE_MB": "rotate_bytes",
    "TURNLOG_PATIENCE": "patience",
    "TURNLOG_OBSERVE": "observe",
    "TURNLOG_WATCH": "watch",
    "TURNLOG_TRUST": "trust",
    "TURNLOG_DISTRUST": "distrust",
    "TURNLOG_TRACE_URL": "trace_url",
    "TURNLOG_REPLAY": "replay",
    "TURNLOG_REPLAY_FROM_TURN": "replay_from",
    "TURNLOG_REPLAY_LIVE": "replay_live",
    "TURNLOG_LEASE": "lease",
    "OTEL_TRACES_EXPORTER": "exporters",
}


class Journal(NamedTuple):
    name: str
    live: bool
    size: int
    unloaded: int


class Setting(NamedTuple):
    variable: str
    value: str
    is_default: bool


class Framework(NamedTuple):
    framework: str
    requires: str
    installed: str
    verdict: str
    calls: int
    remedy: str


class Report(NamedTuple):
    """All that doctor knows. `unreadable` says why the store could not be asked; the store's facts are then empty."""

    versions: dict[str, str]
    python: str
    directory: str
    database: str
    database_size: int
    schema: int
    unreadable: str
    served_by: str
    totals: queries.Totals | None
    journals: list[Journal]
    inbox: list[Journal]
    losses: list[queries.Loss]
    set_aside: int
    set_aside_size: int
    settings: list[Setting]
    frameworks: list[Framework]
    frameworks_unknown: str
    warnings: list[str]


def doctor(options: argparse.Namespace) -> int:
    report = examine(read_settings())
    out = screen(whole=True)
    if options.json:
        out.json(record(report) | {"totals": record(report.totals) if report.totals else None})
    else:
        _show(out, report)
    return 1 if report.unreadable else 0


def examine(settings: Settings) -> Report:
    schema, totals, losses, loaded, seen, unreadable = _ask(settings)
    journals = [
        Journal(found.path.name, not found.finished, found.size, max(0, found.size - loaded.get(found.path.name, 0)))
        for found in list_journals(settings.journals)
    ]
    inbox = [Journal(found.path.name, not found.finished, found.size, found.size) for found in list_journals(settings.inbox)]
    set_aside = [_bytes(path) for path in settings.set_aside.glob("*")]
    frameworks, frameworks_unknown = _frameworks(seen)
    report = Report(
        versions=dict(_versions()),
        python=sys.executable,
        directory=str(settings.directory),
        database=str(settings.database),
        database_size=_bytes(settings.database),
        schema=schema,
        unreadable=unreadable,
        served_by=_served_by(settings.directory),
        totals=totals,
        journals=journals,
        inbox=inbox,
        losses=losses,
        set_aside=len(set_aside),
        set_aside_size=sum(set_aside),
        settings=_settings(settings),
        frameworks=frameworks,
        frameworks_unknown=frameworks_unknown,
        warnings=[],
    )
    return report._replace(warnings=list(_warnings(report, settings)))


class _Asked(NamedTuple):
    schema: int
    totals: queries.Totals | None
    losses: list[queries.Loss]
    loaded: dict[str, int]
    seen: dict[str, int]
    unreadable: str


def _ask(settings: Settings) -> _Asked:
    if not settings.directory.exists():
        # Opening the store would create it; a look must not.
        return _Asked(0, queries.Totals(0, 0, 0, 0), [], {}, {}, "")
    try:
        with Store(settings).reading(min(settings.patience, _PATIENCE)) as db:
            seen = {each.scope: each.commits for each in queries.scopes(db)}
            return _Asked(queries.schema_version(db), queries.totals(db), queries.losses(db), queries.loaded_to(db), seen, "")
    except TurnlogError as error:
        return _Asked(0, None, [], {}, {}, str(error))
    except (duckdb.Error, OSError) as error:
        why = str(error).splitlines()[0]
        return _Asked(
            0,
            None,
            [],
            {},
            {},
            f"{settings.database} cannot be read: {why}. Move it away: mv '{settings.database}' '{settings.database}.bad'",
        )


def _warnings(report: Report, settings: Settings) -> Iterator[str]:
    if report.unreadable:
        yield report.unreadable
    for loss in report.losses:
        yield f"{count(loss.lost, 'row')} lost: {loss.reason} (last {day_time(loss.last_at)})"
    if report.set_aside:
        pieces = count(report.set_aside, "unreadable piece")
        yield f"{pieces} of journals set aside in {settings.set_aside} ({size(report.set_aside_size)})"
    yield from settings.problems
    if not_writable := _not_writable(settings.journals):
        yield f"nothing can be recorded: {not_writable}. Set TURNLOG_DIR to a directory you can write"
    if settings.disabled:
        yield "recording is switched off by TURNLOG_DISABLED or OTEL_SDK_DISABLED"
    for framework in report.frameworks:
        if framework.verdict.startswith("not recorded"):
            outside = f"{framework.framework} {framework.installed} is not recorded: outside {framework.requires}"
            yield f"{outside}. For a tested version: {framework.remedy}"


def _settings(settings: Settings) -> list[Setting]:
    defaults = Settings(directory=settings.directory)
    found = []
    for variable, name in _VARIABLES.items():
        value: Any = getattr(settings, name)
        if name == "hash_key":
            shown = "set" if value else ""
        elif name == "rotate_bytes":
            shown = f"{value / 1024 / 1024:g}"
        elif name in ("exporters", "trust", "distrust", "replay_live"):
            shown = ",".join(value)
        elif name == "lease":
            shown = ":".join(map(str, value or ()))
        elif name == "watch":
            shown = os.pathsep.join(map(str, value))
        elif isinstance(value, bool):
            shown = "true" if value else "false"
        else:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
        found.append(Setting(variable, shown, name != "directory" and value == getattr(defaults, name)))
    return found


def _served_by(directory: Path) -> str:
    try:
        from turnlog.receiver.lock import server_of
    except Exception:  # noqa: BLE001 - a broken SDK is told with the frameworks
        return ""
    return server_of(directory)


def _frameworks(seen: Mapping[str, int]) -> tuple[list[Framework], str]:
    try:
        from turnlog import instrument
        from turnlog.cli.frameworks import tested_version

        extras = {framework.name: framework.extra or framework.name for framework in instrument.FRAMEWORKS}
        return [
            Framework(
                found.framework,
                found.requires,
                found.installed,
                found.verdict,
                sum(seen.get(scope, 0) for scope in found.scopes),
                tested_version(extras[found.framework]) if found.verdict.startswith("not recorded") else "",
            )
            for found in instrument.status()
        ], ""
    except Exception as error:  # noqa: BLE001 - a broken framework or SDK is what doctor is asked about
        return [], f"{type(error).__name__}: {error}"


def _versions() -> Iterator[tuple[str, str]]:
    yield "python", sys.version.split()[0]
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, ""


def _not_writable(folder: Path) -> str:
    """Why nothing can be written in a folder, or where it would be made. Only trying tells: root may do what modes forbid."""
    existing = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as error:
        return f"cannot write in {existing} ({error.strerror})"


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _show(out: Screen, report: Report) -> None:
    out.line(Styled("data", "bold"))
    out.table(_data_rows(report), indent="  ")
    out.line(Styled("settings", "bold"))
    out.table(
        [(s.variable, s.value or "-", Styled("default" if s.is_default else "", "dim")) for s in report.settings], indent="  "
    )
    out.line(Styled("frameworks", "bold"), Styled(f" as {report.python} has them", "dim"))
    if report.frameworks_unknown:
        out.line("  cannot tell: ", report.frameworks_unknown)
    # Where the data is stands whole, however long; of these lines the ends matter.
    Screen(out.stream, screen().width, out.colour).table(
        [(f.framework, f.requires, f.installed or "-", count(f.calls, "call"), f.verdict) for f in report.frameworks],
        indent="  ",
    )
    out.line(Styled("versions", "bold"))
    out.table([(name, found or "not installed") for name, found in report.versions.items()], indent="  ")
    for warning in report.warnings:
        out.line(Styled("warning: ", "yellow bold"), warning)
    if not report.warnings:
        out.line(Styled("all is well", "green"))


def _waiting(inbox: list[Journal]) -> str:
    received = f"{size(sum(file.size for file in inbox))} received and not derived yet"
    return received if any(file.live for file in inbox) else f"{received}; `turnlog serve` takes it up"


def _data_rows(report: Report) -> list[tuple[Text, ...]]:
    live = sum(journal.live for journal in report.journals)
    finished = len(report.journals) - live
    waiting = sum(journal.unloaded for journal in report.journals)
    database = f"{report.database}  {size(report.database_size)}, schema {report.schema}" if report.schema else report.database
    totals = report.totals
    return [
        ("directory", report.directory),
        ("database", database if report.database_size else f"{report.database}  (not there yet)"),
        (
            "journals",
            f"{live} live, {finished} finished, {size(sum(j.size for j in report.journals))}, {size(waiting)} not loaded yet",
        ),
        *([("serve", report.served_by)] if report.served_by else []),
        *([("inbox", _waiting(report.inbox))] if report.inbox else []),
        (
            "holds",
            "(cannot be read)"
            if totals is None
            else f"{count(totals.sessions, 'session')}, {count(totals.spans, 'span')}, {count(totals.commits, 'commit')}, "
            f"{count(totals.failures, 'failure')}",
        ),
        ("lost", f"{count(sum(loss.lost for loss in report.losses), 'row')}, {count(report.set_aside, 'piece')} set aside"),
    ]
