"""What following a conversation's messages costs per model call, as its history grows.

`python tests/bench/lineage.py [--quick]`. Each call sends the whole history again, as fresh objects, the way SDKs do, and adds
an answer and a question. `followed` is lineage alone; `whole_call` is a model call through the processor into a journal. Sizes
are interleaved and every ratio is taken inside one round.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import print_machine, print_table, spread
from opentelemetry.sdk.trace import TracerProvider

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.derive.lineage import Lineages
from turnlog.identity import Sessions
from turnlog.instrument.openai_messages import chat_message
from turnlog.journal.writer import JournalWriter
from turnlog.operation import Messages, Operation
from turnlog.processor import SessionProcessor
from turnlog.settings import Settings

_SIZES = (4, 10, 100, 400, 1000)
_TEXT = "The parser reads tokens until the line ends, then it looks one token ahead. " * 8


class Talk:
    """A conversation that begins with so many messages and grows by two a call."""

    def __init__(self, size: int) -> None:
        roles = ("user", "assistant")
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": _TEXT}]
        self.messages += [{"role": roles[n % 2], "content": f"{n}. {_TEXT}"} for n in range(size - 2)]
        self.messages.append({"role": "user", "content": f"first {_TEXT}"})
        self.calls = 0

    def context(self) -> Messages:
        return Messages([dict(message) for message in self.messages], chat_message)

    def reply(self) -> list[dict[str, Any]]:
        self.calls += 1
        text = f"answer {self.calls} {_TEXT}"
        self.messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"{self.calls}. {_TEXT}"}]
        return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]


def followed(size: int, calls: int, folder: Path) -> float:
    policy = ContentPolicy(Settings(directory=folder))
    lineages, talk = Lineages(policy), Talk(size)

    def call(context: Messages, reply: list[dict[str, Any]]) -> None:
        sight = lineages.advance(lineages.match(context, session="s"), "s", "0" * 16)
        sight.changes(policy)
        lineages.replied(sight, reply, "0" * 16, "", None)

    return _time(talk, calls, call)


def whole_call(size: int, calls: int, folder: Path) -> float:
    settings = Settings(directory=folder)
    journal = JournalWriter(settings)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SessionProcessor(ContentPolicy(settings), Sessions("s"), journal))
    tracer = provider.get_tracer("bench")
    attributes = {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_REQUEST_MODEL: "m"}

    def call(context: Messages, reply: list[dict[str, Any]]) -> None:
        operation = Operation.start("chat m", attributes, {semconv.GEN_AI_INPUT_MESSAGES: context}, tracer=tracer)
        operation.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: reply})
        operation.end()

    seconds = _time(Talk(size), calls, call)
    journal.close()
    return seconds


def _time(talk: Talk, calls: int, call: Callable[[Messages, list[dict[str, Any]]], None]) -> float:
    """CPU seconds per call, without the first, which no other precedes, and without making the messages."""
    call(talk.context(), talk.reply())
    spent = 0.0
    for _ in range(calls):
        context = talk.context()
        reply = talk.reply()
        began = time.process_time()
        call(context, reply)
        spent += time.process_time() - began
    return spent / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print_machine()
    rounds, calls = (3, 20) if quick else (9, 60)
    for way in (followed, whole_call):
        found: dict[int, list[float]] = {size: [] for size in _SIZES}
        for _ in range(rounds):
            for size in _SIZES:
                folder = Path(tempfile.mkdtemp())
                gc.collect()
                found[size].append(way(size, calls, folder) * 1e6)
                shutil.rmtree(folder)
        rows = [
            [
                f"{size:,}",
                spread(costs),
                spread(mine / first for mine, first in zip(costs, found[_SIZES[0]], strict=True)),
            ]
            for size, costs in found.items()
        ]
        print_table(way.__name__, ("messages", "µs/call", f"times {_SIZES[0]} messages"), rows)


if __name__ == "__main__":
    main()
