"""`turnlog ui`: serve the page, and say where."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import webbrowser

from turnlog.cli.render import screen
from turnlog.errors import TurnlogError
from turnlog.settings import read_settings


def ui(options: argparse.Namespace) -> int:
    try:
        from turnlog.web.serving import serve_page
    except ImportError as error:
        raise TurnlogError(f"the page needs {error.name}: pip install 'turnlog[web]'") from error
    out = screen(whole=True)
    opens = options.open and _has_browser()

    def listening(address: str) -> None:
        if options.json:
            out.json({"event": "listening", "address": address, "pid": os.getpid()})
        else:
            out.line(f"the page is at {address}")
            out.line("it can be read by whoever has this address, on this machine only. Ctrl-C stops it.")
            if options.open and not opens:
                out.line("no browser is opened: there is no display here, and BROWSER names none.")
        out.stream.flush()
        if opens:
            # A browser of the terminal is waited for until it ends, and it waits for the server.
            threading.Thread(target=webbrowser.open, args=(address,), name="turnlog-browser", daemon=True).start()

    serve_page(read_settings(), options.port, listening)
    return 0


def _has_browser() -> bool:
    return sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
