"""Commands about the store and turnlog itself: what can be typed after each."""

from __future__ import annotations

import argparse
from typing import Any

from turnlog.cli.arguments import add_command, add_json, count, seconds


def add_sql(commands: Any) -> None:
    command = add_command(
        commands,
        "sql",
        "ask in SQL: run one statement, or open a prompt",
        epilog="""\
examples:
  turnlog sql                         a prompt; .tables lists what there is
  turnlog sql "from failures where tool = 'run_tests'"
  turnlog sql --csv "from token_usage" > tokens.csv
  turnlog sql < question.sql

Statements only read: no writes, no files, no settings.
""",
    )
    command.add_argument("statement", nargs="?", metavar="STATEMENT", help="one reading statement")
    command.add_argument("-n", "--limit", type=count, default=1000, metavar="N", help="at most N rows (default: 1000; 0: all)")
    command.add_argument("--timeout", type=seconds, default=30.0, metavar="SECONDS", help="stop after so long (default: 30)")
    formats = command.add_mutually_exclusive_group()
    add_json(formats)
    formats.add_argument("--csv", action="store_true", help="comma-separated values with a header")


def add_frameworks(commands: Any) -> None:
    command = add_command(
        commands,
        "frameworks",
        "list what is recorded without a change to the program",
        epilog="""\
examples:
  turnlog frameworks --check   whether what is installed here can be recorded
""",
    )
    command.add_argument("--check", action="store_true", help="hook what is installed here, and say what could not be")
    add_json(command)


def add_doctor(commands: Any) -> None:
    command = add_command(
        commands,
        "doctor",
        "show where the data is, what was lost, what is recorded",
        epilog="""\
examples:
  turnlog doctor
  turnlog doctor --json > report.json
""",
    )
    command.add_argument("--json", action="store_true", help="one JSON object")


def add_path(commands: Any) -> None:
    command = add_command(
        commands,
        "path",
        "print where the data is",
        epilog="""\
examples:
  du -sh "$(turnlog path)"
  turnlog path database
""",
    )
    command.add_argument(
        "what", nargs="?", choices=("directory", "database", "journal"), default="directory", help="default: directory"
    )


def add_completion(commands: Any) -> None:
    command = add_command(
        commands,
        "completion",
        "print what makes a shell complete commands, options and session ids",
        epilog="""\
examples:
  source <(turnlog completion bash)                now; or this in ~/.bashrc
  turnlog completion zsh > "${fpath[1]}/_turnlog"  for all of your next shells
  turnlog completion fish | source                 now; or in config.fish
""",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell is to complete")
    command.add_argument("--ids", action="store_true", help=argparse.SUPPRESS)
