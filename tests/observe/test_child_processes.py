"""What child processes do is seen by comparing files: those that the call declared, and those below TURNLOG_WATCH."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import turnlog
from observe.observing import MakeObserved, calls, touched
from recording import Recording, journal_rows
from turnlog.observe import hook, observer


@turnlog.tool
def bash(command: str) -> str:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout


@turnlog.tool
def run_program(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def watched(make_observed: MakeObserved, folder: Path) -> Recording:
    return make_observed(watch=(folder,))


COMMANDS = [
    ("echo x > new", ["create new"]),
    ("echo x >> old", ["write old"]),
    ("echo x | tee old new", ["create new", "write old"]),
    ("sed -i s/content/changed/ old", ["write old"]),
    ("rm old", ["delete old"]),
    ("mv old moved", ["delete old", "rename moved < old"]),
    ("mv old sub", ["delete old", "rename sub/old < old"]),
    ("mv old sub/file", ["delete old", "rename sub/file < old"]),
    ("cp old copy", ["create copy", "read old"]),
    ("touch new", ["create new"]),
    ("mkdir made", ["create made"]),
    ("mkdir -p made/deep && mv old made/deep", ["create made/deep", "delete old", "rename made/deep/old < old"]),
    ("cd sub && rm file && touch fresh", ["create sub/fresh", "delete sub/file"]),
    ("truncate -s 1 old", ["write old"]),
    ("ln -s old link", ["create link"]),
    ("cat > new <<'EOF'\nrm old\nEOF", ["create new"]),
    ("git apply fix.patch", ["create fresh", "read fix.patch", "write old"]),
    ("patch -p1 < fix.patch", ["create fresh", "read fix.patch", "write old"]),
    ("bash -c 'echo x > new; rm old'", ["create new", "delete old"]),
    ("echo x > new; mv new newer", ["create newer"]),
    ("rm -r sub", ["delete sub"]),
]
PATCH = """\
--- a/old
+++ b/old
@@ -1 +1 @@
-content
+changed
--- /dev/null
+++ b/fresh
@@ -0,0 +1 @@
+fresh
"""


def prepare(folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("old", "sub/file"):
        (folder / name).write_text("content\n")
    (folder / "fix.patch").write_text(PATCH)


@pytest.mark.parametrize(("command", "files"), COMMANDS)
def test_a_commands_declared_files_are_confirmed(observed: Recording, folder: Path, command: str, files: list[str]) -> None:
    prepare(folder)
    bash(command)
    expected = [f"{file} ({'declared' if file.startswith('read') else 'both'})" for file in files]
    assert sorted(touched(observed)) == sorted(expected)


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in folder.rglob("*"):
        if not path.is_dir():
            state = path.lstat()
            found[str(path.relative_to(folder))] = (state.st_ino, state.st_mtime_ns, path.read_bytes())
    return found


@pytest.mark.parametrize(
    "command",
    [
        *(command for command, _ in COMMANDS if "mkdir" not in command),
        "for f in old sub/file; do echo more >> $f; done",
        "find . -name file -delete",
        "python3 -c \"open('new', 'w').write('x')\"",
        "perl -e 'open(F, \">new\"); print F 1'",
        "tar cf all.tar sub && rm -r sub && tar xf all.tar",
        "name=old; rm $name; echo x > ${name}er",
        "test -f missing || touch made",
    ],
)
def test_below_a_watched_folder_everything_that_changed_is_seen(watched: Recording, folder: Path, command: str) -> None:
    prepare(folder)
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    before = tree(folder)
    bash(command)
    after = tree(folder)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    seen = {
        re.sub(r"^\w+ | < .*$| \(.*$", "", file): file.split()[0]
        for file in touched(watched)
        if not file.endswith("(declared)") and file != "delete sub (both)"
    }
    assert set(seen) == changed
    assert {path: path in after for path in changed} == {path: action != "delete" for path, action in seen.items()}


def test_a_child_whose_files_nobody_names_is_seen_only_below_a_watched_folder(
    observed: Recording, make_observed: MakeObserved, folder: Path
) -> None:
    code = "open('a', 'w').write('x'); import os; os.mkdir('.git'); open('.git/x', 'w').close()"
    run_program(code)
    assert touched(observed) == []
    subprocess.run(["rm", "-r", "a", ".git"], check=True)
    watched = make_observed(watch=(folder,))
    run_program(code)
    assert touched(watched) == ["create a (observed)"]


def test_folders_that_hold_no_work_are_not_watched(watched: Recording, folder: Path) -> None:
    (folder / "environment").mkdir()
    (folder / "environment" / "pyvenv.cfg").touch()
    for name in (".git", "node_modules", "__pycache__", ".venv"):
        (folder / name).mkdir()
    bash("for d in */ .git .venv; do echo x > $d/file; done; for f in kept; do touch $f; done")
    assert touched(watched) == ["create kept (observed)"]


def test_what_changed_between_two_calls_is_nobodys(watched: Recording, folder: Path) -> None:
    bash("true")
    (folder / "mine").write_text("x")
    bash("for f in its; do touch $f; done")
    assert calls(watched) == [("bash", []), ("bash", ["create its (observed)"])]


def test_two_calls_at_once_get_what_each_declared_and_nothing_that_neither_did(watched: Recording) -> None:
    both_run = threading.Barrier(2)

    @turnlog.tool(name="bash")
    def bash_together(command: str) -> None:
        both_run.wait(60)
        subprocess.run(["bash", "-c", command], check=True)
        both_run.wait(60)

    commands = ["touch a; for f in x; do touch $f; done", "touch b; for f in y; do touch $f; done"]
    threads = [threading.Thread(target=bash_together, args=(command,)) for command in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls(watched)) == [("bash", ["create a (both)"]), ("bash", ["create b (both)"])]


def test_a_call_inside_another_takes_what_it_did(watched: Recording) -> None:
    @turnlog.tool
    def delegate() -> None:
        bash("for f in inner; do touch $f; done")
        subprocess.run(["touch", "outer"], check=True)

    delegate()
    assert calls(watched) == [("bash", ["create inner (observed)"]), ("delegate", ["create outer (observed)"])]


def test_a_call_that_declares_what_a_call_inside_it_does_is_confirmed(observed: Recording) -> None:
    @turnlog.tool
    def write_file(path: str, content: str) -> None:
        bash(f"echo {content} > {path}")

    write_file("a", "x")
    assert calls(observed) == [("bash", ["create a (both)"]), ("write_file", ["create a (both)"])]


def test_too_many_files_are_not_watched_and_that_is_said(
    watched: Recording, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(observer, "_MOST_WATCHED", 3)
    for number in range(4):
        (folder / f"{number}").touch()
    bash("touch a; for f in b; do touch $f; done")
    bash("rm a")
    assert calls(watched) == [("bash", ["create a (both)"]), ("bash", ["delete a (both)"])]
    assert caplog.messages == ["turnlog: more than 3 files in TURNLOG_WATCH: not watched "]
    losses = [row["name"] for row in journal_rows(watched.settings) if row["record"] == "loss"]
    assert losses == ["more than 3 files in TURNLOG_WATCH: not watched"] * 2


def test_a_watched_folder_that_is_not_there_costs_nothing(make_observed: MakeObserved, folder: Path) -> None:
    observed = make_observed(watch=(folder / "missing", folder / "missing too"))
    bash("touch a")
    assert touched(observed) == ["create a (both)"]


def test_a_forked_child_leaves_the_call_to_its_parent(observed: Recording) -> None:
    @turnlog.tool
    def fork() -> None:
        child = os.fork()
        if not child:
            Path("theirs").write_text("x")
            os._exit(len(hook.running))
        assert os.waitpid(child, 0) == (child, 0)
        Path("ours").write_text("x")

    fork()
    assert calls(observed) == [("fork", ["create ours (observed)"])]
