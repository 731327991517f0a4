"""`turnlog ui`: serve the page, and say where."""

from __future__ import annotations

import argparse
import os
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

    def listening(address: str) -> None:
        if options.json:
            out.json({"event": "listening", "address": address, "pid": os.getpid()})
        else:
            out.line(f"the page is at {address}")
            out.line("it can be read by whoever has this address, on this machine only. Ctrl-C stops it.")
        out.stream.flush()
        if options.open:
            webbrowser.open(address)

    serve_page(read_settings(), options.port, listening)
    return 0
