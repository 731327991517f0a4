"""Message lineage: which conversation a model call continues, and what it sees against the call before.

Knows messages only: no spans, no clock, no files. Only what is new is hashed; what an application sends again is recognised
by comparing it with what it sent before.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from turnlog.content import ContentPolicy, as_text, entry_key
from turnlog.derive.context import NOTHING, STRIDE, Course, Item, Seen, align, chain_on, digest_of, places
from turnlog.derive.files import declared_touches
from turnlog.derive.lineage_index import LineageIndex, remember
from turnlog.derive.messages import Message, as_messages, calls_of, result_of, role, split_results, texts
from turnlog.derive.sight import Added, Answer, Ask, Lineage, Match, Sight
from turnlog.semconv import EntryKind

_MOST_ASKS = 1024
_MOST_SAID = 64
_MOST_MISSES = 16
_SYSTEM = -(1 << 40)


class _Step(NamedTuple):
    """From one context to the next: the first `same` items stay, then come `seen`; `kept` says which of them were there."""

    course: Course
    same: int
    seen: list[Seen]
    kept: list[int]
    sizes: list[int]
    left: Sequence[int] = ()


class Lineages:
    """The conversations of one process. Bounded: the oldest are forgotten, which costs a link and nothing else."""

    def __init__(self, policy: ContentPolicy) -> None:
        self._policy = policy
        self._index = LineageIndex()
        self._by_response: OrderedDict[str, tuple[str, int, Sequence[Message]]] = OrderedDict()
        self._contexts: OrderedDict[tuple[str, str], tuple[str, int]] = OrderedDict()
        # What other processes left, by session, until this one goes on with it.
        self._left: OrderedDict[str, Lineage] = OrderedDict()
        # Re-entrant: a garbage collection can start or end spans anywhere.
        self._lock = threading.RLock()

    def after_fork_in_child(self) -> None:
        """The parent goes on with these lineages; the child goes on from the same messages with its own."""
        self._lock = threading.RLock()
        for lineage in self._index.all():
            lineage.inherited = True

    def match(
        self,
        messages: Any,
        instructions: Any = None,
        session: str = "",
        previous_response: str = "",
        *,
        turn_input: str = "",
        caller: Any = None,
        inside: Sequence[Ask] = (),
    ) -> Match:
        """Find the conversation that a context continues; within `session` when that is known.

        `turn_input` is the digest of an agent's input, for the first model call of its turn: a context with nothing but that
        has lost all else. `caller` tells conversations apart that say the very same. `inside`: the requests whose tool calls
        run around the model call.
        """
        given = as_messages(messages)
        marks = given.marks() if hasattr(given, "marks") else list(given)
        lead = 0
        while lead < len(marks) and role(given[lead]) == "system":
            lead += 1
        match = Match(given, marks[lead:], (*([instructions] if instructions else ()), *marks[:lead]), lead, caller, inside)
        with self._lock:
            if previous_response or getattr(given, "follows", False):
                self._follow(match, session, previous_response)
            elif match.body:
                candidates = self._candidates(match, session)
                # Whoever asked for a call waits for its result: what runs inside is another, perhaps with the same words.
                asking = [one for one in candidates if one.asked_for(inside)]
                self._find(match, [one for one in candidates if one not in asking], session, turn_input)
                if match.lineage is None and asking:
                    self._find(match, asking, session, turn_input)
        return match

    def advance(self, match: Match, session: str, span_id: str) -> Sight:
        """Make the context the newest of its lineage."""
        with self._lock:
            return self._advance(match, session, span_id)

    def replied(self, sight: Sight, outputs: Any, span_id: str, response_id: str, asked_by: Any) -> None:
        """What the model answered, so that the next context's messages can be told to be its. Nothing: it failed."""
        lineage = sight.lineage
        messages = as_messages(outputs)
        with self._lock:
            lineage.failed, lineage.answered = not messages, asked_by
            lineage.reply = messages
            self._index.file_reply(lineage, self._hear(lineage, messages, span_id, sight.depth, asked_by))
            if response_id:
                remember(self._by_response, response_id, (lineage.id, sight.depth, messages))

    def expect(self, session: str, span_id: str, outputs: Any, calls: Sequence[tuple[str, str]]) -> None:
        """What a model said last in a conversation that another process led, if that is known, and the tool and id of each call
        that it asked for: this process may bring both into a context, and run the calls."""
        left = Lineage(session)
        with self._lock:
            self._hear(left, as_messages(outputs), span_id, -1, None)
            for tool, call_id in calls:
                left.asks.setdefault(call_id, Ask(call_id, tool, None, span_id, None))
            remember(self._left, session, left)

    def _hear(self, lineage: Lineage, messages: Sequence[Message], span_id: str, depth: int, asked_by: Any) -> list[str]:
        """Take note of a model's answer; the digests of its texts and the ids of its calls."""
        said = []
        for message in messages:
            if digest := self._words(message):
                said.append(digest)
                remember(lineage.said, digest, (span_id, depth), _MOST_SAID)
            for call in calls_of(message):
                if call_id := str(call.get("id") or ""):
                    said.append(call_id)
                    if call_id in lineage.asks and lineage.asks[call_id].decision == span_id:
                        # Heard already, and perhaps running.
                        continue
                    ask = Ask(call_id, str(call.get("name") or ""), call.get("arguments"), span_id, asked_by)
                    remember(lineage.asks, call_id, ask, _MOST_ASKS)
        return said

    def claim(self, session: str, tool: str, call_id: str, arguments: Any, span_id: str = "", retry_of: str = "") -> Ask | None:
        """The request that a starting tool call fulfils: by its id, else by name and arguments among those that wait. A further
        attempt fulfils what the first one did."""
        with self._lock:
            lineages = self._index.of_session(session) if session else self._index.newest()
            if session in self._left:
                lineages = [*lineages, self._left[session]]
            if retry_of:
                asks = [ask for lineage in lineages for ask in lineage.asks.values() if ask.ran_as == retry_of]
                return asks[0] if asks else None
            if call_id:
                asks = [lineage.asks[call_id] for lineage in lineages if call_id in lineage.asks]
                asks = [ask for ask in asks if ask.tool == tool] or asks
                # Ids come again: scripted models and some providers count calls per conversation.
                asks = [ask for ask in asks if not ask.claimed] or asks
                asks = self._alike(asks, arguments) or asks if len(asks) > 1 else asks
            else:
                heard = [ask for lineage in lineages for ask in reversed(lineage.asks.values())]
                asks = [ask for ask in heard if ask.tool == tool and not ask.claimed]
                # A function with defaults or converted arguments is still the one call that waits for it.
                asks = self._alike(asks, arguments) or (asks if session and len(asks) == 1 else [])
                # What nobody ran waits for ever, though the model asks again: the last answer's calls, the first of them first.
                asks = [ask for ask in reversed(asks) if ask.decision == asks[0].decision]
            if not asks:
                return None
            asks[0].claimed, asks[0].ran_as = True, span_id
            return asks[0]

    def conclude(self, session: str, outputs: Any) -> list[Answer]:
        """The results that an agent's run ends with, of calls that nobody was seen to run: perhaps no model will be told."""
        results = [part for message in as_messages(outputs) for part in split_results(message) if part.call]
        with self._lock:
            lineages = self._index.of_session(session) if results else []
            found = []
            for part in results:
                waiting = (lineage.asks[part.call] for lineage in lineages if part.call in lineage.asks)
                ask = next((ask for ask in waiting if not ask.claimed), None)
                if ask is not None:
                    ask.claimed = True
                    found.append(Answer(ask, *result_of(part.message)))
            return found

    def _alike(self, asks: list[Ask], arguments: Any) -> list[Ask]:
        digest = self._policy.hash(arguments) if asks else ""
        return [ask for ask in asks if self._policy.hash(ask.arguments) == digest]

    def _words(self, message: Message) -> str:
        """The digest of what a message says; applications trim answers before they send them again."""
        text = texts(message).strip() or texts(message, "compaction")
        return self._policy.hash(text) if text else ""

    def _follow(self, match: Match, session: str, previous_response: str) -> None:
        """The server keeps the history: that of the response which is named, or of the session's conversation."""
        if previous_response in self._by_response:
            name, items, reply = self._by_response[previous_response]
            match.lineage = self._index.get(name)
            match.follows = min(items, len(match.lineage.items)) if match.lineage else -1
        elif not previous_response and (known := self._index.of_session(session)):
            match.lineage = known[0]
            match.follows, reply = len(match.lineage.items), match.lineage.reply
        else:
            return
        if match.lineage is None:
            return
        spoken = [{"role": "assistant", "parts": message.get("parts") or []} for message in reply]
        match.messages = [*spoken, *(match.messages[index] for index in range(match.lead, len(match.messages)))]
        match.body, match.lead = list(match.messages), 0

    def _find(self, match: Match, candidates: list[Lineage], session: str, turn_input: str) -> None:
        candidates = [one for one in candidates if not _is_anothers(match, one)]
        is_alone = not session and len(match.body) == 1
        if is_alone:
            # One message tells no conversation, however many began with it: only one that failed is asked again, or one
            # that begins with what its model said.
            candidates = [one for one in candidates if one.failed or one.items[0].origin or one.items[0].call]
        best: tuple[int, bool, bool] = (0, False, False)
        for lineage in candidates:
            size = len(lineage.marks)
            if 0 < size <= len(match.body) and lineage.marks == match.body[:size]:
                goes_on = self._goes_on(lineage, match, size)
                score = (size, goes_on, lineage.caller == match.caller)
                known = session or goes_on or any(item.origin or item.call in lineage.asks for item in lineage.items)
                if score > best and (known or (lineage.failed and size == len(match.body))):
                    match.lineage, match.extends, match.goes_on, best = lineage, True, goes_on, score
                    match.version = lineage.calls
        if match.extends or is_alone:
            return
        if not candidates:
            match.lineage = None if session else self._by_what_was_said(match)
            return
        seen = self._see(match, candidates[0])
        most = 0
        for lineage in candidates:
            course, kept = align(lineage.items, seen)
            shared = [lineage.items[place] for place in kept if place >= 0]
            after = 1 + max((each.where for each, place in zip(seen, kept, strict=True) if place >= 0), default=-1)
            known = session or _tells(lineage, shared) or self._goes_on(lineage, match, after)
            if course is not Course.UNRELATED and known and len(shared) > most:
                match.lineage, most = lineage, len(shared)
        if match.lineage is None and session:
            replaced = [one for one in candidates if self._replaces(match, one, turn_input)]
            match.lineage = max(replaced, key=lambda one: len(one.items), default=None)

    def _goes_on(self, lineage: Lineage, match: Match, size: int) -> bool:
        """Whether the message after the known ones is what the model said to them, or what it asked for."""
        if size >= len(match.body):
            return False
        message = match.messages[match.lead + size]
        named = [str(call.get("id")) for call in calls_of(message)] or [part.call for part in match.parts(match.lead + size)]
        if any(call in lineage.asks for call in named):
            return True
        return self._words(message) in lineage.said

    def _by_what_was_said(self, match: Match) -> Lineage | None:
        """The one conversation whose model said the last answer that is here, when all that came before is gone."""
        for index in range(len(match.messages) - 1, match.lead - 1, -1):
            message = match.messages[index]
            if role(message) == "assistant":
                keys = [str(call.get("id")) for call in calls_of(message)] or [self._words(message)]
                found = [one for one in self._index.with_replies(keys) if one.instructions == match.instructions]
                return found[0] if len(found) == 1 else None
        return None

    def _replaces(self, match: Match, lineage: Lineage, turn_input: str) -> bool:
        """Whether a context of the session took the place of the lineage's, although no message of it is left."""
        if any(self._goes_on(lineage, match, index) for index in range(len(match.body))):
            return True
        known = len(lineage.instructions)
        if match.instructions[:known] != lineage.instructions:
            return False
        if turn_input and self._policy.hash(texts(match.messages[-1])) == turn_input:
            return True
        # What a model said and this one did not belongs to another conversation.
        said = any(role(match.messages[index]) == "assistant" for index in range(match.lead, len(match.messages)))
        stands_in = not said and (len(match.body) > 1 or len(match.instructions) > known)
        return known > 0 and stands_in and len(lineage.items) > 2

    def _candidates(self, match: Match, session: str) -> list[Lineage]:
        """Newest first. Without a session: those with the same first message, else the one whose last is still here."""
        if session:
            return self._index.of_session(session)
        match.root = self._policy.hash(match.parts(match.lead)[0].message)
        if found := self._index.with_root(match.root):
            return found
        hashes = {each.hash for each in self._see(match, None)}
        found = self._index.with_tails(hashes)
        shared = [sum(item.hash in hashes for item in lineage.items) for lineage in found]
        most = [lineage for lineage, count in zip(found, shared, strict=True) if count == max(shared)]
        return most if len(most) == 1 else []

    def _see(self, match: Match, like: Lineage | None) -> list[Seen]:
        """Every message of the context; those that `like` has are known by comparison, the others are hashed."""
        if match.seen is not None:
            return match.seen
        match.seen = []
        marks, offsets = (like.marks, [0, *itertools.accumulate(like.sizes)]) if like else ([], [])
        after = misses = 0
        for index, mark in enumerate(match.body):
            try:
                # Looking through all for each that is new would be quadratic.
                place = marks.index(mark, after) if like and misses < _MOST_MISSES else -1
            except ValueError:
                place, misses = -1, misses + 1
            if like and place >= 0:
                after = place + 1
                same = like.items[offsets[place] : offsets[after]]
                match.seen += [Seen(item.hash, item.role, item.call, index, part) for part, item in enumerate(same)]
                match.sizes.append(len(same))
            else:
                match.sizes.append(self._read(match, index, match.seen))
        return match.seen

    def _read(self, match: Match, index: int, into: list[Seen]) -> int:
        parts = match.parts(match.lead + index)
        for place, part in enumerate(parts):
            digest = "" if index or place else match.root
            into.append(Seen(digest or self._policy.hash(part.message), part.role, part.call, index, place))
        return len(parts)

    def _advance(self, match: Match, session: str, span_id: str) -> Sight:
        old = match.lineage if match.lineage is not None and match.lineage.session == session else None
        step = self._step(match, old)
        if old is not None and old.asked_for(match.inside):
            # It only knows what that conversation has said.
            step = step._replace(course=Course.FORKED, left=())
        room = places(step.kept, old.items, step.same, old.top, old.calls) if old else None
        if old is None or room is None or old.inherited or step.course is Course.FORKED:
            lineage, staying = self._begin(session, old, step.same, match.inside), list[Item | None]([None] * len(step.seen))
            room = [lineage.top + STRIDE * number for number in range(1, len(step.seen) + 1)]
        else:
            lineage, staying = old, [old.items[place] if place >= 0 else None for place in step.kept]
        left = [old.items[place] for place in step.left] if old else []
        added = [] if lineage is old else [Added(item, None) for item in lineage.items]
        del lineage.items[step.same :], lineage.chain[step.same :]
        for seen, at, item in zip(step.seen, room, staying, strict=True):
            if item is None:
                item = self._item(lineage, match, seen, at)
                added.append(Added(item, match.part(seen)))
            lineage.items.append(item)
        chain_on(lineage.chain, [seen.hash for seen in step.seen])
        lineage.top = max(lineage.top, lineage.items[-1].at // STRIDE * STRIDE if lineage.items else 0)
        gone = list(left) if lineage is old else []
        self._instruct(lineage, match, added, gone)
        lineage.marks, lineage.sizes = ((), ()) if match.follows >= 0 else (match.body, step.sizes)
        lineage.caller, lineage.failed = match.caller, False
        lineage.calls += 1
        self._index.file(lineage)
        digest = digest_of([item.hash for item in lineage.system], lineage.chain)
        first, attempts = self._attempts((session, digest), span_id) if lineage.chain else ("", 1)
        if any(ask.decision == first for ask in match.inside):
            # What runs inside a tool call does not repeat the model call that asked for it.
            first, attempts = "", 1
        return Sight(
            lineage,
            len(lineage.system) + len(lineage.items),
            len(lineage.items),
            digest,
            _prefix(lineage),
            added,
            gone,
            self._evicted(lineage, match, left),
            step.course.value if left else "",
            self._answers(lineage, added) if lineage.asks else [],
            first,
            attempts,
        )

    def _step(self, match: Match, old: Lineage | None) -> _Step:
        seen: list[Seen] = []
        if old is None:
            return _Step(Course.FORKED, 0, self._see(match, None), [-1] * len(self._see(match, None)), match.sizes)
        if match.follows >= 0:
            course = Course.EXTENDED if match.follows == len(old.items) else Course.FORKED
            sizes = [self._read(match, index, seen) for index in range(len(match.body))]
            return _Step(course, match.follows, seen, [-1] * len(seen), sizes)
        if match.extends and match.version == old.calls:
            sizes = [*old.sizes, *(self._read(match, index, seen) for index in range(len(old.marks), len(match.body)))]
            return _Step(Course.EXTENDED, len(old.items), seen, [-1] * len(seen), sizes)
        seen = self._see(match, old)
        course, kept = align(old.items, seen)
        if course is Course.UNRELATED:
            course = Course.SUMMARISED if len(seen) > 1 else Course.TRIMMED
        fresh = next((each for each, place in zip(seen, kept, strict=True) if place < 0), None)
        compacted = fresh is not None and bool(texts(match.part(fresh), "compaction"))
        if course is Course.SUMMARISED and fresh is not None and not compacted and self._goes_on(old, match, fresh.where):
            # What comes first is the model's own answer: nothing stands in for what left.
            course = Course.TRIMMED
        same = next((index for index, place in enumerate(kept) if place != index), len(kept))
        if course.evicts and same < len(seen) and kept[same] < 0 and self._answers_at(old, match.part(seen[same]), same):
            course = Course.FORKED
        stay = set(kept)
        left = [place for place in range(same, len(old.items)) if place not in stay] if course.evicts else []
        return _Step(course, same, seen[same:], kept[same:], match.sizes, left)

    def _answers_at(self, lineage: Lineage, message: Message, depth: int) -> bool:
        """Whether a message is the model's answer to just so many messages: the path there was left, nothing was dropped."""
        return lineage.said.get(self._words(message), ("", -1))[1] == depth

    def _attempts(self, seen: tuple[str, str], span_id: str) -> tuple[str, int]:
        """The first model call of a session that saw these very messages, if not this, and the how manieth this is."""
        first, attempts = self._contexts.get(seen, ("", 0))
        remember(self._contexts, seen, (first or span_id, attempts + 1))
        return first, attempts + 1

    def _begin(self, session: str, old: Lineage | None, same: int, inside: Sequence[Ask]) -> Lineage:
        """A new lineage; from the first items of another when it forks off, or goes on where that one has no room."""
        lineage = Lineage(session)
        if old is None and session in self._left:
            left = self._left.pop(session)
            lineage.asks, lineage.said = left.asks, left.said
        if old is not None:
            lineage.items = [item._replace(at=STRIDE * (n + 1)) for n, item in enumerate(old.items[:same])]
            lineage.top = STRIDE * same
            lineage.chain = old.chain[:same]
            lineage.asks, lineage.said, lineage.reply = old.asks.copy(), old.said.copy(), old.reply
            for ask in inside:
                if lineage.asks.get(ask.call_id) is ask:
                    del lineage.asks[ask.call_id]
        return lineage

    def _item(self, lineage: Lineage, match: Match, seen: Seen, at: int) -> Item:
        if seen.call:
            ask = lineage.asks.get(seen.call)
            return Item(at, seen.hash, seen.role, seen.call, keys=_entries(ask) if ask else ())
        if seen.role != "assistant":
            return Item(at, seen.hash, seen.role)
        message = match.part(seen)
        calls = calls_of(message)
        asks = [lineage.asks[str(call.get("id"))] for call in calls if str(call.get("id")) in lineage.asks]
        origin = asks[0].decision if asks else lineage.said.get(self._words(message), ("", 0))[0]
        keys = [f"{EntryKind.DECISION}:{origin}"] if asks else []
        keys += [key for ask in asks for key in _entries(ask)]
        if not asks:
            keys += [key for call in calls for key in _declared(str(call.get("name") or ""), call.get("arguments"))]
        return Item(at, seen.hash, seen.role, "", origin, tuple(dict.fromkeys(keys)))

    def _instruct(self, lineage: Lineage, match: Match, added: list[Added], gone: list[Item]) -> None:
        if match.instructions == lineage.instructions and (lineage.system or not match.instructions):
            return
        if match.follows >= 0 and not match.instructions:
            return
        gone += lineage.system
        first = _SYSTEM + lineage.instructed
        lineage.instructed += len(match.instructions)
        lineage.instructions = match.instructions
        system = []
        leading = len(match.instructions) - match.lead
        for number, given in enumerate(match.instructions):
            message = {"role": "system", "parts": given} if number < leading else match.messages[number - leading]
            item = Item(first + number, self._policy.hash(message), "system")
            system.append(item)
            added.append(Added(item, message))
        lineage.system = system

    def _answers(self, lineage: Lineage, added: list[Added]) -> list[Answer]:
        found = []
        for item, message in added:
            ask = lineage.asks.get(item.call) if item.call else None
            if ask is not None and not ask.claimed and message is not None:
                ask.claimed = True
                found.append(Answer(ask, *result_of(message)))
        return found

    def _evicted(self, lineage: Lineage, match: Match, left: list[Item]) -> list[str]:
        if not left:
            return []
        present = {item.hash for item in lineage.items}
        stated = {key for item in lineage.items for key in item.keys}
        found = {item.entry: None for item in left if item.hash not in present}
        wanted = [key for item in left for key in item.keys if key not in stated]
        if wanted:
            text = "\n".join(as_text(message) for message in match.messages)
            found |= {key: None for key in wanted if not _states(text, key)}
        return list(found)


def _entries(ask: Ask) -> tuple[str, ...]:
    if ask.entries is None:
        ask.entries = _declared(ask.tool, ask.arguments)
    return ask.entries


def _declared(tool: str, arguments: Any) -> tuple[str, ...]:
    touches = declared_touches(tool, arguments)
    return tuple(f"{EntryKind.FILE if touch.is_file else EntryKind.SOURCE}:{entry_key(touch.key)}" for touch in touches)


def _tells(lineage: Lineage, shared: list[Item]) -> bool:
    """Whether shared messages are enough to tell a conversation: what its model said or asked for, or its latest input and one
    more. What an application puts into a model's mouth is in many."""
    if any(item.origin or item.call in lineage.asks for item in shared if item.role != "user"):
        return True
    latest = next((item for item in reversed(lineage.items) if item.role == "user"), None)
    return len(shared) > 1 and latest in shared


def _is_anothers(match: Match, lineage: Lineage) -> bool:
    """Whether a context under other instructions, in which no model has said anything yet, comes while the lineage waits for
    its tools: one of them asks a model of its own."""
    if match.instructions[: len(lineage.instructions)] == lineage.instructions or not lineage.waits:
        return False
    return all(role(match.messages[index]) == "user" for index in range(match.lead, len(match.messages)))


def _prefix(lineage: Lineage) -> str:
    """The digest of what came before the latest input."""
    last = len(lineage.items) - 1
    for place in range(last, -1, -1):
        if lineage.items[place].role == "user":
            last = place
            break
    return lineage.chain[last - 1] if last > 0 else NOTHING


def _states(text: str, entry: str) -> bool:
    """Whether a text names the file, address or decision; `a.py` is not named by `data.py` or `src/a.py`."""
    key = entry.partition(":")[2]
    return key in text and re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(key)}(?![\w/-])", text) is not None
