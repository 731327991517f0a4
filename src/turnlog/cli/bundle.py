"""`turnlog bundle` and `turnlog unbundle`: sessions in one file, for another machine."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from turnlog import queries
from turnlog.bundling.loading import Arrived, Unbundled
from turnlog.bundling.loading import unbundle as load_bundle
from turnlog.bundling.manifest import BadBundle, Manifest
from turnlog.bundling.writing import write_bundle
from turnlog.cli.asking import asking
from turnlog.cli.render import Screen, Styled, complain, count, progress, screen, size
from turnlog.exporting.files import written
from turnlog.settings import read_settings

_STREAM = "-"
_LONGEST_NAME = 150


def bundle(options: argparse.Namespace) -> int:
    refuse: Callable[[str], None] = options.refuse
    if options.output == _STREAM and options.json:
        refuse("--json tells what was written, and the standard output takes the bundle: name a file with -o")
    if options.output == _STREAM and sys.stdout.isatty():
        refuse("a bundle is no text for a terminal: name a file with -o, or use a pipe")
    with asking() as db:
        named = [queries.find_session(db, prefix) for prefix in options.sessions or [""]]
        if options.previous:
            named = [each for session in named for each in queries.session_chain(db, session)]
        sessions = sorted(set(named))
        if options.output == _STREAM:
            manifest = write_bundle(db, sessions, sys.stdout.buffer, Path(tempfile.gettempdir()), progress)
            sys.stdout.flush()
        else:
            path = Path(options.output or f"{quote(named[0], safe='')[:_LONGEST_NAME]}.turnlog")
            with written(path) as file:
                manifest = write_bundle(db, sessions, file, path.parent, progress)
    progress("")
    if options.output == _STREAM:
        _tell_written(Screen(sys.stderr), manifest, "the standard output", 0)
    elif options.json:
        screen().json({"file": str(path), "bytes": path.stat().st_size, **_as_json(manifest)})
    else:
        _tell_written(screen(), manifest, str(path), path.stat().st_size)
    return 0


def unbundle(options: argparse.Namespace) -> int:
    loaded: list[tuple[str, Unbundled | str]] = []
    for name in dict.fromkeys(options.files):
        try:
            loaded.append((name, _load(name)))
        except FileNotFoundError:
            loaded.append((name, "there is no such file"))
        except IsADirectoryError:
            loaded.append((name, "it is a folder: name the bundle in it"))
        except BadBundle as error:
            loaded.append((name, str(error)))
        progress("")
    arrived = [each for _, result in loaded if isinstance(result, Unbundled) for each in result.sessions]
    if options.json:
        screen().json({"files": [_loaded_as_json(name, result) for name, result in loaded]})
    else:
        for name, result in loaded:
            if isinstance(result, Unbundled):
                _tell_loaded(screen(), name, result)
    for name, result in loaded:
        if isinstance(result, str):
            complain(f"{'the standard input' if name == _STREAM else name}: {result}. Nothing of it was loaded")
    for each in arrived:
        if each.is_wrong:
            complain(
                f"session {each.bundled.session_id} came out in another state than it was bundled with: "
                f"{each.state_hash} here, {each.bundled.state_hash} there"
            )
    is_good = all(isinstance(result, Unbundled) for _, result in loaded) and not any(each.is_wrong for each in arrived)
    return 0 if is_good else 1


def _load(name: str) -> Unbundled:
    settings = read_settings()
    if name != _STREAM:
        with Path(name).open("rb") as file:
            return load_bundle(settings, file, progress)
    with tempfile.TemporaryFile() as spooled:
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        return load_bundle(settings, spooled, progress)


def _tell_written(out: Screen, manifest: Manifest, where: str, bytes: int) -> None:
    sessions = manifest.sessions
    counts = ((sum(each.turns for each in sessions), "turn"), (sum(each.commits for each in sessions), "commit"))
    told = ", ".join(count(number, noun) for number, noun in (*counts, (manifest.members["blobs.parquet"].rows, "blob")))
    out.line(f"{count(len(sessions), 'session')} in {where}: {told}" + (f" ({size(bytes)})" if bytes else ""))
    if unfinished := sum(each.unfinished for each in sessions):
        out.line(Styled(f"{count(unfinished, 'span')} unfinished: running, or their process died in them", "dim"))
    for each in sessions:
        out.line(Styled("state: ", "dim"), f"{each.state_hash}  {each.session_id}")
    if where != "the standard output":
        out.line(Styled("next: ", "dim"), f"turnlog unbundle {shlex.quote(where)}   on the other machine")


def _tell_loaded(out: Screen, name: str, result: Unbundled) -> None:
    for each in result.sessions:
        before, after = each.before, each.after
        counts = ((after.turns - before.turns, "turn"), (after.commits - before.commits, "commit"))
        told = ", ".join(count(number, noun) for number, noun in counts if number > 0)
        if not told and after != before:
            told = "what it had left unfinished"
        out.line(Styled(each.bundled.session_id, "bold"), f"  {'new: ' + told if told else 'nothing of it is new'}")
        out.line(Styled(f"  {_verdict(each)}", "dim"))
    for host, pid, spans in result.running:
        where = f"process {pid} on {host or 'another machine'}" if pid else "another process"
        out.line(f"{count(spans, 'span')} ran in {where} when this was bundled: a later bundle says how they ended")
    if len(result.sessions) == 1:
        out.line(Styled("next: ", "dim"), f"turnlog resume {result.sessions[0].bundled.session_id}")


def _verdict(each: Arrived) -> str:
    if each.is_same:
        return f"its state is as it was bundled: {each.state_hash}"
    if each.is_wrong:
        return f"its state is NOT as it was bundled: {each.state_hash}"
    return f"it has {count(each.others, 'span')} here that the bundle has not, and with them another state: {each.state_hash}"


def _loaded_as_json(name: str, result: Unbundled | str) -> dict[str, Any]:
    if isinstance(result, str):
        return {"file": name, "error": result, "sessions": []}
    sessions = [
        {
            "session_id": each.bundled.session_id,
            "new_turns": each.after.turns - each.before.turns,
            "new_commits": each.after.commits - each.before.commits,
            "new_spans": each.after.spans - each.before.spans,
            "other_spans": each.others,
            "state_hash": each.state_hash,
            "bundled_state_hash": each.bundled.state_hash,
            "is_same_state": each.is_same,
        }
        for each in result.sessions
    ]
    running = [{"host": host, "pid": pid, "spans": spans} for host, pid, spans in result.running]
    return {"file": name, "error": "", "sessions": sessions, "running": running, "created_at": result.manifest.created_at}


def _as_json(manifest: Manifest) -> dict[str, Any]:
    return {
        "created_at": manifest.created_at,
        "schema_version": manifest.schema_version,
        "sessions": [each._asdict() for each in manifest.sessions],
        "members": {name: member._asdict() for name, member in manifest.members.items()},
    }
