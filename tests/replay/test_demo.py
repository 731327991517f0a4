"""The demo's agent is replayed: the workspace stays empty, nothing times out anew, and every commit is the same."""

from __future__ import annotations

from pathlib import Path

from replayed import Stage
from turnlog.demo.script import REPLIES

DEMO = """
import sys
from turnlog.demo.coder import main
main(sys.argv[1], "demo")
"""


def test_the_demo_is_replayed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, DEMO)
    printed = stage.record(REPLIES, session="")
    assert sorted(path.name for path in stage.work.glob("*.py")) == ["test_wordcount.py", "wordcount.py"]
    for path in stage.work.glob("*.py"):
        path.unlink()
    done = stage.replay(session="demo")
    assert (done.stdout, done.stderr) == (printed, "")
    assert list(stage.work.glob("*.py")) == []
    stage.assert_exact("demo")
