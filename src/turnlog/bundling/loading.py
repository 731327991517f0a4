"""From a bundle into the store: checked whole, written to a journal that is there whole or not at all, loaded, and compared.

Unbundled again, or where part of it is already, only what is new is added: the loader knows every commit by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, NamedTuple

from turnlog import queries
from turnlog.bundling.manifest import Bundled, Manifest
from turnlog.bundling.opening import Bundle, open_bundle
from turnlog.bundling.rows import append_rows
from turnlog.journal.whole import whole_journal
from turnlog.queries import Database
from turnlog.settings import Settings
from turnlog.store import schema
from turnlog.store.loader import load


class Held(NamedTuple):
    """What the store holds of a session."""

    turns: int = 0
    commits: int = 0
    spans: int = 0
    unfinished: int = 0


class Arrived(NamedTuple):
    """A session of a bundle, and what became of it here. `others`: spans of it that the bundle does not have."""

    bundled: Bundled
    state_hash: str
    before: Held
    after: Held
    others: int

    @property
    def is_same(self) -> bool:
        return self.state_hash == self.bundled.state_hash

    @property
    def is_wrong(self) -> bool:
        """Another state than it was bundled with, and nothing here that explains it."""
        return not self.is_same and not self.others


class Unbundled(NamedTuple):
    manifest: Manifest
    sessions: list[Arrived]
    running: list[tuple[str, int, int]]


def unbundle(settings: Settings, file: IO[bytes], progress: Callable[[str], None] = lambda _: None) -> Unbundled:
    """Load a bundle. Whatever is wrong with it is found before anything of it is in the store."""
    progress("checking")
    with open_bundle(file, settings.directory) as bundle:
        names = [each.session_id for each in bundle.manifest.sessions]
        with queries.reading(settings) as db:
            before = {name: _held(db, name) for name in names}
        total = sum(member.rows for member in bundle.manifest.members.values())
        with whole_journal(settings) as append:
            append_rows(bundle, append, lambda rows: progress(f"{rows:,} of {total:,} rows read"))
        progress("loading")
        load(settings, settings.patience, lambda report: progress(f"{report.rows:,} rows loaded"))
        progress("comparing the state")
        with queries.reading(settings) as db:
            arrived = [_arrived(db, bundle, each, before[each.session_id]) for each in bundle.manifest.sessions]
        running = bundle.db.execute(schema.sql("bundle/running.sql")).fetchall()
    return Unbundled(bundle.manifest, arrived, running)


def _held(db: Database, session: str) -> Held:
    return Held(*db.execute(schema.sql("bundle/held.sql"), {"session": session}).fetchall()[0])


def _arrived(db: Database, bundle: Bundle, bundled: Bundled, before: Held) -> Arrived:
    here = db.execute("select trace_id, span_id from span_rows where session_id = ?", [bundled.session_id]).fetchall()
    there = bundle.db.execute(
        "select trace_id, span_id from bundle_spans where session_id = ?", [bundled.session_id]
    ).fetchall()
    others = len(set(here) - set(there))
    name = bundled.session_id
    return Arrived(bundled, queries.state_hash(db, name), before, _held(db, name), others)
