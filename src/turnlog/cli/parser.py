"""What can be typed: every command with its arguments, help and examples. Nothing here runs a command or imports one."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from turnlog import __version__
from turnlog.cli.keeping_commands import add_bundle, add_export, add_gc, add_lifecycle, add_resume, add_unbundle
from turnlog.cli.plain_commands import add_completion, add_doctor, add_frameworks, add_path, add_sql
from turnlog.cli.reading_commands import (
    add_blame,
    add_context,
    add_diff,
    add_files,
    add_log,
    add_patterns,
    add_sessions,
    add_show,
    add_state,
    add_taint,
    add_watch,
    add_why,
)
from turnlog.cli.recording_commands import add_demo, add_import, add_mcp, add_run, add_serve, add_ui

_EPILOG = """\
examples:
  turnlog demo                    watch an offline agent being recorded
  turnlog run python app.py       record a program without changing it
  turnlog watch                   what running agents do, as they do it
  turnlog log --failed            what went wrong in the newest session
  turnlog log --graph             which turn goes on from which
  turnlog diff 4 5                what changed from turn 4 to turn 5, and why
  turnlog files --last 5          which files it modified in the last 5 turns
  turnlog sql "from tool_stats"   ask in SQL

Commands read the newest session unless --session names another; any unique
beginning of its id will do. Data lies in the directory that `turnlog path`
prints; TURNLOG_DIR names another.
"""


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser._print_message(f"turnlog {__version__}\n", sys.stdout)
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="turnlog",
        description="git log and git diff for what an agent did.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    adders = (
        add_demo,
        add_run,
        add_import,
        add_serve,
        add_ui,
        add_mcp,
        add_sessions,
        add_log,
        add_watch,
        add_show,
        add_diff,
        add_files,
        add_blame,
        add_state,
        add_context,
        add_taint,
        add_why,
        add_patterns,
        add_resume,
        add_lifecycle,
        add_gc,
        add_export,
        add_bundle,
        add_unbundle,
        add_sql,
        add_frameworks,
        add_doctor,
        add_path,
        add_completion,
    )
    for add in adders:
        add(commands)
    return parser
