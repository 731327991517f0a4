"""The README's checked parts, made from what the code prints. Run `python tests/readme.py` to rewrite them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from programs import ROOT, environment
from turnlog.instrument import FRAMEWORKS
from turnlog.store.schema import questions

README = ROOT / "README.md"
_OUTPUT = re.compile(r"(<!-- output: (.+?) -->\n```console\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"(<!-- (views|frameworks) -->\n)((?:\n?\|.*\n)*)")


def rendered(text: str, directory: Path) -> str:
    """The text with every checked part as it should be, for a store that begins empty."""
    text = _OUTPUT.sub(lambda match: match[1] + _output(match[2], directory) + match[4], text)
    return _TABLE.sub(lambda match: match[1] + "\n" + (_views() if match[2] == "views" else _frameworks()), text)


def masked(text: str) -> str:
    """The text without what differs from run to run: ids, times, durations, paths."""
    for pattern, mask in (
        (r"demo-\d{8}-\d{6}", "demo-…"),
        (r"\b((?=[0-9a-f]*\d)[0-9a-f]{6,64}|[a-f]{7})\b", "…"),
        (r"\d{4}-\d\d-\d\d", "…"),
        (r"\d\d:\d\d(:\d\d(\.\d+)?)?", "…"),
        (r"\b\d+(\.\d+)? ?(ms|s|kB|MB|B)\b", "…"),
        (r"\[?'?/\S+", "…"),
        (r"\b\d+\.\d+(\.\d+)?(b\d+)?\b", "…"),
        (r"server\.port\s+\d+", "server.port …"),
        (r"[ \t]+", " "),
        (r"─+|-{3,}", "-"),
    ):
        text = re.sub(pattern, mask, text)
    return text


def _output(command: str, directory: Path) -> str:
    program, *arguments = shlex.split(command)
    assert program == "turnlog", command
    printed = on_terminal([sys.executable, "-m", "turnlog", *arguments], environment(directory))
    lines = [line.rstrip() for line in printed.replace(str(directory), "~/.local/share/turnlog").strip().splitlines()]
    return "\n".join([f"$ {command}", *lines, ""])


def on_terminal(command: list[str], env: dict[str, str], columns: int = 128) -> str:
    """What a person sees: the output of a command on a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        printed = b""
        # Linux reports the end of a terminal as an error.
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65_536):
                printed += chunk
        os.close(ours)
    assert process.returncode == 0, printed.decode()
    # A slow machine shows progress, and the terminal erases it.
    return re.sub(r"(?:\r[^\r\n]*)+\r\x1b\[K", "", printed.decode().replace("\r\n", "\n"))


def _views() -> str:
    rows = [f"| `{question.name}{question.parameters.replace('p_', '')}` | {question.row} |\n" for question in questions()]
    return "| view or macro | one row |\n| --- | --- |\n" + "".join(rows)


def _frameworks() -> str:
    rows = [
        f"| {framework.title} | `{framework.extra or framework.name}` | `{framework.requires}` | {framework.records} |\n"
        for framework in sorted(FRAMEWORKS, key=lambda each: each.title)
    ]
    return "| framework | extra | tested range | what is recorded |\n| --- | --- | --- | --- |\n" + "".join(rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(rendered(README.read_text(), Path(folder) / "store"))
