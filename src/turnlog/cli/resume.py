"""`turnlog resume`: what somebody needs who goes on with a session, as a text within a token budget or as its typed state."""

from __future__ import annotations

import argparse
import sys

from turnlog import queries
from turnlog.cli.asking import asking
from turnlog.cli.render import inert, record, screen
from turnlog.resume_brief import resume_brief


def resume(options: argparse.Namespace) -> int:
    with asking() as db:
        state = queries.session_state(db, queries.find_session(db, options.session))
    if options.json:
        screen().json(record(state))
        return 0
    # Whole lines: it is made to be read by a model.
    sys.stdout.write("".join(f"{inert(line)}\n" for line in resume_brief(state, options.tokens).splitlines()))
    return 0
