"""`turnlog doctor` and `turnlog path`: they answer whatever state the data is in."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from cli.history import Turnlog, record_history
from recording import Recording
from turnlog.cli.doctor import Report
from turnlog.instrument import FRAMEWORKS
from turnlog.receiver import guard_for, receiving
from turnlog.settings import Settings
from turnlog.store import schema
from turnlog.store.loader import load


def test_a_loaded_store_is_well(recorded: Settings, turnlog: Turnlog) -> None:
    code, out, err = turnlog("doctor")
    lines = [line.strip() for line in out.splitlines()]
    assert (code, err, lines[-1]) == (0, "", "all is well")
    assert f"directory  {recorded.directory}" in lines
    assert "journals   0 live, 0 finished, 0 B, 0 B not loaded yet" in lines
    assert "holds      2 sessions, 14 spans, 10 commits, 1 failure" in lines
    assert "lost       0 rows, 0 pieces set aside" in lines


def test_the_report_as_json_has_stable_names(recorded: Settings, turnlog: Turnlog) -> None:
    report = json.loads(turnlog("doctor", "--json").out)
    assert list(report) == list(Report._fields)
    assert report["totals"] == {"sessions": 2, "spans": 14, "commits": 10, "failures": 1}
    assert (report["schema"], report["unreadable"], report["warnings"]) == (schema.newest_version(), "", [])
    assert report["frameworks_unknown"] == ""
    assert {row["framework"] for row in report["frameworks"]} == {each.name for each in FRAMEWORKS}
    assert report["versions"]["duckdb"] == duckdb.__version__


def test_a_look_creates_nothing(unmade: Settings, turnlog: Turnlog) -> None:
    code, out, _ = turnlog("doctor")
    assert code == 0
    assert f"database   {unmade.database}  (not there yet)" in out
    assert "holds      0 sessions, 0 spans, 0 commits, 0 failures" in out
    assert not unmade.directory.exists()


def test_who_serves_the_store_is_named(recorded: Settings, turnlog: Turnlog) -> None:
    with receiving(recorded, guard_for("127.0.0.1"), "127.0.0.1", 0) as receiver:
        assert f"  serve      process {os.getpid()} on {receiver.url}\n" in turnlog("doctor").out
        assert json.loads(turnlog("doctor", "--json").out)["served_by"] == f"process {os.getpid()} on {receiver.url}"
    assert json.loads(turnlog("doctor", "--json").out)["served_by"] == ""


def test_what_is_not_loaded_yet_is_counted_and_left(recording: Recording, settings: Settings, turnlog: Turnlog) -> None:
    before = settings.database.read_bytes()
    record_history(recording)
    report = json.loads(turnlog("doctor", "--json").out)
    (journal,) = report["journals"]
    assert (journal["live"], journal["unloaded"]) == (True, journal["size"])
    assert report["totals"]["commits"] == 10
    assert settings.database.read_bytes() == before


def test_what_was_lost_is_a_warning_and_no_failure(recording: Recording, settings: Settings, turnlog: Turnlog) -> None:
    record_history(recording)
    recording.journal.report_loss("journal not writable")
    recording.journal.close()
    (path,) = settings.journals.glob("*.journal")
    path.write_bytes(path.read_bytes() + b"no frame at all")
    load(settings, patience=1)
    code, out, _ = turnlog("doctor")
    warnings = [line for line in out.splitlines() if line.startswith("warning: ")]
    assert code == 0
    assert [line.partition(" (")[0] for line in warnings] == [
        "warning: 1 row lost: journal not writable",
        "warning: 1 row lost: unreadable journal bytes set aside",
        f"warning: 1 unreadable piece of journals set aside in {settings.set_aside}",
    ]
    assert "lost       2 rows, 1 piece set aside" in out


def test_a_file_that_is_no_database_is_said_and_exit_1(recorded: Settings, turnlog: Turnlog) -> None:
    recorded.database.write_bytes(b"this is not a database" * 1000)
    code, out, err = turnlog("doctor")
    assert (code, err) == (1, "")
    assert "holds      (cannot be read)" in out
    assert f"Move it away: mv '{recorded.database}' '{recorded.database}.bad'" in out
    assert json.loads(turnlog("doctor", "--json").out)["totals"] is None


def test_a_damaged_database_is_said_and_exit_1(recorded: Settings, turnlog: Turnlog) -> None:
    data = bytearray(recorded.database.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    recorded.database.write_bytes(data)
    for command in ("doctor", "log"):
        code, out, err = turnlog(command)
        assert code == 1
        assert str(recorded.database) in out + err
        assert "Traceback" not in err


def test_a_busy_store_is_said_after_a_short_wait(recorded: Settings, turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_PATIENCE", "0.2")
    with recorded.lock.open("r+") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        code, out, _ = turnlog("doctor")
        assert code == 1
        assert f"warning: the store {recorded.directory} has been busy for 0.2 s" in out
        assert turnlog("log").err.startswith(f"turnlog: the store {recorded.directory} has been busy for 0.2 s")


def test_a_newer_store_is_said(recorded: Settings, turnlog: Turnlog) -> None:
    with duckdb.connect(str(recorded.database)) as db:
        db.execute("update turnlog_meta set value = '999' where name = 'schema'")
    code, out, _ = turnlog("doctor")
    assert code == 1
    assert "this store has schema 999, written by a newer turnlog" in out


def test_settings_show_their_variable_and_never_the_key(
    recorded: Settings, turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HASH_KEY", "hunter2")
    monkeypatch.setenv("TURNLOG_CAPTURE", "full")
    monkeypatch.setenv("TURNLOG_DISABLED", "1")
    code, out, _ = turnlog("doctor", "--json")
    assert code == 0
    assert "hunter2" not in out
    shown = {row["variable"]: (row["value"], row["is_default"]) for row in json.loads(out)["settings"]}
    assert shown["TURNLOG_HASH_KEY"] == ("set", False)
    assert shown["TURNLOG_CAPTURE"] == ("full", False)
    assert shown["TURNLOG_FSYNC"] == ("false", True)
    assert "recording is switched off by TURNLOG_DISABLED or OTEL_SDK_DISABLED" in json.loads(out)["warnings"]


def test_every_setting_of_ours_is_shown(turnlog: Turnlog) -> None:
    source = (Path(__file__).parents[2] / "src" / "turnlog" / "settings.py").read_text()
    shown = {row["variable"] for row in json.loads(turnlog("doctor", "--json").out)["settings"]}
    assert set(re.findall(r"TURNLOG_[A-Z_]+", source)) <= shown


@pytest.mark.parametrize("below", ["/proc/nowhere", "/proc", "{file}", "{file}/deep/down"])
def test_a_directory_where_nothing_can_be_recorded_is_said(
    turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, below: str
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("TURNLOG_DIR", below.format(file=file))
    out = turnlog("doctor").out
    where = "/proc" if below.startswith("/proc") else file
    assert f"warning: nothing can be recorded: cannot write in {where} (" in out
    assert "all is well" not in out
    assert file.read_text() == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes whatever the mode says")
def test_a_read_only_directory_is_said(recorded: Settings, turnlog: Turnlog) -> None:
    shutil.rmtree(recorded.journals, ignore_errors=True)
    recorded.directory.chmod(0o500)
    try:
        code, out, _ = turnlog("doctor")
    finally:
        recorded.directory.chmod(0o700)
    assert code == 0
    assert f"warning: nothing can be recorded: cannot write in {recorded.directory} (Permission denied)" in out


def test_path_prints_where_things_are(settings: Settings, turnlog: Turnlog) -> None:
    assert turnlog("path").out == f"{settings.directory}\n"
    assert turnlog("path", "database").out == f"{settings.database}\n"
    assert turnlog("path", "journal").out == f"{settings.journals}\n"
    assert turnlog("path", "moon").code == 2


def test_a_read_only_directory_can_be_read(recorded: Settings, turnlog: Turnlog) -> None:
    shutil.rmtree(recorded.journals, ignore_errors=True)
    recorded.directory.chmod(0o500)
    recorded.lock.unlink(missing_ok=True)
    try:
        assert (turnlog("doctor").code, turnlog("log").code) == (0, 0)
    finally:
        recorded.directory.chmod(0o700)
