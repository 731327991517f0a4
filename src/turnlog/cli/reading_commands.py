"""Commands that read sessions: what can be typed after each."""

from __future__ import annotations

from typing import Any

from turnlog.cli.arguments import add_command, add_json, add_session, given, positive, side


def add_sessions(commands: Any) -> None:
    command = add_command(
        commands,
        "sessions",
        "list the recorded sessions, newest first",
        epilog="""\
examples:
  turnlog sessions -n 100
  turnlog sessions --json | jq -r .session_id
""",
    )
    command.add_argument("-n", "--limit", type=positive, default=0, metavar="N", help="at most N sessions (default: 20)")
    add_json(command)


def add_log(commands: Any) -> None:
    command = add_command(
        commands,
        "log",
        "show what the agent did, newest first",
        epilog="""\
examples:
  turnlog log -n 5
  turnlog log --turn 3
  turnlog log --tool write_file --failed
  turnlog log --graph                  which turn goes on from which: retries,
                                       forks, sub-agents
  turnlog log --evicted                what left the model's context
  turnlog log --json | jq .delta
""",
    )
    add_session(command)
    command.add_argument("-n", "--limit", type=positive, default=0, metavar="N", help="at most N commits (default: 20)")
    command.add_argument("--turn", type=positive, default=0, metavar="N", help="only this turn")
    command.add_argument("--tool", type=given, metavar="NAME", help="only calls of this tool")
    only = command.add_mutually_exclusive_group()
    only.add_argument("--failed", action="store_true", help="only what did not end well")
    only.add_argument("--evicted", action="store_true", help="only what left the model's context, key by key, and why")
    command.add_argument("--graph", action="store_true", help="draw which turn goes on from which, and what ran inside of what")
    command.add_argument("--checkpoints", action="store_true", help="also each step at which the framework saved its state")
    add_json(command)


def add_watch(commands: Any) -> None:
    command = add_command(
        commands,
        "watch",
        "show what running agents do, as they do it",
        epilog="""\
examples:
  turnlog watch                                      every session
  turnlog watch -s 4f1c --json | jq -c .commit.tool

It shows what ends from now on, what runs for longer than a second, and calls
that go in circles, until Ctrl-C. It keeps nobody from writing.
""",
    )
    command.add_argument(
        "-s", "--session", type=given, metavar="ID", help="a unique beginning of the session's id (default: all sessions)"
    )
    add_json(command)


def add_show(commands: Any) -> None:
    command = add_command(
        commands,
        "show",
        "show everything about one commit",
        epilog="""\
examples:
  turnlog show                 the newest commit
  turnlog show 4f1c2a9         ids are in the first column of: turnlog log
""",
    )
    command.add_argument(
        "commit", nargs="?", type=given, metavar="COMMIT", help="a unique beginning of its id (default: the newest)"
    )
    add_session(command)
    add_json(command)


def add_diff(commands: Any) -> None:
    command = add_command(
        commands,
        "diff",
        "show what changed between two turns, and why",
        epilog="""\
examples:
  turnlog diff                 the last turn against the one before
  turnlog diff 4               turn 4 against turn 3
  turnlog diff 4 5             from turn 4 to turn 5; turn 0 is the empty state
  turnlog diff 4 --retry       turn 4, which was run again, step by step
                               against its first attempt
  turnlog diff 0199f2 0199f4   two runs of the same task, to the first step at
                               which they part, and why
""",
    )
    command.add_argument(
        "first", nargs="?", type=side, metavar="TURN", help="a turn's number (default: the last), or a session"
    )
    command.add_argument("second", nargs="?", type=side, metavar="TURN", help="with it: from the first to this one")
    command.add_argument(
        "--retry",
        nargs="?",
        type=positive,
        const=0,
        metavar="N",
        help="compare attempts of the turn: with the original, or with attempt N (default turn: the last retry)",
    )
    add_session(command)
    add_json(command)


def add_files(commands: Any) -> None:
    command = add_command(
        commands,
        "files",
        "list the files that the agent modified",
        epilog="""\
examples:
  turnlog files --last 5
  turnlog files --all          also what was only read, and data sources
""",
    )
    command.add_argument("--last", type=positive, default=0, metavar="N", help="only in the last N turns (default: all turns)")
    command.add_argument("--all", action="store_true", help="the whole working set: also what was only read, and data sources")
    add_session(command)
    add_json(command)


def add_blame(commands: Any) -> None:
    command = add_command(
        commands,
        "blame",
        "show which session, turn, tool call and decision last wrote a file, and why",
        epilog="""\
examples:
  turnlog blame src/parser.py
  turnlog blame --all parser.py      every change, also under earlier names
""",
    )
    command.add_argument("path", type=given, metavar="PATH", help="a file, or the end of its path where that is unique")
    command.add_argument("--all", action="store_true", help="all changes, newest first")
    add_json(command)


def add_state(commands: Any) -> None:
    command = add_command(
        commands,
        "state",
        "show decisions, facts, files, open work and last failures",
        epilog="""\
examples:
  turnlog state --turn 3       as it was after turn 3
  turnlog state --evicted      what the model no longer sees
""",
    )
    command.add_argument("--turn", type=positive, default=0, metavar="N", help="as it was after this turn (default: now)")
    command.add_argument("--evicted", action="store_true", help="what the model could see once and no longer can, and why")
    add_session(command)
    command.add_argument(
        "--json",
        action="store_true",
        help="the entries, one JSON object per line; resume --json has the open work and the failures too",
    )


def add_context(commands: Any) -> None:
    command = add_command(
        commands,
        "context",
        "show what the model could see",
        epilog="""\
examples:
  turnlog context                    what the last model call was given
  turnlog context --turn 3           the same, of turn 3
  turnlog state --evicted            what it no longer sees
""",
    )
    command.add_argument(
        "--turn", type=positive, default=0, metavar="N", help="of this turn's last model call (default: the last)"
    )
    add_session(command)
    add_json(command)


def add_taint(commands: Any) -> None:
    command = add_command(
        commands,
        "taint",
        "show what is built on a result",
        epilog="""\
examples:
  turnlog taint                       results from outside that nobody verified
  turnlog taint 4f1c2a9               what was decided and done with it in mind
  turnlog taint https://example.com/  the same, by address or by content hash
""",
    )
    command.add_argument(
        "source",
        nargs="?",
        type=given,
        metavar="SOURCE",
        help="a beginning of a commit's id, a content hash or an address (default: list what is unverified)",
    )
    command.add_argument("-n", "--limit", type=positive, default=0, metavar="N", help="at most N commits (default: 40)")
    add_session(command)
    add_json(command)


def add_why(commands: Any) -> None:
    command = add_command(
        commands,
        "why",
        "show who decided a commit, for which reason, and what was in the context",
        epilog="""\
examples:
  turnlog why                  of the newest commit
  turnlog why 4f1c2a9
""",
    )
    command.add_argument(
        "commit", nargs="?", type=given, metavar="COMMIT", help="a unique beginning of its id (default: the newest)"
    )
    command.add_argument("-n", "--limit", type=positive, default=0, metavar="N", help="the last N messages (default: 20)")
    add_session(command)
    command.add_argument("--json", action="store_true", help="one JSON object")


def add_patterns(commands: Any) -> None:
    command = add_command(
        commands,
        "patterns",
        "show what repeats over all sessions: sequences of tools, failing inputs, loops, costs, reversed decisions",
        epilog="""\
examples:
  turnlog patterns -n 5
  turnlog sql "from loops where is_going_on = 1"
""",
    )
    command.add_argument("-n", "--limit", type=positive, default=10, metavar="N", help="at most N of each kind (default: 10)")
    command.add_argument("--json", action="store_true", help="one JSON object")
