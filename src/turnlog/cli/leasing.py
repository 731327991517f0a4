"""`turnlog run --resume SESSION`: the session is claimed before the program starts, which then holds it."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from turnlog.errors import NotFound
from turnlog.settings import read_settings


def lease_environment(options: argparse.Namespace, program: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What lets the program go on with a session as its one writer; raises SessionLeased while another is."""
    from turnlog import queries
    from turnlog.lease import claim_for_program

    if shutil.which(program, path=environment.get("PATH")) is None:
        # Before anything is taken over for it.
        raise NotFound(f"there is no command {program} to resume the session with.")
    settings = read_settings()
    settings = replace(settings, directory=Path(environment.get("TURNLOG_DIR") or settings.directory))
    with queries.reading(settings) as db:
        session = queries.find_session(db, options.resume)
    lease = claim_for_program(settings, session, take_over=options.take_over)
    return {"TURNLOG_SESSION": session, "TURNLOG_LEASE": lease}
