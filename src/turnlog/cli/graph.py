"""`turnlog log --graph`: the turns of a session as they go on from each other, with what each of them did.

A turn stands on a rail of its own until the turn that it goes on from; retries and forks are rails beside it. What a tool
call's sub-agent did hangs on the call.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

from turnlog import queries
from turnlog.cli.asking import asking, known_turn, unmatched
from turnlog.cli.commit import Marks, actor_width, answer_line, commit_line, listed, marks_of, turn_line
from turnlog.cli.hints import hint, same
from turnlog.cli.render import Screen, Styled, Text, record, screen
from turnlog.queries import Commit, GraphNode, NestedSession, Turn

_COLOURS = ("red", "green", "yellow", "blue", "cyan")

# A turn by its number, an edit by its commit.
Node = int | str


def graph_log(options: argparse.Namespace) -> int:
    if options.evicted:
        options.refuse("--graph shows what was done, --evicted what left the context: one of them")
    with asking() as db:
        session = queries.find_session(db, options.session)
        known_turn(db, session, options.turn)
        nodes = queries.turn_graph(db, session)
        found, limit, more = listed(db, session, options)
        last = found[-1].turn if found and more else 0
        nodes = [node for node in nodes if node.turn == options.turn or (not options.turn and node.turn >= last)]
        turns = {turn.turn: turn for turn in queries.turns(db, session, sorted({node.turn for node in nodes}))}
        edits = queries.commits(db, session, [node.edit for node in nodes if node.edit])
        nested = queries.nested_commits(db, session)
        inner = queries.nested_sessions(db, session)
        previous = queries.previous_session(db, session)
        marks = marks_of(db, session, found)
        nothing = "" if found else unmatched(db, session, options.tool)
    out = screen()
    if options.json:
        for node in nodes:
            out.json(record(node))
        return 0
    out.line(Styled(f"session {session}", "dim"))
    narrowed = options.tool or options.failed
    if not found and (narrowed or not nodes):
        out.line(nothing if narrowed else "no commits yet")
    if any(not commit.turn for commit in found):
        nodes.append(GraphNode(session, 0, "", 0, "", "", 0, 1))
    forks: dict[Node, int] = {node.turn: node.parent_turn for node in nodes if node.relation == "fork" and not node.edit}
    _Graph(out, found, nested, inner, marks._replace(forked={**forks, **marks.forked})).show(nodes, turns, edits, not narrowed)
    if previous and not last:
        out.line(Styled(f"goes on with session {previous}", "dim"))
    if more and not options.limit:
        hint(out, "there is more", "log", n=2 * limit, **same(options))
    return 0


class _Graph:
    def __init__(
        self, out: Screen, found: list[Commit], nested: dict[str, str], inner: list[NestedSession], marks: Marks
    ) -> None:
        self._out = out
        self._marks = marks
        self._width = actor_width(found)
        self._inner = inner
        known = {commit.commit_id for commit in found}
        # By the call or the turn that they were made in.
        self._within: dict[Node, list[Commit]] = {}
        for commit in found:
            outer = nested.get(commit.commit_id, "")
            if outer not in known:
                outer = nested.get(outer, "")
            self._within.setdefault(outer if outer in known else commit.turn, []).append(commit)

    def show(self, nodes: list[GraphNode], turns: dict[int, Turn], edits: dict[str, Commit], tells_answers: bool) -> None:
        known: set[Node] = {node.edit or node.turn for node in nodes}
        drawn = set(edits)
        rails: list[Node | None] = []
        for node in nodes:
            name: Node = node.edit or node.turn
            parent: Node = node.parent_edit or node.parent_turn
            place = self._join(rails, name)
            commit = edits.get(node.edit)
            if commit is not None:
                said = commit_line(commit, self._width, self._marks)
            else:
                said = turn_line(node.turn, turns.get(node.turn), self._marks)
            self._out.line(*self._drawn(rails, at=place), " ", *said)
            # Below the oldest that is shown there may be more: its rail goes on, and ends with the list.
            rails[place] = parent or None
            if not node.edit:
                lead = [*self._drawn(rails), " "]
                if answer := answer_line(turns.get(node.turn), self._width) if tells_answers else []:
                    self._out.line(*lead, *answer)
                self._commits(lead, node.turn, drawn)
            if parent and parent not in known:
                rails[place] = None
            _trim(rails)

    def _join(self, rails: list[Node | None], name: Node) -> int:
        """The place of a node: where the rails that lead to it meet, or a free one."""
        waiting = [place for place, rail in enumerate(rails) if rail == name]
        if not waiting:
            if None not in rails:
                rails.append(None)
            waiting = [rails.index(None)]
        for left, place in reversed(list(pairwise(waiting))):
            rails[place] = None
            for step in range(place, left, -1):
                self._out.line(*self._drawn(rails, slant=step))
            _trim(rails)
        rails[waiting[0]] = name
        return waiting[0]

    def _drawn(self, rails: list[Node | None], at: int = -1, slant: int = 0) -> list[Text]:
        """The rails, with a node `at` one of them, or a `slant` that leads to the left of one."""
        texts: list[Text] = []
        for place, rail in enumerate(rails):
            colour = _COLOURS[place % len(_COLOURS)]
            if place:
                texts.append(Styled("/", colour) if place == slant else " ")
            texts.append(Styled("*", "bold") if place == at else Styled("|" if rail is not None else " ", colour))
        return texts

    def _commits(self, lead: list[Text], within: Node, drawn: set[str]) -> None:
        """What was done in a turn, or inside of a call of it, each with what was done inside of that."""
        inside = [commit for commit in self._within.get(within, []) if commit.commit_id not in drawn]
        drawn.update(commit.commit_id for commit in inside)
        sessions = [each for each in self._inner if within in (each.outer_commit, "" if each.outer_commit else each.turn)]
        is_call = isinstance(within, str)
        for place, commit in enumerate(inside, 1):
            is_last = place == len(inside) and not sessions
            self._out.line(
                *lead, ("└ " if is_last else "├ ") if is_call else "", *commit_line(commit, self._width, self._marks)
            )
            self._commits([*lead, ("  " if is_last else "│ ") if is_call else ""], commit.commit_id, drawn)
        for place, each in enumerate(sessions, 1):
            by = f" of {each.agent}" if each.agent else ""
            branch = ("└ " if place == len(sessions) else "├ ") if is_call else ""
            self._out.line(*lead, branch, Styled(f"session {each.nested_session}", "bold"), Styled(by, "dim"))


def _trim(rails: list[Node | None]) -> None:
    while rails and rails[-1] is None:
        rails.pop()
