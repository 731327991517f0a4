"""`turnlog ui`: the page is served whatever browser there is, or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from programs import environment, run_code
from turnlog.settings import Settings

UI = (sys.executable, "-m", "turnlog", "ui")
SYSTEM_PORTS = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
NOTHING_TO_OPEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}


def test_a_browser_of_the_terminal_that_waits_gets_the_page(settings: Settings, tmp_path: Path) -> None:
    """As w3m, lynx and links: it asks for the page, and webbrowser waits until it has ended."""
    got = tmp_path / "got"
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport pathlib, sys, urllib.request as web\n"
        "page = web.build_opener(web.HTTPCookieProcessor()).open(sys.argv[1])\n"
        f"pathlib.Path({str(got)!r}).write_text(str(page.status))\n"
    )
    browser.chmod(0o755)
    with subprocess.Popen(
        [*UI, "--port", "0"],
        env=environment(settings.directory, **NOTHING_TO_OPEN | {"BROWSER": f"{browser} %s"}),
        stdout=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 30
        while not (got.exists() and got.read_text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert got.read_text() == "200"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_without_a_display_only_the_address_is_told(settings: Settings) -> None:
    with subprocess.Popen(
        [*UI, "--port", "0"],
        env=environment(settings.directory, **NOTHING_TO_OPEN),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert lines[0].startswith("the page is at http://127.0.0.1:")
    assert lines[2] == "no browser is opened: there is no display here, and BROWSER names none.\n"


@pytest.mark.skipif(
    os.geteuid() or not SYSTEM_PORTS.exists() or SYSTEM_PORTS.read_text().strip() != "1024",
    reason="needs a port that is refused",
)
def test_a_port_of_the_system_is_not_said_to_be_taken(settings: Settings) -> None:
    code = """
import os
from turnlog.errors import TurnlogError
from turnlog.web.serving import _bind
os.setuid(65534)
try:
    _bind(22)
except TurnlogError as error:
    print(error)
"""
    said = "port 22 is not for ordinary users (Permission denied): choose another with --port, or 0 for any.\n"
    assert run_code(code, settings.directory).stdout == said
