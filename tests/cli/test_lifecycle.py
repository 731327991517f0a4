"""`turnlog pause`, `unpause`, `close`, `archive`, `pin`, `unpin` and `gc`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from cli.history import Turnlog, plain, start_call
from cli.terminal import Terminal
from programs import run, run_code
from recording import Recording
from turnlog.settings import Settings
from turnlog.store.loader import load


def status(turnlog: Turnlog) -> dict[str, tuple[str, bool]]:
    rows = [json.loads(line) for line in turnlog("sessions", "--json").out.splitlines()]
    return {row["session_id"]: (row["status"], row["pinned"]) for row in rows}


def test_a_session_goes_through_its_lifecycle(recorded: Settings, turnlog: Turnlog) -> None:
    assert turnlog("pause", "demo") == (0, "session demo  idle -> paused\n", "")
    assert turnlog("unpause", "demo").out == "session demo  paused -> resumed\n"
    assert turnlog("pause", "demo", "--reason", "waits for password=hunter22").code == 0
    assert turnlog("close", "demo").out == "session demo  paused -> closed\n"
    assert turnlog("archive", "demo").out == "session demo  closed -> archived\n"
    assert turnlog("pin", "demo").out == "session demo  is pinned\n"
    assert status(turnlog) == {"demo": ("archived", True), "demo-old": ("idle", False)}
    assert plain(turnlog("log", "-n", "6").out)[:8] == [
        "session demo",
        "turn 3  DAY TIME  finish it",
        "ID  TIME  lifecycle  pinned",
        "ID  TIME  lifecycle  archived",
        "ID  TIME  lifecycle  closed",
        "ID  TIME  lifecycle  paused - waits for password=[REDACTED:credential]",
        "ID  TIME  lifecycle  resumed",
        "ID  TIME  lifecycle  paused - human_input",
    ]
    assert turnlog("unpin", "demo").out == "session demo  is not pinned\n"
    assert status(turnlog)["demo"] == ("archived", False)
    assert "lifecycle  unpinned" in plain(turnlog("show").out)


def test_what_may_not_follow_is_refused_in_one_line(recorded: Settings, turnlog: Turnlog) -> None:
    said = "turnlog: session demo is active and cannot become archived. Next can be: paused or closed.\n"
    assert turnlog("archive", "demo") == (1, "", said)
    assert turnlog("unpause", "demo").code == 1
    turnlog("close", "demo")
    turnlog("archive", "demo")
    said = "turnlog: session demo is archived and cannot become paused. This is its end.\n"
    assert turnlog("pause", "demo") == (1, "", said)
    assert turnlog("close", "nobody").code == 1
    assert turnlog("pause").code == 2


def test_saying_it_again_changes_nothing(recorded: Settings, turnlog: Turnlog) -> None:
    turnlog("close", "demo")
    assert turnlog("close", "demo") == (0, "session demo  is closed already\n", "")
    assert turnlog("unpin", "demo") == (0, "session demo  is not pinned already\n", "")
    assert len(turnlog("sql", "--json", "from lifecycle").out.splitlines()) == 1


def test_sessions_show_how_they_stand(recorded: Settings, recording: Recording, turnlog: Turnlog) -> None:
    start_call(recording, "deploy")
    turnlog("pin", "demo-old")
    assert [line.split("  ")[:2] for line in plain(turnlog("sessions").out)] == [
        ["SESSION", "STATUS"],
        ["demo-old", "idle pinned"],
        ["demo", "active"],
    ]


def test_gc_says_what_it_would_delete_and_deletes_nothing(recorded: Settings, turnlog: Turnlog) -> None:
    turnlog("close", "demo")
    turnlog("archive", "demo")
    spans = {row["session_id"]: row["spans"] for row in map(json.loads, turnlog("sessions", "--json").out.splitlines())}
    shown = turnlog("gc", "--older-than", "0h", "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    assert [re.sub(r"\b\d+(\.\d+)? k?B", "SIZE", line) for line in plain(shown.out)] == [
        "SESSION  STATUS  LAST ACTIVE  SPANS  CONTENT  WHAT GOES",
        f"demo-old  idle  DAY TIME  {spans['demo-old']}  SIZE  all",
        f"demo  archived  DAY TIME  {spans['demo']}  SIZE  all, into the archive",
        f"together: 2 sessions, {sum(spans.values())} spans, 0 blobs, SIZE",
    ]
    assert set(status(turnlog)) == {"demo", "demo-old"}
    assert turnlog("gc", "--older-than", "1w", "--dry-run") == (0, "nothing is old enough to go\n", "")


def test_gc_asks_where_it_can_and_refuses_where_it_cannot(recorded: Settings, turnlog: Turnlog) -> None:
    refused = turnlog("gc", "--older-than", "0h")
    assert (refused.code, refused.err) == (
        1,
        "turnlog: nothing was deleted: this is no terminal to ask on. Look with --dry-run, then add --yes.\n",
    )
    for answer, left in (("\n", {"demo", "demo-old"}), ("no\n", {"demo", "demo-old"}), ("y\n", set())):
        with Terminal("gc", "--older-than", "0h", settings=recorded) as terminal:
            terminal.expect("Delete this? [y/N] ")
            terminal.type(answer)
            assert terminal.wait() == 0
        assert set(status(turnlog)) == left
    assert turnlog("sessions").out.startswith("no session has been recorded yet. Try: turnlog demo")


def test_gc_tells_what_it_freed(recorded: Settings, turnlog: Turnlog) -> None:
    turnlog("close", "demo")
    turnlog("archive", "demo")
    done = turnlog("gc", "--older-than", "0h", "--yes", "--keep-durable").out.splitlines()[-3:]
    assert done[0] == "1 session left with durable entries only"
    assert done[1].startswith(f"1 session moved to {recorded.archive} (")
    assert done[2].startswith("the store has ") and done[2].endswith(" freed")
    assert set(status(turnlog)) == {"demo-old"}
    assert plain(turnlog("log", "-s", "demo-old").out) == ["session demo-old", "turn 1  DAY TIME", "ID  TIME  greet"]


def test_archived_sessions_can_still_be_asked_about_in_sql(recorded: Settings, turnlog: Turnlog) -> None:
    turnlog("close", "demo")
    turnlog("archive", "demo")
    turnlog("gc", "--older-than", "0h", "--yes")
    asked = "select turn, tool, outcome from archived('spans') where commit_kind = 'tool' and tool = 'run_tests'"
    assert json.loads(turnlog("sql", "--json", asked).out) == {"turn": 2, "tool": "run_tests", "outcome": "timeout"}
    assert turnlog("sql", f"copy (select 1) to '{recorded.archive}/x.csv'").code == 1
    assert turnlog("sql", f"from read_text('{recorded.lock}')").code == 1


def test_gc_loads_what_is_in_the_journals_first(recorded: Settings, recording: Recording, turnlog: Turnlog) -> None:
    with recording.agent("again", conversation="demo-old"):
        pass
    recording.journal.close()
    turnlog("gc", "--older-than", "0h", "--yes")
    assert (status(turnlog), list(recorded.journals.glob("*.journal"))) == ({}, [])
    load(recorded, patience=1)
    assert status(turnlog) == {}


def test_an_age_is_a_number_and_a_unit(turnlog: Turnlog) -> None:
    for wrong in ("30", "d", "-1d", "1.5d", "30m", "123456d", "²d"):
        done = turnlog("gc", "--older-than", wrong)
        assert (done.code, "is not an age like 12h, 30d or 26w" in done.err or "expected one argument" in done.err) == (2, True)
    assert turnlog("gc").code == 2
    assert turnlog("gc", "--older-than", "30d") == (0, "nothing has been recorded yet\n", "")


def test_a_state_that_a_program_said_and_that_could_not_follow_shows_as_refused(tmp_path: Path) -> None:
    code = "import turnlog; turnlog.init()\nwith turnlog.session('s') as s:\n  with turnlog.turn(input='go'): ...\n  s.resume()"
    run_code(code, tmp_path)
    for command in ("log", "show"):
        done = run(sys.executable, "-m", "turnlog", command, directory=tmp_path)
        assert "resumed  (refused: it could not follow)" in done.stdout


def test_gc_says_on_a_narrow_terminal_what_goes(settings: Settings, recording: Recording) -> None:
    for number in range(2):
        with recording.agent("go", conversation=f"0199f2aa-0000-7000-8000-00000000000{number}"):
            recording.tool("look", {}, "seen")
    recording.journal.close()
    with Terminal("gc", "--older-than", "0h", "--dry-run", settings=settings, columns=40, NO_COLOR="1") as terminal:
        lines = terminal.all().rpartition("\x1b[K")[2].splitlines()
    assert lines[0].split() == ["SESSION", "STATUS", "WHAT", "GOES"]
    assert [line.split()[-1] for line in lines[1:3]] == ["all", "all"]
