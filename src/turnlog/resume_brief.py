"""The text from which a fresh process, model or person goes on with a session, within so many tokens.

What it was about and where it stopped come first; of everything else as much as there is room for, the most useful first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from turnlog import telling
from turnlog.telling import quoted, word
from turnlog.tokens import Section, estimate, fit

if TYPE_CHECKING:
    from turnlog.queries import Decided, SessionState, Stop

BUDGET = 2000
LEAST = 200
_MOST_OF_A_GOAL = 4000
_LEAST_OF_A_TEXT = 24
_MOST_OF_AN_ID = 40
_MOST_STEPS = 5
_SHORTEST_LINE = 4
_STOPS = {
    "ok": "it ended well",
    "in_flight": "it still runs",
    "interrupted": "its process died before it returned, so it may or may not have taken effect",
}


def resume_brief(state: SessionState, tokens: int = BUDGET) -> str:
    """The brief of a session. It is made no smaller than LEAST: it could not say where the session stopped."""
    tokens = max(tokens, LEAST)
    known = state.session_id
    # Outside of quotes stands only what cannot be more than a name.
    named = f"--session {known if known.replace('-', '').replace('_', '').isalnum() else quoted(known, _MOST_OF_AN_ID)}"
    by_name = [decision for decision in state.decisions if not decision.model]
    steps = [decision for decision in state.decisions if decision.model]
    facts = (f"- {quoted(fact.key)}: {quoted(fact.value)}" for fact in state.facts)

    def section(title: str, lines: Iterable[str], rows: int = 0, more: str = "") -> Section:
        """Only as many lines are made as there can be room for."""
        made = list(islice(lines, tokens // _SHORTEST_LINE))
        return Section(title, made, more, rows if len(made) == tokens // _SHORTEST_LINE else 0)

    sections = (
        section("Facts:", facts, len(state.facts)),
        section("Decided:", _decided(by_name), len(by_name)),
        section("Not finished:", telling.unfinished(state.pending), len(state.pending)),
        section("Failed, and has not succeeded since:", telling.failed(state.failures), len(state.failures)),
        section("Files and sources that it touched:", _touched(state), len(state.working_set), f"turnlog files --all {named}"),
        section(
            "No longer in the model's context:",
            telling.lost(state.evicted),
            len(state.evicted),
            f"turnlog state --evicted {named}",
        ),
        section("The model's last choices:", _decided(steps[:_MOST_STEPS])),
    )
    return fit(_head(state, tokens), sections, tokens)


def _head(state: SessionState, tokens: int) -> str:
    """At most half of the tokens, as far as cutting long texts can bring that about."""
    most = _MOST_OF_A_GOAL
    while True:
        head = "\n".join(_opening(state, most))
        if estimate(head) <= tokens // 2 or most <= _LEAST_OF_A_TEXT:
            return head
        most = max(most * 2 // 3, _LEAST_OF_A_TEXT)


def _opening(state: SessionState, most: int) -> Iterator[str]:
    most_said = min(most, 600)
    yield f"You go on with session {quoted(state.session_id, max(most, _MOST_OF_AN_ID))}, from its record. {telling.IN_QUOTES}"
    if state.previous_session:
        yield f"It continues session {quoted(state.previous_session)}."
    yield f"Goal: {quoted(state.goal, most)}" if state.goal else "Goal: not recorded"
    if state.input and state.turn > 1:
        yield f"Last asked (of {state.turn} turns): {quoted(state.input, most_said)}"
    if state.answer:
        yield f"Last answered (turn {state.answered_in}): {quoted(state.answer, most_said)}"
    if state.stop is not None:
        yield f"Stopped in turn {state.stop.turn} at {_stopped(state.stop, most_said)}. The session is {word(state.status)}."
    if state.checkpoint is not None and most > _LEAST_OF_A_TEXT:
        thread, saved = quoted(state.checkpoint.thread_id), quoted(state.checkpoint.checkpoint_id)
        yield f"The framework's last checkpoint: {saved} of thread {thread}."


def _stopped(stop: Stop, most: int) -> str:
    what = f"tool {quoted(stop.tool, most)}" if stop.tool else telling.CALLS.get(stop.kind) or f"a {word(stop.kind)}"
    given = f", given {quoted(stop.input_summary, most)}" if stop.tool and stop.input_summary else ""
    return f"{what}{given}; {_STOPS.get(stop.outcome) or f'it failed: {quoted(stop.error_message or stop.outcome, most)}'}"


def _decided(decisions: Iterable[Decided]) -> Iterator[str]:
    for decision in decisions:
        about = f"{quoted(decision.about)}: " if decision.about else ""
        because = f", because {quoted(decision.reason)}" if decision.reason else ""
        yield f"- {about}{quoted(decision.choice)} (turn {decision.turn}){because}"


def _touched(state: SessionState) -> Iterator[str]:
    for entry in state.working_set:
        yield f"- {word(entry.kind)} {quoted(entry.key)}: {word(entry.last_action)} (turn {entry.turn})"
