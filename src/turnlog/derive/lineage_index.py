"""The lineages of one process, newest last, found by session, by first and last message and by what was said last. Bounded."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeVar

from turnlog.derive.sight import Filed, Lineage

_MOST_LINEAGES = 4096
# The application's own messages are held for comparison only for so many conversations.
_MOST_COMPARED = 64
_MOST_ITEMS = 50_000
_MOST_TRIED = 32
# Plain: one of these for every message, and the collector does not look into a dictionary of texts.
_Names = dict[str, None]
K = TypeVar("K")
V = TypeVar("V")


class LineageIndex:
    def __init__(self) -> None:
        self._lineages: OrderedDict[str, Lineage] = OrderedDict()
        self._compared: OrderedDict[str, None] = OrderedDict()
        self._sessions: dict[str, _Names] = {}
        self._roots: dict[str, _Names] = {}
        self._tails: dict[str, _Names] = {}
        self._replies: dict[str, _Names] = {}
        self._held = 0

    def all(self) -> Iterable[Lineage]:
        return self._lineages.values()

    def get(self, name: str) -> Lineage | None:
        return self._lineages.get(name)

    def newest(self) -> list[Lineage]:
        return self._newest(self._lineages)

    def of_session(self, session: str) -> list[Lineage]:
        return self._newest(self._sessions.get(session))

    def with_root(self, digest: str) -> list[Lineage]:
        """Those whose first message is this one."""
        return self._newest(self._roots.get(digest))

    def with_tails(self, digests: Iterable[str]) -> list[Lineage]:
        """Those whose last message is among these."""
        names = dict.fromkeys(name for digest in digests for name in self._tails.get(digest, ()))
        return [self._lineages[name] for name in names]

    def with_replies(self, keys: Iterable[str]) -> list[Lineage]:
        """Those whose model last said one of these: digests of texts, ids of tool calls."""
        names = dict.fromkeys(name for key in keys for name in self._replies.get(key, ()))
        return [self._lineages[name] for name in names]

    def file_reply(self, lineage: Lineage, keys: list[str]) -> None:
        if lineage.id in self._lineages:
            for key in lineage.replies:
                _drop(self._replies, key, lineage.id)
            for key in keys:
                self._replies.setdefault(key, {})[lineage.id] = None
        lineage.replies = keys

    def file(self, lineage: Lineage) -> None:
        """Index the lineage anew as the newest, and let go of what is more than the bounds allow."""
        items = lineage.items
        filed = Filed(lineage.session, items[0].hash if items else "", items[-1].hash if items else "", len(items))
        self._held += filed.held - lineage.filed.held
        for index, before, now in self._places(lineage.filed, filed):
            if before and before != now:
                _drop(index, before, lineage.id)
            names = index.setdefault(now, {})
            names.pop(lineage.id, None)
            names[lineage.id] = None
        lineage.filed = filed
        self._lineages[lineage.id] = lineage
        self._lineages.move_to_end(lineage.id)
        self._compared[lineage.id] = None
        self._compared.move_to_end(lineage.id)
        if len(self._compared) > _MOST_COMPARED:
            name, _ = self._compared.popitem(last=False)
            if name in self._lineages:
                self._lineages[name].marks, self._lineages[name].sizes = (), ()
        while len(self._lineages) > 1 and (len(self._lineages) > _MOST_LINEAGES or self._held > _MOST_ITEMS):
            self._forget(next(iter(self._lineages.values())))

    def _forget(self, lineage: Lineage) -> None:
        del self._lineages[lineage.id]
        self._held -= lineage.filed.held
        for index, key, _ in self._places(lineage.filed, lineage.filed):
            _drop(index, key, lineage.id)
        for key in lineage.replies:
            _drop(self._replies, key, lineage.id)

    def _newest(self, names: _Names | OrderedDict[str, Lineage] | None) -> list[Lineage]:
        return [self._lineages[name] for name in itertools.islice(reversed(names), _MOST_TRIED)] if names else []

    def _places(self, before: Filed, now: Filed) -> tuple[tuple[dict[str, _Names], str, str], ...]:
        return (
            (self._sessions, before.session, now.session),
            (self._roots, before.root, now.root),
            (self._tails, before.tail, now.tail),
        )


def remember(into: dict[K, V], key: K, value: V, most: int = _MOST_LINEAGES) -> None:
    into.pop(key, None)
    into[key] = value
    if len(into) > most:
        del into[next(iter(into))]


def _drop(index: dict[str, _Names], key: str, name: str) -> None:
    if key in index:
        index[key].pop(name, None)
        if not index[key]:
            del index[key]
