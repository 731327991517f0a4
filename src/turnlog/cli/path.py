"""`turnlog path`: where the data is, for scripts."""

from __future__ import annotations

import argparse
import sys

from turnlog.settings import read_settings


def path(options: argparse.Namespace) -> int:
    settings = read_settings()
    places = {"directory": settings.directory, "database": settings.database, "journal": settings.journals}
    sys.stdout.write(f"{places[options.what]}\n")
    return 0
