"""`turnlog bundle` and `turnlog unbundle`: to a file and through a pipe, in words and as JSON, and what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.history import Turnlog, plain, start_call
from programs import environment, run
from recording import Recording
from turnlog import queries
from turnlog.settings import Settings

TURNLOG = (sys.executable, "-m", "turnlog")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Settings:
    """Another machine."""
    return Settings(directory=tmp_path / "elsewhere")


def state_hash(settings: Settings, session: str = "demo") -> str:
    with queries.reading(settings) as db:
        return queries.state_hash(db, session)


def test_a_session_goes_to_another_machine_and_is_there_once(
    recorded: Settings, elsewhere: Settings, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.turnlog"
    done = turnlog("bundle", "demo", "-o", str(path))
    assert (done.code, done.err) == (0, "")
    assert [line.partition(" (")[0] for line in plain(done.out)] == [
        f"1 session in {path}: 3 turns, 9 commits, 0 blobs",
        "state: HASH  demo",
        f"next: turnlog unbundle {path}  on the other machine",
    ]
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    monkeypatch.setenv("TURNLOG_DIR", str(elsewhere.directory))
    told = f"  its state is as it was bundled: {state_hash(recorded)}\nnext: turnlog resume demo\n"
    assert turnlog("unbundle", str(path)) == (0, "demo  new: 3 turns, 9 commits\n" + told, "")
    assert turnlog("unbundle", str(path)) == (0, "demo  nothing of it is new\n" + told, "")
    assert state_hash(elsewhere) == state_hash(recorded)
    assert [json.loads(line)["session_id"] for line in turnlog("sessions", "--json").out.splitlines()] == ["demo"]


def test_what_was_done_is_told_as_json(
    recorded: Settings, elsewhere: Settings, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.turnlog"
    written = json.loads(turnlog("bundle", "demo", "demo-old", "-o", str(path), "--json").out)
    assert (written["file"], written["bytes"]) == (str(path), path.stat().st_size)
    known = {"session_id": "demo", "state_hash": state_hash(recorded), "turns": 3, "commits": 9, "spans": 12, "unfinished": 0}
    assert [each["session_id"] for each in written["sessions"]] == ["demo", "demo-old"]
    assert written["sessions"][0] == known
    assert written["members"]["spans.parquet"]["rows"] == 14
    monkeypatch.setenv("TURNLOG_DIR", str(elsewhere.directory))
    missing = str(tmp_path / "none")
    done = turnlog("unbundle", str(path), missing, "--json")
    assert done.code == 1
    assert done.err == f"turnlog: {missing}: there is no such file. Nothing of it was loaded\n"
    loaded, failed = json.loads(done.out)["files"]
    assert failed == {"file": missing, "error": "there is no such file", "sessions": []}
    assert loaded["sessions"][0] == {
        "session_id": "demo",
        "new_turns": 3,
        "new_commits": 9,
        "new_spans": 12,
        "other_spans": 0,
        "state_hash": known["state_hash"],
        "bundled_state_hash": known["state_hash"],
        "is_same_state": True,
    }


def test_a_bundle_goes_through_a_pipe(recorded: Settings, elsewhere: Settings) -> None:
    made = subprocess.run(
        [*TURNLOG, "bundle", "demo", "-o", "-"], env=environment(recorded.directory), capture_output=True, check=True
    )
    assert made.stderr.decode().splitlines()[0] == "1 session in the standard output: 3 turns, 9 commits, 0 blobs"
    loaded = subprocess.run(
        [*TURNLOG, "unbundle", "-"], env=environment(elsewhere.directory), input=made.stdout, capture_output=True, check=True
    )
    assert loaded.stdout.decode().splitlines()[0] == "demo  new: 3 turns, 9 commits"
    assert state_hash(elsewhere) == state_hash(recorded)


def test_without_a_name_the_file_has_the_sessions(recorded: Settings, tmp_path: Path) -> None:
    run(*TURNLOG, "bundle", directory=recorded.directory, cwd=tmp_path)
    assert (tmp_path / "demo.turnlog").exists()


def test_what_runs_there_is_said_and_a_later_bundle_says_how_it_ended(
    settings: Settings,
    elsewhere: Settings,
    recording: Recording,
    turnlog: Turnlog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start_call(recording, "deploy")
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    assert "1 span unfinished: running, or their process died in them" in turnlog("bundle", "-o", first).out
    recording.journal.close()
    turnlog("bundle", "-o", second)
    monkeypatch.setenv("TURNLOG_DIR", str(elsewhere.directory))
    told = turnlog("unbundle", first).out.splitlines()
    assert told[0] == "demo  new: 1 turn"
    assert told[2].endswith("when this was bundled: a later bundle says how they ended")
    assert turnlog("unbundle", second).out.splitlines()[0] == "demo  new: 1 commit"


def test_what_is_here_and_not_in_the_bundle_stays(
    recorded: Settings, elsewhere: Settings, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "s.turnlog")
    turnlog("bundle", "demo", "-o", path)
    monkeypatch.setenv("TURNLOG_DIR", str(elsewhere.directory))
    turnlog("unbundle", path)
    code = "import turnlog; turnlog.init(session='demo')\nwith turnlog.turn('on'): turnlog.note('blue', key='sky')"
    run(sys.executable, "-c", code, directory=elsewhere.directory)
    done = turnlog("unbundle", path)
    assert done.code == 0
    assert "it has 2 spans here that the bundle has not, and with them another state: sha256:" in done.out


def test_what_is_no_bundle_is_said_in_one_line(settings: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    done = turnlog("unbundle", str(text), str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        f"turnlog: {text}: it is not a whole ZIP file, as a bundle is: broken off on its way, or something else. "
        "Nothing of it was loaded",
        f"turnlog: {tmp_path}: it is a folder: name the bundle in it. Nothing of it was loaded",
    ]


def test_words_that_do_not_go_together_are_refused(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("bundle", "-o", "-", "--json").code == 2
    assert turnlog("unbundle").code == 2
    assert turnlog("bundle", "dmeo") == (1, "", "turnlog: there is no session 'dmeo'. Nearest: demo, demo-old.\n")


def test_sessions_that_are_continued_go_along(recorded: Settings, turnlog: Turnlog, tmp_path: Path) -> None:
    code = "import turnlog\nturnlog.resume('demo', new=True)\nwith turnlog.turn('on'): turnlog.note('blue')"
    run(sys.executable, "-c", code, directory=recorded.directory)
    (new,) = [name for name in names(recorded) if not name.startswith("demo")]
    path = str(tmp_path / "s.turnlog")
    assert [each["session_id"] for each in bundled(turnlog, new, path)] == [new]
    assert [each["session_id"] for each in bundled(turnlog, new, path, "--previous")] == sorted([new, "demo"])


def names(settings: Settings) -> list[str]:
    with queries.reading(settings) as db:
        return [session.session_id for session in queries.sessions(db)]


def bundled(turnlog: Turnlog, session: str, path: str, *more: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(turnlog("bundle", session, "-o", path, "--json", *more).out)["sessions"]
    return found
