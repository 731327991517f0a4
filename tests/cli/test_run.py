"""`turnlog run`: the program is recorded and otherwise as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from programs import commits, environment, run
from turnlog.settings import Settings

CLI = (sys.executable, "-m", "turnlog")
AGENT = """
import sys, turnlog

@turnlog.tool
def add(a, b):
    return a + b

with turnlog.turn(input="add"):
    print(add(1, 2), sys.argv[1:])
sys.exit(7)
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(AGENT)
    return path


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "app.py"],
        ["--", sys.executable, "app.py"],
        ["app.py"],
        ["-m", "app"],
        [sys.executable, "-m", "app"],
        ["sh", "-c", f'{sys.executable} app.py "$@"', "sh"],
    ],
)
def test_every_form_records_and_passes_arguments_and_exit_code(app: Path, settings: Settings, command: list[str]) -> None:
    words = ["--json", "-m", "--session", "a b", "--"]
    done = run(*CLI, "run", *command, *words, directory=settings.directory, cwd=app.parent, code=7)
    assert (done.stdout, done.stderr) == (f"3 {words}\n", "")
    assert commits(settings.directory) == [(1, "tool", "add", "ok")]


def test_options_before_the_program_are_for_turnlog(app: Path, unmade: Settings, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    done = run(
        *(*CLI, "run", "--session", "ticket", "--dir=elsewhere", "--capture", "none", "app.py"),
        directory=unmade.directory,
        cwd=tmp_path,
        code=7,
    )
    assert done.stderr == ""
    assert not unmade.directory.exists()
    shown = run(*CLI, "log", "--json", "-s", "ticket", directory=elsewhere)
    assert json.loads(shown.stdout)["input_summary"] == ""


def test_programs_that_the_program_starts_are_recorded_too(app: Path, settings: Settings) -> None:
    parent = app.with_name("parent.py")
    parent.write_text(f"import subprocess, sys; subprocess.run([sys.executable, {str(app)!r}])")
    run(*CLI, "run", "-s", "both", parent, directory=settings.directory)
    assert commits(settings.directory, "both") == [(1, "tool", "add", "ok")]


def test_input_passes_through(settings: Settings) -> None:
    done = run(*CLI, "run", "-c", "print(input()[::-1])", directory=settings.directory, stdin="abc\n")
    assert done.stdout == "cba\n"


def test_a_signal_reaches_the_program_itself(settings: Settings) -> None:
    code = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(33))\n"
        "print('up', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen(
        [*CLI, "run", sys.executable, "-c", code], env=environment(settings.directory), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 33


def test_a_program_that_dies_of_a_signal_dies_of_that_signal(settings: Settings) -> None:
    run(*CLI, "run", "sh", "-c", "kill -9 $$", directory=settings.directory, code=-signal.SIGKILL)


def test_a_closed_pipe_kills_a_program_as_it_does_without_us(settings: Settings) -> None:
    done = subprocess.run(
        ["sh", "-c", "\"$@\" run sh -c 'yes; echo $? >&2' | head -1", "sh", *CLI],
        env=environment(settings.directory),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("y\n", f"{128 + signal.SIGPIPE}\n")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["no-such-program"], 127, "turnlog: command not found: no-such-program\n"),
        (["/etc"], 126, "turnlog: cannot run /etc: Permission denied\n"),
        ([], 2, "turnlog: run which program? For example: turnlog run python app.py\n"),
    ],
)
def test_what_cannot_be_run_is_said(settings: Settings, words: list[str], code: int, says: str) -> None:
    done = run(*CLI, "run", *words, directory=settings.directory, code=code)
    assert (done.stdout, done.stderr) == ("", says)


def test_the_launcher_that_would_hide_us_is_refused_with_the_way_to_use_it(settings: Settings) -> None:
    done = run(*CLI, "run", "opentelemetry-instrument", "python", "app.py", directory=settings.directory, code=2)
    assert "OTEL_TRACES_EXPORTER=turnlog opentelemetry-instrument" in done.stderr


def test_an_unknown_option_is_a_usage_error(settings: Settings) -> None:
    done = run(*CLI, "run", "--sesion", "x", "true", directory=settings.directory, code=2)
    assert "unrecognized arguments: --sesion" in done.stderr


def test_the_sitecustomize_that_is_hidden_still_runs(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.from_site = 'theirs'; mine = __file__")
    code = (
        "import sys, sitecustomize, turnlog.runtime\n"
        "print(sys.from_site, sitecustomize.mine, turnlog.runtime._active is not None)"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    done = run(*CLI, "run", sys.executable, "-c", code, directory=settings.directory, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == (f"theirs {tmp_path / 'sitecustomize.py'} True\n", "")


def test_a_hidden_sitecustomize_that_fails_is_reported_as_without_us(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("1 / 0")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    command = [sys.executable, "-c", "print('runs')"]
    bare = run(*command, directory=settings.directory, PYTHONPATH=path)
    done = run(*CLI, "run", *command, directory=settings.directory, PYTHONPATH=path)
    once_by_turnlog_itself = bare.stderr
    assert "ZeroDivisionError" in bare.stderr
    assert (done.stdout, done.stderr) == (bare.stdout, once_by_turnlog_itself + bare.stderr)


def test_a_python_without_turnlog_runs_unrecorded_and_says_so(settings: Settings, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    done = run(*CLI, "run", bare / "bin" / "python", "-c", "print('runs')", directory=settings.directory, PYTHONPATH="")
    assert done.stdout == "runs\n"
    assert done.stderr == (
        f"turnlog: this program is not recorded: {bare}/bin/python cannot import turnlog (No module named 'turnlog'). "
        f"Install it there: {bare}/bin/python -m pip install turnlog\n"
    )


def test_a_broken_turnlog_costs_one_line(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "turnlog.py").write_text("def init(): raise RuntimeError('two\\nlines')")
    bootstrap = Path(__file__).parents[2] / "src" / "turnlog" / "bootstrap"
    path = os.pathsep.join([str(bootstrap), str(tmp_path)])
    done = run(sys.executable, "-c", "print('runs')", directory=settings.directory, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == ("runs\n", "turnlog: this program is not recorded: RuntimeError: two lines\n")


def test_a_disabled_turnlog_records_nothing(app: Path, unmade: Settings) -> None:
    run(*CLI, "run", app, directory=unmade.directory, code=7, TURNLOG_DISABLED="1")
    assert not unmade.directory.exists()
