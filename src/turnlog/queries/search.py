"""Where words occur: in what commits say, and in the content that was captured of them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from turnlog.errors import TurnlogError
from turnlog.queries.asking import Database, rows

_TERM = re.compile(r'"([^"]+)"|(\S+)')
_MOST_TERMS = 4


class Found(NamedTuple):
    """A commit that has all the terms. `place` is where the first of them is, `excerpt` what stands around it."""

    commit_id: str
    committed_at: datetime
    session_id: str
    turn: int
    kind: str
    tool: str
    outcome: str
    place: str
    excerpt: str


def search(db: Database, text: str, session: str = "", *, limit: int = 20, before: str = "") -> list[Found]:
    """The commits with all words of the text, newest first, in a session or in all. What stands in quotes is one term.

    `before` is the commit below which to go on.
    """
    terms = [(phrase or word).lower() for phrase, word in _TERM.findall(text)]
    if not all(term.replace('"', "").strip() for term in terms):
        # Between any two places of a commit stands ' " ', so that no phrase goes from one into the next.
        raise TurnlogError('quotes with nothing in them are no word. Give the phrase: "no such file"')
    if not 1 <= len(terms) <= _MOST_TERMS:
        raise TurnlogError(f'search for one to {_MOST_TERMS} words; a phrase in double quotes counts as one: "no such file"')
    padded = terms + [""] * (_MOST_TERMS - len(terms))
    return rows(
        db,
        Found,
        """
        from search($session, $a, $b, $c, $d)
        where $before = ''
           or (ended_ns, commit_id) < (select (b.ended_ns, b.commit_id) from commits as b where b.commit_id = $before)
        order by ended_ns desc, commit_id desc
        limit $limit
        """,
        {"session": session, "before": before, "limit": limit, **dict(zip("abcd", padded, strict=True))},
    )
