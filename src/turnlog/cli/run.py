"""`turnlog run` and `turnlog demo`: start a program so that it is recorded.

The program replaces this process: its exit code, signals, input and output are its own. `bootstrap/sitecustomize.py` at the
front of PYTHONPATH does the rest inside it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from turnlog.cli.leasing import lease_environment
from turnlog.cli.render import complain
from turnlog.cli.replaying import replay_environment

_BOOTSTRAP = Path(__file__).resolve().parent.parent / "bootstrap"
_NOT_EXECUTABLE, _NOT_FOUND, _USAGE = 126, 127, 2


def run(options: argparse.Namespace) -> int:
    program: list[str] = options.program
    if not program:
        complain("run which program? For example: turnlog run python app.py")
        return _USAGE
    if program[0] in ("-m", "-c") or program[0].endswith(".py"):
        program = [sys.executable, *program]
    if Path(program[0]).name == "opentelemetry-instrument":
        # Its own sitecustomize comes first and leads to no other, so ours would silently never run.
        complain(
            "opentelemetry-instrument hides turnlog run. Instead: OTEL_TRACES_EXPORTER=turnlog opentelemetry-instrument ..."
        )
        return _USAGE
    environment = _environment(options)
    if options.replay and options.resume:
        options.refuse("a replay is a session of its own: --replay and --resume do not go together")
    if options.replay:
        environment |= replay_environment(options)
    elif options.from_turn or options.tools or options.model:
        options.refuse("--from-turn, --tools and --model go with --replay")
    if options.resume:
        environment |= lease_environment(options, program[0], environment)
    elif options.take_over:
        options.refuse("--take-over goes with --resume")
    # Python ignores these two; a program that inherits that would not die of a closed pipe as it does without us.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvpe(program[0], program, environment)  # noqa: S606 - the user's own command
    except FileNotFoundError:
        complain(f"command not found: {program[0]}")
        return _NOT_FOUND
    except OSError as error:
        complain(f"cannot run {program[0]}: {error.strerror}")
        return _NOT_EXECUTABLE


def _environment(options: argparse.Namespace) -> dict[str, str]:
    environment = dict(os.environ)
    path = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != str(_BOOTSTRAP)]
    environment["PYTHONPATH"] = os.pathsep.join([str(_BOOTSTRAP), *path])
    if options.session:
        environment["TURNLOG_SESSION"] = options.session
    if options.dir:
        environment["TURNLOG_DIR"] = str(Path(options.dir).expanduser().absolute())
    if options.capture:
        environment["TURNLOG_CAPTURE"] = options.capture
    return environment


def demo(_: argparse.Namespace) -> int:
    from turnlog.demo import agent

    return agent.main()
