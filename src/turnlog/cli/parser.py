"""What can be typed: every command with its arguments, help and examples. Nothing here runs a command or imports one."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from turnlog import __version__

_AGES = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
# Not where something is deleted: m could be meant as months.
_SHORT_AGES = {"s": 1.0, "m": 60.0}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
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
        _demo,
        _run,
        _import,
        _serve,
        _ui,
        _mcp,
        _sessions,
        _log,
        _watch,
        _show,
        _diff,
        _files,
        _blame,
        _state,
        _context,
        _taint,
        _why,
        _patterns,
        _resume,
        _lifecycle,
        _gc,
        _export,
        _bundle,
        _unbundle,
        _sql,
        _frameworks,
        _doctor,
        _path,
        _completion,
    )
    for add in adders:
        add(commands)
    return parser


def _demo(commands: Any) -> None:
    _command(commands, "demo", "record an offline agent at work and ask about it")


def _run(commands: Any) -> None:
    command = _command(
        commands,
        "run",
        "run a program and record it, without changing it",
        usage="turnlog run [--session ID | --resume SESSION [--take-over]] [--dir DIR] [--capture LEVEL]\n"
        "                   [--replay SESSION [--from-turn N] [--tools live | --model live]] [--] COMMAND ...",
        epilog="""\
examples:
  turnlog run python app.py --port 8000
  turnlog run app.py                       with the Python that turnlog is installed in
  turnlog run -m package.module
  turnlog run --session ticket-42 -- ./agent.sh
  turnlog run --resume ticket-42 app.py    go on with a session that no other process writes
  turnlog run --capture full python app.py              keep what a replay needs
  turnlog run --replay ticket-42 python app.py          again, without the network and without side effects
  turnlog run --replay ticket-42 --from-turn 4 -- python app.py

Exit code, signals, input and output are the program's own. Python programs that it starts are recorded too. A replay is a
session of its own, named after the one that it repeats; it stops where the program asks for what was not recorded.
""",
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "-s",
        "--session",
        metavar="ID",
        help="the session of all that is recorded, also where a framework names its own; turnlog.session(...) comes first",
    )
    which.add_argument("--resume", default="", metavar="SESSION", help="go on with this session, as its one writer")
    command.add_argument(
        "--take-over", action="store_true", help="resume it also while another process writes it, which is then fenced"
    )
    command.add_argument("--dir", metavar="DIR", help="record into this directory")
    command.add_argument("--capture", choices=("none", "summary", "full"), help="how much content is kept (default: summary)")
    command.add_argument(
        "--replay",
        metavar="SESSION",
        help="give back what models answered and tools returned in this session; it needs to be captured in full",
    )
    command.add_argument("--from-turn", type=_positive, default=0, metavar="N", help="go live from this turn on")
    live = command.add_mutually_exclusive_group()
    live.add_argument("--tools", choices=("live",), help="run the tools, and give back only what models answered")
    live.add_argument("--model", choices=("live",), help="ask the models, and give back only what tools returned")
    command.set_defaults(refuse=command.error)


def _import(commands: Any) -> None:
    command = _command(
        commands,
        "import",
        "load traces, and the transcripts of coding agents, from files",
        epilog="""\
examples:
  turnlog import --claude-code               all that Claude Code keeps of your sessions
  turnlog import --codex                     the same of Codex
  turnlog import traces.jsonl spans.pb.gz    what the collector's file exporter wrote
  turnlog import trace.json                  a trace from Jaeger, Phoenix or Langfuse
  zstd -dc old.jsonl.zst | turnlog import -

What a file holds decides how it is read, not its name. Importing again adds only what is new; an import that was
interrupted goes on when it is called again.
""",
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a file, a folder, or - for the standard input")
    command.add_argument(
        "--format",
        default="",
        choices=("otlp", "otlp-proto", "jaeger", "phoenix", "langfuse", "claude-code", "codex"),
        help="read all files as this",
    )
    command.add_argument(
        "--claude-code",
        action="store_true",
        help="the transcripts below ~/.claude/projects, or projects in CLAUDE_CONFIG_DIR",
    )
    command.add_argument(
        "--codex", action="store_true", help="the transcripts below ~/.codex/sessions, or sessions in CODEX_HOME"
    )
    command.add_argument("--json", action="store_true", help="one JSON object")
    command.set_defaults(refuse=command.error)


def _serve(commands: Any) -> None:
    command = _command(
        commands,
        "serve",
        "receive traces over OTLP/HTTP, from any SDK, language or collector",
        epilog="""\
examples:
  turnlog serve
  turnlog serve --host 0.0.0.0 --token-file token --allow-host turnlog.internal

It runs until it is interrupted. A batch is acknowledged once it is in the journal.
""",
    )
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    command.add_argument("--port", type=_port, default=4338, metavar="N", help="default: 4338; 0 takes a free one")
    command.add_argument(
        "--token-file", default="", metavar="FILE", help="the bearer token that senders show; needed beyond this machine"
    )
    command.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name that senders know it by; may be repeated"
    )
    command.add_argument("--json", action="store_true", help="one JSON object when it listens, one when it stops")


def _mcp(commands: Any) -> None:
    command = _command(
        commands,
        "mcp",
        "let agents read their state, and record what must last, over MCP",
        epilog="""\
examples:
  turnlog mcp install              what to put into Claude Code, Claude Desktop, Cursor, VS Code, Codex, and where
  turnlog mcp                      as a client starts it: over standard input and output
  turnlog mcp --http               over HTTP on this machine, with a token

A question that names no session is about that of --session, else of TURNLOG_SESSION, else of the recorded agent that asks
(its client sends the trace along), else about the newest.
""",
    )
    command.add_argument("action", nargs="?", choices=("install",), help="print the configuration of common clients")
    command.add_argument(
        "-s", "--session", default="", metavar="ID", help="the session of questions that name none; a unique beginning will do"
    )
    command.add_argument("--http", action="store_true", help="serve streamable HTTP on 127.0.0.1 instead")
    command.add_argument("--port", type=_port, metavar="N", help="with --http: default 4339; 0 takes a free one")
    command.add_argument(
        "--token-file", default="", metavar="FILE", help="with --http: the bearer token; without it one is made and shown once"
    )
    _json(command)
    command.set_defaults(refuse=command.error)


def _ui(commands: Any) -> None:
    command = _command(
        commands,
        "ui",
        "serve the page: see what an agent did, changed and forgot, in a browser",
        epilog="""\
examples:
  turnlog ui
  turnlog ui --port 0 --no-open

Only this machine can reach it, with the token in the address that it prints. It needs: pip install 'turnlog[web]'
""",
    )
    command.add_argument("--port", type=_port, default=4340, metavar="N", help="default: 4340; 0 takes a free one")
    command.add_argument("--no-open", dest="open", action="store_false", help="do not open a browser")
    command.add_argument("--json", action="store_true", help="one JSON object when it listens")


def _sessions(commands: Any) -> None:
    command = _command(commands, "sessions", "list the recorded sessions, newest first")
    command.add_argument("-n", "--limit", type=_positive, default=20, metavar="N", help="at most N sessions (default: 20)")
    _json(command)


def _log(commands: Any) -> None:
    command = _command(
        commands,
        "log",
        "show what the agent did, newest first",
        epilog="""\
examples:
  turnlog log -n 5
  turnlog log --turn 3
  turnlog log --tool write_file --failed
  turnlog log --graph                  which turn goes on from which: retries, forks, sub-agents
  turnlog log --evicted                what left the model's context
  turnlog log --json | jq .delta
""",
    )
    _session(command)
    command.add_argument("-n", "--limit", type=_positive, default=0, metavar="N", help="at most N commits (default: 20)")
    command.add_argument("--turn", type=_positive, default=0, metavar="N", help="only this turn")
    command.add_argument("--tool", default="", metavar="NAME", help="only calls of this tool")
    only = command.add_mutually_exclusive_group()
    only.add_argument("--failed", action="store_true", help="only what did not end well")
    only.add_argument("--evicted", action="store_true", help="only what left the model's context, key by key, and why")
    command.add_argument("--graph", action="store_true", help="draw which turn goes on from which, and what ran inside of what")
    command.add_argument("--checkpoints", action="store_true", help="also each step at which the framework saved its state")
    _json(command)
    command.set_defaults(refuse=command.error)


def _watch(commands: Any) -> None:
    command = _command(
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
        "-s", "--session", default="", metavar="ID", help="a unique beginning of the session's id (default: all sessions)"
    )
    _json(command)


def _show(commands: Any) -> None:
    command = _command(commands, "show", "show everything about one commit")
    command.add_argument(
        "commit", nargs="?", default="", metavar="COMMIT", help="a unique beginning of its id (default: the newest)"
    )
    _session(command)
    _json(command)


def _diff(commands: Any) -> None:
    command = _command(
        commands,
        "diff",
        "show what changed between two turns, and why",
        epilog="""\
examples:
  turnlog diff                 the last turn against the one before
  turnlog diff 4               turn 4 against turn 3
  turnlog diff 4 5             from turn 4 to turn 5; turn 0 is the empty state
  turnlog diff 4 --retry       turn 4, which was run again, step by step against its first attempt
  turnlog diff 0199f2 0199f4   two runs of the same task, to the first step at which they part, and why
""",
    )
    command.add_argument(
        "first", nargs="?", type=_side, metavar="TURN", help="a turn's number (default: the last), or a session"
    )
    command.add_argument("second", nargs="?", type=_side, metavar="TURN", help="with it: from the first to this one")
    command.set_defaults(refuse=command.error)
    command.add_argument(
        "--retry",
        nargs="?",
        type=_positive,
        const=0,
        metavar="N",
        help="compare attempts of the turn: with the original, or with attempt N (default turn: the last retry)",
    )
    _session(command)
    _json(command)


def _files(commands: Any) -> None:
    command = _command(commands, "files", "list the files that the agent modified")
    command.add_argument("--last", type=_positive, default=0, metavar="N", help="only in the last N turns (default: all turns)")
    command.add_argument("--all", action="store_true", help="the whole working set: also what was only read, and data sources")
    _session(command)
    _json(command)


def _blame(commands: Any) -> None:
    command = _command(
        commands,
        "blame",
        "show which session, turn, tool call and decision last wrote a file, and why",
        epilog="""\
examples:
  turnlog blame src/parser.py
  turnlog blame --all parser.py      every change, also under the names that it had before
""",
    )
    command.add_argument("path", metavar="PATH", help="a file, or the end of its path where that is unique")
    command.add_argument("--all", action="store_true", help="all changes, newest first")
    _json(command)


def _state(commands: Any) -> None:
    command = _command(commands, "state", "show decisions, facts, files, open work and last failures")
    command.add_argument("--turn", type=_positive, default=0, metavar="N", help="as it was after this turn (default: now)")
    command.add_argument("--evicted", action="store_true", help="what the model could see once and no longer can, and why")
    _session(command)
    _json(command)


def _context(commands: Any) -> None:
    command = _command(
        commands,
        "context",
        "show what the model could see",
        epilog="""\
examples:
  turnlog context                    what the last model call of the session was given
  turnlog context --turn 3           the same, of turn 3
  turnlog state --evicted            what it no longer sees
""",
    )
    command.add_argument(
        "--turn", type=_positive, default=0, metavar="N", help="of this turn's last model call (default: the last)"
    )
    _session(command)
    _json(command)


def _taint(commands: Any) -> None:
    command = _command(
        commands,
        "taint",
        "show what is built on a result",
        epilog="""\
examples:
  turnlog taint                         the results from outside that nobody has verified
  turnlog taint 4f1c2a9                 what was decided and done with this result in mind
  turnlog taint https://example.com/    the same, by address or by content hash
""",
    )
    command.add_argument(
        "source",
        nargs="?",
        default="",
        metavar="SOURCE",
        help="a beginning of a commit's id, a content hash or an address (default: list what is unverified)",
    )
    command.add_argument("-n", "--limit", type=_positive, default=0, metavar="N", help="at most N commits (default: 40)")
    _session(command)
    _json(command)


def _why(commands: Any) -> None:
    command = _command(
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
        "commit", nargs="?", default="", metavar="COMMIT", help="a unique beginning of its id (default: the newest)"
    )
    command.add_argument("-n", "--limit", type=_positive, default=0, metavar="N", help="the last N messages (default: 20)")
    _session(command)
    command.add_argument("--json", action="store_true", help="one JSON object")


def _patterns(commands: Any) -> None:
    command = _command(
        commands,
        "patterns",
        "show what repeats over all sessions: sequences of tools, failing inputs, loops, costs, reversed decisions",
        epilog="""\
examples:
  turnlog patterns -n 5
  turnlog sql "from loops where is_going_on = 1"
""",
    )
    command.add_argument("-n", "--limit", type=_positive, default=10, metavar="N", help="at most N of each kind (default: 10)")
    command.add_argument("--json", action="store_true", help="one JSON object")


def _resume(commands: Any) -> None:
    command = _command(
        commands,
        "resume",
        "print what a fresh process, model or person needs to go on with a session",
        epilog="""\
examples:
  turnlog resume 4f1c                  goal, where it stopped, facts, decisions, open work, failures, files
  turnlog resume 4f1c --tokens 500     in fewer words, for a model's prompt
  turnlog resume 4f1c --json           the typed state, as turnlog.resume() gives it

It only reads. A program goes on with the session by turnlog.resume(ID), or unchanged: turnlog run --resume ID python app.py
""",
    )
    command.add_argument("session", metavar="SESSION", help="a unique beginning of the session's id")
    command.add_argument(
        "--tokens",
        type=_positive,
        default=2000,
        metavar="N",
        help="at most N tokens, estimated high, from 200 on (default: 2000)",
    )
    command.add_argument("--json", action="store_true", help="one JSON object")


def _lifecycle(commands: Any) -> None:
    for name, brief in {
        "pause": "say that a session waits for somebody",
        "unpause": "say that a paused or closed session goes on",
        "close": "say that a session is finished",
        "archive": "set a closed session aside, for gc to move into files",
        "pin": "keep a session whatever gc is told",
        "unpin": "let gc take a pinned session again",
    }.items():
        command = _command(
            commands,
            name,
            brief,
            epilog="A commit records it. No program is stopped or started; a turn makes a session active.",
        )
        command.add_argument("session", metavar="SESSION", help="a unique beginning of the session's id")
        if name == "pause":
            command.add_argument(
                "--reason", default="human_input", metavar="WHY", help="what it waits for (default: human_input)"
            )


def _gc(commands: Any) -> None:
    command = _command(
        commands,
        "gc",
        "delete or archive old sessions, and give the room back",
        epilog="""\
examples:
  turnlog gc --older-than 30d --dry-run        what would go
  turnlog gc --older-than 30d --keep-durable   messages, results and captured content go; decisions, facts and files stay
  turnlog gc --older-than 26w --yes            without asking, for scripts

Archived sessions go to Parquet files first. Pinned sessions and those with calls in flight are left alone.
""",
    )
    command.add_argument(
        "--older-than", type=_age, required=True, metavar="AGE", help="without work for this long: 12h, 30d, 26w"
    )
    command.add_argument("--dry-run", action="store_true", help="only say what would go")
    command.add_argument("--keep-durable", action="store_true", help="take only what is transient; durable entries stay")
    command.add_argument("--yes", action="store_true", help="do not ask")


def _export(commands: Any) -> None:
    command = _command(
        commands,
        "export",
        "write sessions to Parquet or OTLP JSON, or send them to an OTLP endpoint",
        epilog="""\
examples:
  turnlog export > session.jsonl                           the newest session, as the collector's file exporter writes it
  turnlog export --since 7d --format parquet -o week       one Parquet file per relation, in the folder week
  turnlog export --all --to http://127.0.0.1:4318          all of the history to a collector, or to another turnlog
  turnlog export 4f1c --to https://host/otlp --header "Authorization: Bearer TOKEN"

A span belongs to the time when it ended. Spans that have not ended are no OTLP, nor is captured content: Parquet has both.
What goes out is what the store holds, without the secrets that were never written there.
""",
    )
    command.add_argument(
        "sessions",
        nargs="*",
        metavar="SESSION",
        help="a unique beginning of its id (default: the newest; with a time, all)",
    )
    command.add_argument("--all", action="store_true", help="every session")
    command.add_argument(
        "--since", type=_time, metavar="TIME", help="from then on: 2026-11-01, 2026-11-01T09:30, 45m, 12h, 30d"
    )
    command.add_argument("--until", type=_time, metavar="TIME", help="before then")
    command.add_argument("--format", choices=("parquet", "otlp-json"), default="", help="of files (default: otlp-json)")
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "-o", "--output", default="-", metavar="PATH", help="a file, or a folder of Parquet files (default: the output)"
    )
    where.add_argument("--to", type=_endpoint, metavar="URL", help="an OTLP/HTTP endpoint: http://127.0.0.1:4318")
    command.add_argument(
        "--header", type=_header, action="append", default=[], metavar="LINE", help='sent along: "Name: value"; may be repeated'
    )
    command.add_argument(
        "--patience", type=_seconds, metavar="SECONDS", help="try for so long while it is full or away (default: 60)"
    )
    command.add_argument("--json", action="store_true", help="what was done, as one JSON object")
    command.set_defaults(refuse=command.error)


def _bundle(commands: Any) -> None:
    command = _command(
        commands,
        "bundle",
        "write sessions to one file, for another machine",
        epilog="""\
examples:
  turnlog bundle -o s.turnlog                              the newest session
  turnlog bundle 4f1c ticket-42 --previous -o two.turnlog  two sessions, and those that they continue
  turnlog bundle -o - | ssh host turnlog unbundle -

The file is a ZIP of Parquet files: spans with what is unfinished, entries, contexts, captured content. What goes into it is
what the store holds, without the secrets that were never written there.
""",
    )
    command.add_argument("sessions", nargs="*", metavar="SESSION", help="a unique beginning of its id (default: the newest)")
    command.add_argument(
        "-o", "--output", default="", metavar="FILE", help="where to write it, - for the output (default: ID.turnlog here)"
    )
    command.add_argument("--previous", action="store_true", help="and the sessions that they continue")
    command.add_argument("--json", action="store_true", help="what was written, as one JSON object")
    command.set_defaults(refuse=command.error)


def _unbundle(commands: Any) -> None:
    command = _command(
        commands,
        "unbundle",
        "load sessions that were bundled, here or on another machine",
        epilog="""\
examples:
  turnlog unbundle s.turnlog

Only what is new is added, however often and to whatever the store has of the session. The state afterwards is compared
with the state that was bundled. A bundle is as trustworthy as whoever gave it to you.
""",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a bundle, or - for the standard input")
    command.add_argument("--json", action="store_true", help="one JSON object")


def _sql(commands: Any) -> None:
    command = _command(
        commands,
        "sql",
        "ask in SQL: run one statement, or open a prompt",
        epilog="""\
examples:
  turnlog sql                                  opens a prompt; .tables lists what there is to ask
  turnlog sql "from failures where tool = 'run_tests'"
  turnlog sql --csv "from token_usage" > tokens.csv
  turnlog sql < question.sql

Statements only read: no writes, no files, no settings.
""",
    )
    command.add_argument("statement", nargs="?", metavar="STATEMENT", help="one reading statement")
    command.add_argument("-n", "--limit", type=_count, default=1000, metavar="N", help="at most N rows (default: 1000; 0: all)")
    command.add_argument("--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="stop after so long (default: 30)")
    formats = command.add_mutually_exclusive_group()
    _json(formats)
    formats.add_argument("--csv", action="store_true", help="comma-separated values with a header")


def _frameworks(commands: Any) -> None:
    command = _command(commands, "frameworks", "list what is recorded without a change to the program")
    command.add_argument("--check", action="store_true", help="hook what is installed here, and say what could not be")
    _json(command)


def _doctor(commands: Any) -> None:
    command = _command(commands, "doctor", "show where the data is, what was lost, what is recorded")
    command.add_argument("--json", action="store_true", help="one JSON object")


def _path(commands: Any) -> None:
    command = _command(commands, "path", "print where the data is")
    command.add_argument(
        "what", nargs="?", choices=("directory", "database", "journal"), default="directory", help="default: directory"
    )


def _completion(commands: Any) -> None:
    command = _command(
        commands,
        "completion",
        "print what makes a shell complete commands, options and session ids",
        epilog="""\
examples:
  source <(turnlog completion bash)                              now; or this line in ~/.bashrc
  turnlog completion zsh > "${fpath[1]}/_turnlog"                for all of your next shells
  turnlog completion fish > ~/.config/fish/completions/turnlog.fish
""",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell is to complete")
    command.add_argument("--ids", action="store_true", help=argparse.SUPPRESS)


def _command(commands: Any, name: str, brief: str, **more: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=brief,
        description=brief[0].upper() + brief[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )
    return parser


def _session(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-s", "--session", default="", metavar="ID", help="a unique beginning of the session's id (default: the newest)"
    )


def _json(command: Any) -> None:
    command.add_argument("--json", action="store_true", help="one JSON object per line")


def _positive(text: str) -> int:
    return _at_least(text, 1)


def _port(text: str) -> int:
    number = _at_least(text, 0)
    if number > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return number


def _side(text: str) -> int | str:
    """A turn's number, or the beginning of a session's id."""
    return _at_least(text, 0) if text.lstrip("-").isdigit() else text


def _count(text: str) -> int:
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not least <= number < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} on")
    return number


def _age(text: str, units: Mapping[str, float] = _AGES) -> float:
    """Seconds."""
    unit = units.get(text[-1:], 0.0)
    number = text[:-1]
    if not unit or not (number.isascii() and number.isdecimal()) or len(number) > 5:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age like 12h, 30d or 26w")
    return int(number) * unit


def _time(text: str) -> int:
    """Nanoseconds since 1970. A time without a zone is local, as all that is shown."""
    try:
        at = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        try:
            at = time.time() - _age(text, _AGES | _SHORT_AGES)
        except argparse.ArgumentTypeError:
            at = -1.0
    if not 0 <= at < 2**33:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time like 2026-11-01, 2026-11-01T09:30, 45m, 12h or 30d")
    return round(at * 1e6) * 1000


def _endpoint(text: str) -> str:
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL like http://127.0.0.1:4318")
    if parts.username is not None or parts.password is not None:
        raise argparse.ArgumentTypeError("a password in a URL is easily shown: use --header")
    return text


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not _HEADER_NAME.fullmatch(name) or not value.strip().isprintable() or not value.isascii():
        # Not repeated: it may hold a token.
        raise argparse.ArgumentTypeError('a header looks like "Name: value"')
    return name, value.strip()


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number
