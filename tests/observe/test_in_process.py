"""What Python code does to files inside a tool call is seen, whoever does it and whatever the tool's arguments say."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnlog
from observe.observing import MakeObserved, calls, delta, touched
from recording import Recording, journal_rows
from turnlog.content import ContentPolicy
from turnlog.observe import hook
from turnlog.settings import Observe


@turnlog.tool(name="work")
def work(body: Callable[[], object]) -> None:
    body()


def write(path: str, text: str = "new", mode: str = "w") -> None:
    with open(path, mode) as file:
        file.write(text)


def replace_atomically(path: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
        file.write("new")
    os.replace(file.name, path)


def rename_and_edit() -> None:
    os.rename("old", "halfway")
    os.rename("halfway", "moved")
    write("moved", "more", "a")


def through_temporary_files() -> None:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("x")
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/x")
    write("scratch")
    os.remove("scratch")


def with_a_database() -> None:
    connection = sqlite3.connect("data.db")
    connection.execute("create table t (x)")
    connection.commit()
    connection.close()
    sqlite3.connect(":memory:").close()


def by_descriptor() -> None:
    place = os.open("new", os.O_WRONLY | os.O_CREAT)
    os.write(place, b"x")
    os.close(place)
    folder = os.open(".", os.O_RDONLY)
    os.rename("old", "moved", src_dir_fd=folder, dst_dir_fd=folder)
    os.close(folder)


def in_vain() -> None:
    with pytest.raises(OSError):
        write("missing/x")
    with pytest.raises(OSError):
        os.remove("missing")
    with pytest.raises(OSError):
        os.rename("missing", "old")


def nothing_at_all() -> None:
    write("old", "", "a")
    open("old", "r+").close()
    Path("old").read_text()
    os.chmod("old", 0o600)


@pytest.mark.parametrize(
    ("body", "files"),
    [
        (lambda: write("new"), ["create new"]),
        (lambda: write("old"), ["write old"]),
        (lambda: write("old", mode="a"), ["write old"]),
        (lambda: write("new", mode="x"), ["create new"]),
        (lambda: Path("new").write_text("x"), ["create new"]),
        (lambda: Path("old").write_bytes(b"x"), ["write old"]),
        (lambda: Path("new").touch(), ["create new"]),
        (lambda: write("deep/../new"), ["create new"]),
        (lambda: write(os.path.abspath("new")), ["create new"]),
        (lambda: open(b"new", "w").close(), ["create new"]),
        (lambda: os.truncate("old", 1), ["write old"]),
        (lambda: os.remove("old"), ["delete old"]),
        (lambda: Path("old").unlink(), ["delete old"]),
        (lambda: os.rename("old", "moved"), ["delete old", "rename moved < old"]),
        (lambda: Path("old").rename("other"), ["delete old", "rename other < old"]),
        (lambda: (os.rename("old", "x"), os.rename("x", "y")), ["delete old", "rename y < old"]),
        (lambda: (os.rename("old", "x"), os.rename("x", "old")), []),
        (lambda: (os.rename("old", "x"), os.remove("x")), ["delete old"]),
        (lambda: (os.remove("old"), write("old", "later")), ["write old"]),
        (rename_and_edit, ["delete old", "rename moved < old"]),
        (lambda: replace_atomically("old"), ["write old"]),
        (lambda: replace_atomically("new"), ["create new"]),
        (lambda: os.symlink("old", "link"), ["create link"]),
        (lambda: os.link("old", "link"), ["create link"]),
        (lambda: shutil.copy("old", "copy"), ["create copy"]),
        (lambda: shutil.move("old", "deep"), ["delete old", "rename deep/old < old"]),
        (lambda: shutil.copytree("deep", "deeper"), ["create deeper/file"]),
        (lambda: shutil.rmtree("deep"), ["delete deep/file"]),
        (lambda: os.rename("deep", "deeper"), ["delete deep", "rename deeper < deep"]),
        (with_a_database, ["create data.db"]),
        (by_descriptor, ["delete old", "rename moved < old", "create new"]),
        (through_temporary_files, []),
        (in_vain, []),
        (nothing_at_all, []),
    ],
)  # fmt: skip
def test_what_remains_of_a_call_is_what_it_did(
    observed: Recording, folder: Path, body: Callable[[], object], files: list[str]
) -> None:
    (folder / "deep").mkdir()
    for name in ("old", "deep/file"):
        (folder / name).write_text("content")
    work(body)
    assert sorted(touched(observed)) == sorted(f"{file} (observed)" for file in files)


def test_a_file_elsewhere_is_known_by_its_whole_path(observed: Recording, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    work(lambda: elsewhere.write_text("x"))
    assert touched(observed) == [f"create {elsewhere} (observed)"]


def test_the_working_folder_is_the_one_at_the_start_of_the_call(observed: Recording, folder: Path) -> None:
    (folder / "deep").mkdir()

    def body() -> None:
        os.chdir("deep")
        write("new")

    work(body)
    assert touched(observed) == ["create deep/new (observed)"]


@turnlog.tool
def write_file(path: str, content: Any) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    Path(path).write_bytes(data)


@pytest.mark.parametrize("content", ["text\n", '{"b": 1,\n "a": [2]}', "ümläut", ""])
def test_the_hash_of_what_a_file_holds_is_the_hash_of_what_was_declared(
    observed: Recording, make_observed: MakeObserved, content: str
) -> None:
    write_file("a", content)
    (seen,) = delta(observed.spans[-1])
    unseen = make_observed(observe=Observe.OFF)
    write_file("a", content)
    (said,) = delta(unseen.spans[-1])
    assert (seen["action"], seen["evidence"], said["action"], said["evidence"]) == ("create", "both", "write", "declared")
    assert seen["value"] == said["value"] == ContentPolicy(observed.settings).hash(content)


def test_files_that_are_no_text_differ_by_their_hashes(observed: Recording) -> None:
    for content in (b"\xff\x00", b"\xfe\x00", b"\xff\x00"):
        write_file("a", content)
    values = [delta(span)[0]["value"] for span in observed.spans]
    assert values[0] == values[2] != values[1] != ""


def test_a_large_file_has_no_hash(observed: Recording) -> None:
    work(lambda: write("large", "x" * (4 * 1024 * 1024 + 1)))
    assert [(change["key"], change["value"]) for change in delta(observed.spans[-1])] == [("large", "")]


def test_a_change_within_one_tick_of_the_clock_is_seen(observed: Recording) -> None:
    def body() -> None:
        before = os.stat("a")
        write("a", "two")
        os.utime("a", ns=(before.st_atime_ns, before.st_mtime_ns))

    write("a", "one")
    work(body)
    assert touched(observed) == ["write a (observed)"]


def test_a_failed_call_keeps_what_was_seen_and_nothing_that_was_only_declared(observed: Recording) -> None:
    @turnlog.tool
    def write_files(paths: list[str], content: str) -> None:
        write(paths[0], content)
        write("extra")
        raise ValueError("disk full")

    with pytest.raises(ValueError, match="disk full"):
        write_files(["a", "b"], "x")
    assert touched(observed) == ["create a (both)", "create extra (observed)"]


def test_a_declared_write_that_does_not_happen_here_stays_declared(observed: Recording) -> None:
    @turnlog.tool(name="write_file")
    def write_elsewhere(path: str, content: str) -> None: ...

    write_elsewhere("a", "x")
    write("b")
    write_elsewhere("b", "x")
    assert calls(observed) == [("write_file", ["write a (declared)"]), ("write_file", ["write b (declared)"])]


def test_reads_are_seen_only_when_asked_for(observed: Recording, make_observed: MakeObserved, folder: Path) -> None:
    write("a")
    write("b")

    def body() -> None:
        Path("a").read_text()
        os.listdir(".")
        write("b", "x", "r+")
        with pytest.raises(OSError):
            Path("missing").read_text()

    work(body)
    assert touched(observed) == ["write b (observed)"]
    everything = make_observed(observe=Observe.ALL)
    write("b")
    work(body)
    assert touched(everything) == ["list . (observed)", "read a (observed)", "write b (observed)"]


def test_what_turnlog_reads_to_see_is_nobodys(make_observed: MakeObserved) -> None:
    observed = make_observed(observe=Observe.ALL)

    @turnlog.tool
    def outer() -> None:
        write_file("a", "x")

    write("a", "fresh")
    outer()
    assert calls(observed) == [("write_file", ["write a (both)"]), ("outer", [])]


def test_what_python_and_turnlog_write_for_themselves_is_not_the_tools(
    make_observed: MakeObserved, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed = make_observed(observe=Observe.ALL)
    (folder / "fresh_module.py").write_text("x = 1")
    packages = folder / "site-packages"
    packages.mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(folder))

    def body() -> None:
        import colorsys  # noqa: F401

        import fresh_module  # type: ignore[import-not-found]  # noqa: F401

        write("site-packages/x")
        write("/dev/null")
        Path("/proc/self/status").read_text()
        observed.journal.report_loss("rehearsal")

    sys.modules.pop("colorsys", None)
    work(body)
    assert [file for file in touched(observed) if not file.startswith("list ")] == ["read fresh_module.py (observed)"]
    assert list((folder / "__pycache__").iterdir())


def test_beyond_some_hundred_files_the_rest_is_counted(
    observed: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hook, "_MOST_FILES", 503)
    work(lambda: [write(f"{number}") for number in range(505)])
    assert len(touched(observed)) == 500
    assert caplog.messages == ["turnlog: files of one tool call beyond the first 500 left out (5)"]
    (row,) = [row for row in journal_rows(observed.settings) if row["record"] == "end"]
    assert len(row["delta"]) == 501


@pytest.mark.parametrize(
    "arguments", [(), ("a",), (object(), None, os.O_WRONLY), ("a", "w", None), ("a\0b", "w", os.O_WRONLY), (3, "w", 1)]
)
def test_an_event_that_makes_no_sense_costs_nobody_anything(observed: Recording, arguments: tuple[Any, ...]) -> None:
    def body() -> None:
        for event in ("open", "os.remove", "os.rename", "os.truncate", "os.link", "sqlite3.connect", "os.listdir"):
            sys.audit(event, *arguments)
        write("a")

    work(body)
    assert touched(observed) == ["create a (observed)"]
