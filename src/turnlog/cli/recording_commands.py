"""Commands that record: what can be typed after each."""

from __future__ import annotations

from typing import Any

from turnlog.cli.arguments import add_command, add_json, given, port, positive

_FORMATS = ("otlp", "otlp-proto", "jaeger", "phoenix", "langfuse", "claude-code", "codex")


def add_demo(commands: Any) -> None:
    add_command(
        commands,
        "demo",
        "record an offline agent at work and ask about it",
        epilog="""\
examples:
  turnlog demo                        it stays in your store, as a session
  TURNLOG_DIR=/tmp/demo turnlog demo  somewhere else
""",
    )


def add_run(commands: Any) -> None:
    command = add_command(
        commands,
        "run",
        "run a program and record it, without changing it",
        usage="turnlog run [--session ID | --resume SESSION [--take-over]]\n"
        "                   [--dir DIR] [--capture LEVEL]\n"
        "                   [--replay SESSION [--from-turn N]\n"
        "                    [--tools live | --model live]]\n"
        "                   [--] COMMAND ...",
        epilog="""\
examples:
  turnlog run python app.py --port 8000
  turnlog run app.py                   with the Python of turnlog itself
  turnlog run -m package.module
  turnlog run --session ticket-42 -- ./agent.sh
  turnlog run --resume ticket-42 app.py
                                       go on with a session, as its one writer
  turnlog run --capture full python app.py
                                       keep what a replay needs
  turnlog run --replay ticket-42 python app.py
                                       again, without network and side effects
  turnlog run --replay ticket-42 --from-turn 4 -- python app.py

Exit code, signals, input and output are the program's own. Python programs
that it starts are recorded too. A replay is a session of its own, named after
the one that it repeats; it stops where the program asks for what was not
recorded.
""",
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "-s",
        "--session",
        type=given,
        metavar="ID",
        help="the session of all that is recorded, also where a framework names its own; turnlog.session(...) comes first",
    )
    which.add_argument("--resume", type=given, metavar="SESSION", help="go on with this session, as its one writer")
    command.add_argument(
        "--take-over", action="store_true", help="resume it also while another process writes it, which is then fenced"
    )
    command.add_argument("--dir", type=given, metavar="DIR", help="record into this directory")
    command.add_argument("--capture", choices=("none", "summary", "full"), help="how much content is kept (default: summary)")
    command.add_argument(
        "--replay",
        type=given,
        metavar="SESSION",
        help="give back what models answered and tools returned in this session; it needs to be captured in full",
    )
    command.add_argument("--from-turn", type=positive, default=0, metavar="N", help="go live from this turn on")
    live = command.add_mutually_exclusive_group()
    live.add_argument("--tools", choices=("live",), help="run the tools, and give back only what models answered")
    live.add_argument("--model", choices=("live",), help="ask the models, and give back only what tools returned")


def add_import(commands: Any) -> None:
    command = add_command(
        commands,
        "import",
        "load traces, and the transcripts of coding agents, from files",
        epilog="""\
examples:
  turnlog import --claude-code            all sessions that Claude Code keeps
  turnlog import --codex                  the same of Codex
  turnlog import traces.jsonl spans.pb.gz
                                          of the collector's file exporter
  turnlog import trace.json               from Jaeger, Phoenix or Langfuse
  zstd -dc old.jsonl.zst | turnlog import -

What a file holds decides how it is read, not its name. Importing again adds
only what is new; an import that was interrupted goes on when it is called
again.
""",
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a file, a folder, or - for the standard input")
    command.add_argument(
        "--format",
        default="",
        choices=_FORMATS,
        metavar="FORMAT",
        help=f"read all files as this: {', '.join(_FORMATS)}",
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


def add_serve(commands: Any) -> None:
    command = add_command(
        commands,
        "serve",
        "receive traces over OTLP/HTTP, from any SDK, language or collector",
        epilog="""\
examples:
  turnlog serve
  turnlog serve --host 0.0.0.0 --token-file token --allow-host turnlog.internal

It runs until it is interrupted. A batch is acknowledged once it is in the
journal.
""",
    )
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    command.add_argument("--port", type=port, default=4338, metavar="N", help="default: 4338; 0 takes a free one")
    command.add_argument(
        "--token-file", type=given, metavar="FILE", help="the bearer token that senders show; needed beyond this machine"
    )
    command.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name that senders know it by; may be repeated"
    )
    command.add_argument("--json", action="store_true", help="one JSON object when it listens, one when it stops")


def add_ui(commands: Any) -> None:
    command = add_command(
        commands,
        "ui",
        "serve the page: see what an agent did, changed and forgot, in a browser",
        epilog="""\
examples:
  turnlog ui
  turnlog ui --port 0 --no-open

Only this machine can reach it, with the token in the address that it prints.
It needs: pip install 'turnlog[web]'
""",
    )
    command.add_argument("--port", type=port, default=4340, metavar="N", help="default: 4340; 0 takes a free one")
    command.add_argument("--no-open", dest="open", action="store_false", help="do not open a browser")
    command.add_argument("--json", action="store_true", help="one JSON object when it listens")


def add_mcp(commands: Any) -> None:
    command = add_command(
        commands,
        "mcp",
        "let agents read their state, and record what must last, over MCP",
        epilog="""\
examples:
  turnlog mcp install    what to put into Claude Code, Claude Desktop, Cursor,
                         VS Code, Codex, and where
  turnlog mcp            as a client starts it: over standard input and output
  turnlog mcp --http     over HTTP on this machine, with a token

A question that names no session is about that of --session, else of
TURNLOG_SESSION, else of the recorded agent that asks (its client sends the
trace along), else about the newest.
""",
    )
    command.add_argument("action", nargs="?", choices=("install",), help="print the configuration of common clients")
    command.add_argument(
        "-s", "--session", type=given, metavar="ID", help="the session of questions that name none; a unique beginning will do"
    )
    command.add_argument("--http", action="store_true", help="serve streamable HTTP on 127.0.0.1 instead")
    command.add_argument("--port", type=port, metavar="N", help="with --http: default 4339; 0 takes a free one")
    command.add_argument(
        "--token-file", type=given, metavar="FILE", help="with --http: the bearer token; without it one is made and shown once"
    )
    add_json(command)
