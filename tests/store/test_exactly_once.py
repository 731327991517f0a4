"""Exactly once: loaders killed at every step, and many processes that write, load, read and die at the same time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from programs import ROOT, run
from recording import Recording
from store.story import Story, touch
from turnlog.settings import Capture, Settings


def test_a_loader_killed_before_any_of_its_steps_loses_and_doubles_nothing(tmp_path: Path) -> None:
    template = Settings(directory=tmp_path / "template", capture=Capture.FULL)
    story = Story(template)
    for n in range(8):
        story.tool(f"tool{n}", f"s{n % 2}", f"t{n % 2}", "write_file", touch("write", f"{n}.py"), input_tokens=n)
    story.span("running", "s0", "t0", ends=False, operation="execute_tool", tool="slow")
    story.writer.close()
    (path,) = template.journals.iterdir()
    data = path.read_bytes()
    place = data.index(b"6.py")
    path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
    recording = Recording(template)
    recording.tool("t", {"q": 1}, "r")
    recording.journal.append(b'{"record":"end","start_ns":"soon"}\n')
    recording.tool("t", {"q": 2}, "r")
    recording.close()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = ROOT / "tests" / "store" / "killing.py"
    done = run(sys.executable, program, template.directory, scratch, directory=tmp_path / "unused")
    summary, *steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert summary["facts"] == {
        "spans": [["interrupted", 2, 2], ["ok", 9, 9]],
        "open": [[0]],
        "deltas": [["file", 7], ["tool", 11]],
        "sessions": summary["facts"]["sessions"],
        "turns": [[3]],
        "blobs": [[3, 3]],
        "losses": [[2]],
        "processes": [[2, 2, 2]],
        "journals": [[0]],
        "readers before": [[11, 11]],
        "files": [],
        "set aside": 2,
    }
    assert [row[1:] for row in summary["facts"]["sessions"] if row[0] in ("s0", "s1")] == [[5, 5, 2, 6], [4, 4, 0, 16]]
    assert len(steps) == summary["steps"] > 20
    assert [step for step in steps if step[2] != 9 or step[3] is not True] == []
