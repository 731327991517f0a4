"""Commands that go on with sessions, end them or take them elsewhere: what can be typed after each."""

from __future__ import annotations

from typing import Any

from turnlog.cli.arguments import add_command, age, endpoint, given, header, moment, positive, seconds


def add_resume(commands: Any) -> None:
    command = add_command(
        commands,
        "resume",
        "print what a fresh process, model or person needs to go on with a session",
        epilog="""\
examples:
  turnlog resume 4f1c               goal, where it stopped, facts, decisions,
                                    open work, failures, files
  turnlog resume 4f1c --tokens 500  in fewer words, for a model's prompt
  turnlog resume 4f1c --json        the typed state, as turnlog.resume() does

It only reads. A program goes on with the session by turnlog.resume(ID), or
unchanged: turnlog run --resume ID python app.py
""",
    )
    command.add_argument("session", type=given, metavar="SESSION", help="a unique beginning of the session's id")
    command.add_argument(
        "--tokens",
        type=positive,
        default=2000,
        metavar="N",
        help="at most N tokens, estimated high, from 200 on (default: 2000)",
    )
    command.add_argument("--json", action="store_true", help="one JSON object")


def add_lifecycle(commands: Any) -> None:
    for name, brief in {
        "pause": "say that a session waits for somebody",
        "unpause": "say that a paused or closed session goes on",
        "close": "say that a session is finished",
        "archive": "set a closed session aside, for gc to move into files",
        "pin": "keep a session whatever gc is told",
        "unpin": "let gc take a pinned session again",
    }.items():
        command = add_command(
            commands,
            name,
            brief,
            epilog=f"""\
examples:
  turnlog {name} 4f1c{" --reason approval" if name == "pause" else ""}

A commit records it. No program is stopped or started; a turn makes a session
active.
""",
        )
        command.add_argument("session", type=given, metavar="SESSION", help="a unique beginning of the session's id")
        if name == "pause":
            command.add_argument(
                "--reason", default="human_input", metavar="WHY", help="what it waits for (default: human_input)"
            )


def add_gc(commands: Any) -> None:
    command = add_command(
        commands,
        "gc",
        "delete or archive old sessions, and give the room back",
        epilog="""\
examples:
  turnlog gc --older-than 30d --dry-run        what would go
  turnlog gc --older-than 30d --keep-durable   messages, results and captured
                                               content go; decisions, facts
                                               and files stay
  turnlog gc --older-than 26w --yes            without asking, for scripts

Archived sessions go to Parquet files first. Pinned sessions and those with
calls in flight are left alone.
""",
    )
    command.add_argument(
        "--older-than", type=age, required=True, metavar="AGE", help="without work for this long: 12h, 30d, 26w"
    )
    command.add_argument("--dry-run", action="store_true", help="only say what would go")
    command.add_argument("--keep-durable", action="store_true", help="take only what is transient; durable entries stay")
    command.add_argument("--yes", action="store_true", help="do not ask")


def add_export(commands: Any) -> None:
    command = add_command(
        commands,
        "export",
        "write sessions to Parquet or OTLP JSON, or send them to an OTLP endpoint",
        epilog="""\
examples:
  turnlog export > session.jsonl
                         the newest session, as the collector's file exporter
                         writes it
  turnlog export --since 7d --format parquet -o week
                         one Parquet file per relation, in the folder week
  turnlog export --all --to http://127.0.0.1:4318
                         all of the history to a collector or another turnlog
  turnlog export 4f1c --to https://host/otlp --header "Authorization: Bearer T"

A span belongs to the time when it ended. Spans that have not ended are no
OTLP, nor is captured content: Parquet has both. What goes out is what the
store holds, without the secrets that were never written there.
""",
    )
    command.add_argument(
        "sessions",
        nargs="*",
        type=given,
        metavar="SESSION",
        help="a unique beginning of its id (default: the newest; with a time, all)",
    )
    command.add_argument("--all", action="store_true", help="every session")
    command.add_argument(
        "--since", type=moment, metavar="TIME", help="from then on: 2026-11-01, 2026-11-01T09:30, 45m, 12h, 30d"
    )
    command.add_argument("--until", type=moment, metavar="TIME", help="before then")
    command.add_argument("--format", choices=("parquet", "otlp-json"), default="", help="of files (default: otlp-json)")
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "-o", "--output", default="-", metavar="PATH", help="a file, or a folder of Parquet files (default: the output)"
    )
    where.add_argument("--to", type=endpoint, metavar="URL", help="an OTLP/HTTP endpoint: http://127.0.0.1:4318")
    command.add_argument(
        "--header", type=header, action="append", default=[], metavar="LINE", help='sent along: "Name: value"; may be repeated'
    )
    command.add_argument(
        "--patience", type=seconds, metavar="SECONDS", help="try for so long while it is full or away (default: 60)"
    )
    command.add_argument("--json", action="store_true", help="what was done, as one JSON object")


def add_bundle(commands: Any) -> None:
    command = add_command(
        commands,
        "bundle",
        "write sessions to one file, for another machine",
        epilog="""\
examples:
  turnlog bundle -o s.turnlog            the newest session
  turnlog bundle 4f1c ticket-42 --previous -o two.turnlog
                                         two, and those that they continue
  turnlog bundle -o - | ssh host turnlog unbundle -

The file is a ZIP of Parquet files: spans with what is unfinished, entries,
contexts, captured content. What goes into it is what the store holds, without
the secrets that were never written there.
""",
    )
    command.add_argument(
        "sessions", nargs="*", type=given, metavar="SESSION", help="a unique beginning of its id (default: the newest)"
    )
    command.add_argument(
        "-o", "--output", default="", metavar="FILE", help="where to write it, - for the output (default: ID.turnlog here)"
    )
    command.add_argument("--previous", action="store_true", help="and the sessions that they continue")
    command.add_argument("--json", action="store_true", help="what was written, as one JSON object")


def add_unbundle(commands: Any) -> None:
    command = add_command(
        commands,
        "unbundle",
        "load sessions that were bundled, here or on another machine",
        epilog="""\
examples:
  turnlog unbundle s.turnlog

Only what is new is added, however often and to whatever the store has of the
session. The state afterwards is compared with the state that was bundled. A
bundle is as trustworthy as whoever gave it to you.
""",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a bundle, or - for the standard input")
    command.add_argument("--json", action="store_true", help="one JSON object")
