"""What lineage speaks of: a conversation's latest context, a context that was read, what a model call sees of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from turnlog.content import ContentPolicy
from turnlog.derive.context import Item, Seen
from turnlog.derive.messages import Message, Part, calls_of, result_of, role, split_results, texts


@dataclass(slots=True)
class Ask:
    """A tool call that a model asked for. `asked_by` is whatever the caller needs to find its way back; `output` the digest of
    what the call gave when it was seen to run, empty when it gave nothing. `ran_as` is the span of that, the first if it took
    several attempts. `heard_ns`: when a context brought its result, where nobody had seen it run."""

    call_id: str
    tool: str
    arguments: Any
    decision: str
    asked_by: Any
    claimed: bool = False
    ran_as: str = ""
    entries: tuple[str, ...] | None = None
    output: str | None = None
    heard_ns: int = 0


class Answer(NamedTuple):
    """A result that a context brought back for a tool call that nobody was seen to run."""

    ask: Ask
    result: Any
    is_error: bool | None


class Added(NamedTuple):
    """A message that a context has more; without its content where a server keeps that."""

    item: Item
    message: Message | None


class Sight(NamedTuple):
    """What a model call sees: `length` messages, `depth` of them no instructions.

    `evicted` are the entries (`kind:key`) that are nowhere in this context any more.
    """

    lineage: Lineage
    length: int
    depth: int
    hash: str
    prefix_hash: str
    added: list[Added]
    gone: list[Item]
    evicted: list[str]
    reason: str
    answers: list[Answer]
    repeats: str
    attempt: int

    def changes(self, policy: ContentPolicy) -> list[dict[str, Any]]:
        """The messages that came and went, in the form of the convention."""
        rows: list[dict[str, Any]] = [{"op": "evict", "at": item.at} for item in self.gone]
        # One API sends an answer back as several messages: its thoughts, its words, each of its calls.
        origins = [item.origin for item, _ in self.added if item.origin]
        pieces = Counter(origins) if origins else {}
        for item, message in self.added:
            row: dict[str, Any] = {"op": "add", "at": item.at, "hash": item.hash, "role": item.role}
            if item.call:
                row["call"] = item.call
                if message is not None and (text := self._instead(item.call, message, policy)):
                    row["text"] = text
            elif (
                message is not None
                and (not item.origin or pieces[item.origin] > 1)
                and (text := policy.summary(_words(message)))
            ):
                row["text"] = text
            if item.origin:
                row["from"] = item.origin
            if item.keys:
                row["keys"] = item.keys
            rows.append(row)
        return rows

    def _instead(self, call: str, message: Message, policy: ContentPolicy) -> str:
        """What the model got for a tool's output, where an application or framework has made something else of that."""
        ask, (result, _) = self.lineage.asks.get(call), result_of(message)
        is_other = ask is not None and ask.output is not None and (not ask.output or policy.hash(result) != ask.output)
        return policy.summary(result) if is_other else ""


def _words(message: Message) -> str:
    if said := texts(message):
        return said
    names = ", ".join(str(call.get("name") or "unknown") for call in calls_of(message))
    return f"call {names}" if names else texts(message, "reasoning")


class Filed(NamedTuple):
    session: str = ""
    root: str = ""
    tail: str = ""
    held: int = 0


class Lineage:
    """The latest context of one conversation, as this process saw it."""

    __slots__ = (
        *(
            "answered",
            "asks",
            "caller",
            "calls",
            "chain",
            "failed",
            "filed",
            "id",
            "inherited",
            "instructed",
            "instructions",
            "items",
            "marks",
            "replies",
            "reply",
        ),
        *("said", "session", "sizes", "system", "top"),
    )

    def __init__(self, session: str) -> None:
        self.id = os.urandom(8).hex()
        self.session = session
        self.caller: Any = None
        self.system: Sequence[Item] = ()
        # What instructions and messages are compared by, and how many items each message made.
        self.instructions: tuple[Any, ...] = ()
        self.instructed = 0
        self.marks: Sequence[Any] = ()
        self.sizes: Sequence[int] = ()
        self.items: list[Item] = []
        self.chain: list[str] = []
        self.top = 0
        self.calls = 0
        self.asks: dict[str, Ask] = {}
        self.said: dict[str, tuple[str, int]] = {}
        self.reply: Sequence[Message] = ()
        self.replies: Sequence[str] = ()
        # Whatever the caller needs to find its way back to where the model last answered.
        self.answered: Any = None
        self.failed = False
        self.inherited = False
        self.filed = Filed()

    def asked_for(self, calls: Iterable[Ask]) -> bool:
        """Whether its model asked for one of these very calls; their ids may come again elsewhere."""
        return any(self.asks.get(ask.call_id) is ask for ask in calls)

    @property
    def waits(self) -> bool:
        """Whether its model's last answer asked for a call that nobody saw end."""
        asked = (self.asks[key] for key in self.replies if key in self.asks)
        return any(ask.output is None and not ask.heard_ns for ask in asked)


@dataclass(slots=True)
class Match:
    """A context that was read, and the lineage it belongs to, if this process knows one.

    `extends`: it begins with the lineage's latest; `goes_on`: what the model said to that comes next. `follows` (0 or more): it
    only has what comes after so many items. `inside`: the requests whose tool calls run around it.
    """

    messages: Sequence[Message]
    body: list[Any]
    instructions: tuple[Any, ...]
    lead: int
    caller: Any = None
    inside: Sequence[Ask] = ()
    lineage: Lineage | None = None
    extends: bool = False
    goes_on: bool = False
    version: int = 0
    # The digest of the first message, where it was asked for.
    root: str = ""
    follows: int = -1
    seen: list[Seen] | None = None
    sizes: list[int] = field(default_factory=list)
    _parsed: dict[int, list[Part]] = field(default_factory=dict)

    @property
    def session(self) -> str:
        return self.lineage.session if self.lineage else ""

    @property
    def brings_no_input(self) -> bool:
        """Whether all that came is what the model said: it is asked to go on."""
        if self.lineage is None or not self.goes_on:
            return False
        added = range(self.lead + len(self.lineage.marks), len(self.messages))
        return all(role(self.messages[index]) == "assistant" for index in added)

    def parts(self, index: int) -> list[Part]:
        if index not in self._parsed:
            self._parsed[index] = split_results(self.messages[index])
        return self._parsed[index]

    def part(self, seen: Seen) -> Message:
        return self.parts(self.lead + seen.where)[seen.part].message
