"""The `turnlog` command: parse, hand over to the command's module, and turn what goes wrong into one line and an exit code.

A command's module is imported only when it is called, so that `--help` and `path` load neither DuckDB nor OpenTelemetry.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import keyword
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from turnlog.cli.mistakes import refuse_first, refuse_undecodable, refuse_unknown
from turnlog.cli.parser import build_parser
from turnlog.cli.render import complain
from turnlog.errors import TurnlogError, is_interrupt, is_of_duckdb, unreadable

_MODULES = {
    "demo": "run",
    "run": "run",
    "import": "importing",
    "serve": "serve",
    "ui": "ui",
    "mcp": "mcp",
    "sessions": "log",
    "log": "log",
    "watch": "watch",
    "show": "log",
    "diff": "state",
    "files": "state",
    "blame": "blame",
    "state": "state",
    "context": "context",
    "taint": "provenance",
    "why": "provenance",
    "patterns": "patterns",
    "resume": "resume",
    "pause": "lifecycle",
    "unpause": "lifecycle",
    "close": "lifecycle",
    "archive": "lifecycle",
    "pin": "lifecycle",
    "unpin": "lifecycle",
    "gc": "retention",
    "export": "exporting",
    "bundle": "bundle",
    "unbundle": "bundle",
    "sql": "sql",
    "frameworks": "frameworks",
    "doctor": "doctor",
    "path": "path",
    "completion": "completion",
}
# Of `turnlog run`: what follows them is not the program yet.
_WITH_VALUE = ("-s", "--session", "--resume", "--dir", "--capture", "--replay", "--from-turn", "--tools", "--model")
_CANNOT, _USAGE, _INTERRUPTED, _PIPE_CLOSED = 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    _open_what_is_closed()
    words = list(sys.argv[1:] if arguments is None else arguments)
    own, program = _split_run(words)
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
        return _USAGE
    refuse_first(parser, words[0], _MODULES)
    options, unknown = parser.parse_known_args(own)
    options.program = program
    refuse_unknown(options, unknown)
    refuse_undecodable(options)
    with contextlib.suppress(AttributeError):
        # A terminal that cannot show a character gets a stand-in, not a traceback.
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    name = f"{options.command}_" if keyword.iskeyword(options.command) else options.command
    try:
        command = getattr(importlib.import_module(f"turnlog.cli.{_MODULES[options.command]}"), name)
        code = int(command(options))
        sys.stdout.flush()
        return code
    except TurnlogError as error:
        return _cannot(str(error))
    except BrokenPipeError:
        _write_no_more()
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        if error.errno == errno.ENOSPC:
            _write_no_more()
            return _cannot("there is no room left to write to: make some, or write elsewhere")
        return _cannot(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except Exception as error:
        if is_interrupt(error):
            return _INTERRUPTED
        if not is_of_duckdb(error):
            raise
        return _cannot(unreadable(error))


def _open_what_is_closed() -> None:
    """A stream that a shell has closed (`>&-`) is None, and the store would get its number: as git does, it leads nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open for as long as the process


def _split_run(words: list[str]) -> tuple[list[str], list[str]]:
    """The words for turnlog, and the program with its arguments, which argparse would take for its own."""
    if words[:1] != ["run"]:
        return words, []
    position = 1
    while position < len(words):
        word = words[position]
        if word == "--":
            return words[:position], words[position + 1 :]
        if not word.startswith("-") or word in ("-m", "-c"):
            break
        position += 2 if word in _WITH_VALUE else 1
    return words[:position], words[position:]


def _write_no_more() -> None:
    """The output is flushed once more, by the interpreter when it exits at the latest; that must not fail again."""
    with contextlib.suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cannot(message: str) -> int:
    complain(message)
    return _CANNOT
