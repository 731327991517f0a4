"""Patches: every file they touch, and nothing that only looks like a header; compared with what git itself applies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from turnlog.derive.files import declared_touches
from turnlog.derive.patches import patched
from turnlog.derive.touch import Touch

V4A = """\
*** Begin Patch
*** Add File: new.py
+*** Delete File: not this
+x = 1
*** Update File: old name.py
@@ def f():
-a
+b
*** Update File: src/from.py
*** Move to: src/to.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch
"""
TRICKY = """\
--- a/query.sql
+++ b/query.sql
@@ -1,3 +1,3 @@
--- old comment
-+++ old
+++ new comment
++-- new
 select 1
--- a/b.py\t2026-01-01 00:00:00
+++ b/b.py\t2026-01-02 00:00:00
@@ -1 +1 @@
-x
+y
"""


def said(touches: list[Touch]) -> list[str]:
    return [f"{touch.action} {touch.path}" + (f" < {touch.renamed_from}" if touch.renamed_from else "") for touch in touches]


@pytest.mark.parametrize(
    ("patch", "touches"),
    [
        (V4A, ["create new.py", "write old name.py", "rename src/to.py < src/from.py", "delete gone.py"]),
        (V4A.replace("\n", "\r\n"), ["create new.py", "write old name.py", "rename src/to.py < src/from.py", "delete gone.py"]),
        (TRICKY, ["write query.sql", "write b.py"]),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n", ["create new.py"]),
        ("--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", ["delete old.py"]),
        ("--- a.orig\n+++ a.py\n@@ -1 +1 @@\n-x\n+y\n", ["write a.py"]),
        ("--- a/x.py\n+++ a/x.py\n@@ -1 +1 @@\n-x\n+y\n", ["write a/x.py"]),
        ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", ["rename y < x"]),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", ["create y"]),
        ("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", []),
        ("*** Move to: nothing.py", []),
        ("*** Begin Patch\n*** Move to: nothing.py\n*** End Patch", []),
        ("+++ b/x.py", []),
        ("no patch at all", []),
        ("", []),
    ],
)
def test_a_patch_touches_the_files_in_its_headers(patch: str, touches: list[str]) -> None:
    assert said(patched(patch)) == touches


def test_leading_folders_are_left_out_as_patch_does_it() -> None:
    assert [said(patched(TRICKY, strip)) for strip in (0, 1, 2)] == [
        ["write b/query.sql", "write b/b.py"],
        ["write query.sql", "write b.py"],
        [],
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "touches"),
    [
        ("apply_patch", V4A, 4),
        ("apply_patch", {"input": V4A}, 4),
        ("apply_patch", {"patch": V4A}, 4),
        ("edit_code", {"diff": TRICKY}, 2),
        ("anything", V4A, 4),
        ("note", TRICKY, 0),
        ("note", {"text": V4A}, 0),
    ],
)
def test_a_patch_is_found_where_a_tool_takes_one(tool: str, arguments: object, touches: int) -> None:
    assert len(declared_touches(tool, arguments)) == touches


@pytest.mark.parametrize(
    ("operation", "touches"),
    [
        ({"type": "create_file", "path": "z", "diff": "+x"}, ["create z"]),
        ({"type": "update_file", "path": "z", "diff": "+x"}, ["write z"]),
        ({"type": "update_file", "path": "z", "move_to": "y", "diff": "+x"}, ["rename y < z"]),
        ({"type": "delete_file", "path": "z"}, ["delete z"]),
        ({"type": [], "path": "z"}, []),
        ({"type": "update_file", "path": None}, []),
    ],
)
def test_an_operation_of_openais_patch_tool_names_its_file(operation: object, touches: list[str]) -> None:
    assert said(declared_touches("apply_patch", {"operation": operation})) == touches


def test_git_agrees_about_the_files_of_its_own_diffs(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        name = ["-c", "user.name=x", "-c", "user.email=x@x"]
        return subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    long = "".join(f"line {number}\n" for number in range(30))
    for name, text in {
        "edit.py": long,
        "moved.py": long + "moved\n",
        "moved and edited.py": long + "both\n",
        "gone.py": "-- a\n++ b\n",
        "empty gone": "",
        "bin.dat": "\0\1",
        'quo"te\tä.txt': long + "quoted\n",
    }.items():
        (tmp_path / name).write_text(text)
    git("add", ".")
    git("commit", "-qm", "before")
    (tmp_path / "edit.py").write_text(long.replace("line 3\n", "-- three\n++ drei\n"))
    (tmp_path / "moved.py").rename(tmp_path / "there.py")
    (tmp_path / "moved and edited.py").rename(tmp_path / "sub moved.py")
    with (tmp_path / "sub moved.py").open("a") as file:
        file.write("more\n")
    for name in ("gone.py", "empty gone"):
        (tmp_path / name).unlink()
    (tmp_path / "bin.dat").write_bytes(b"\0\2")
    (tmp_path / 'quo"te\tä.txt').write_text("x\n")
    (tmp_path / "new.py").write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n")
    (tmp_path / "empty new").write_text("")
    git("add", ".")
    assert sorted(said(patched(git("diff", "--cached", "-M", "--no-rename-empty", "--binary")))) == sorted(
        [
            "write edit.py",
            "rename there.py < moved.py",
            "rename sub moved.py < moved and edited.py",
            "delete gone.py",
            "delete empty gone",
            "write bin.dat",
            'write quo"te\tä.txt',
            "create new.py",
            "create empty new",
        ]
    )
