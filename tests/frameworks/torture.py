"""Programs that mistreat contexts, threads, tasks, generators and processes. Each is a function here, and is played by every
subject in `subjects/`: a framework behind the few methods that these programs need.

Whatever an agent says, calls or is told names the conversation and the input it belongs to ("threads3/2"), so that the log can
be checked against itself. `python torture.py SUBJECT PROGRAM ...` plays some, one after the other.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import itertools
import json
import multiprocessing
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))

import turnlog
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

KABOOM = ValueError("kaboom")
CALLS = 10_000


class Subject(Protocol):
    """Made with the model's address and its tools. Without a session, a run is part of what is around it."""

    recorded: Callable[..., Any]

    def __init__(self, url: str, *tools: Callable[..., Any]) -> None: ...
    def run(self, session: str, text: str) -> str: ...
    async def arun(self, session: str, text: str) -> str: ...
    def stream(self, session: str, text: str) -> Iterator[Any]: ...
    async def astream(self, session: str, text: str) -> AsyncIterator[Any]: ...


class Framework(Protocol):
    """A module of `subjects`. `caller` calls models and tools without a server, as cheap as it gets, at least EACH times."""

    EACH: int
    Subject: type[Subject]

    def with_callback(self, url: str, callback: Callable[..., None]) -> Subject: ...
    def caller(self) -> Callable[[], None]: ...


def answer(body: dict[str, Any]) -> Reply:
    """Does what the last input says: "s3/2 tool" calls the tool of that name, and every word names the input."""
    text, is_latest = _last_input(body.get("messages") or body["input"])
    who, _, wanted = text.partition(" ")
    if wanted and is_latest:
        return Reply(f"{who} asks", tool_calls=[ToolCall(wanted, {"who": who})])
    return Reply(f"{who} has nothing more to say about any of this.")


def _last_input(said: list[dict[str, Any]]) -> tuple[str, bool]:
    """What a user said last, and whether nothing has come after it."""
    for place, message in enumerate(reversed(said)):
        if message.get("role") == "user":
            content = message["content"]
            texts = [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
            if texts:
                return texts[-1], place == 0
    raise LookupError("nobody has said anything")


def sessions(program: str, count: int) -> list[str]:
    return [f"{program}{n}" for n in range(count)]


def echo(who: str) -> str:
    """Say it again."""
    time.sleep(0.002)
    return f"{who} echoed"


def at_once(do: Callable[[str], object], sessions: list[str]) -> None:
    workers = [threading.Thread(target=do, args=(session,)) for session in sessions]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def threads(framework: Framework, url: str) -> None:
    agent = framework.Subject(url, echo)
    at_once(lambda session: [agent.run(session, f"{session}/{turn} echo") for turn in range(1, 4)], sessions("threads", 8))


def task_group(framework: Framework, url: str) -> None:
    agent = framework.Subject(url, echo)

    async def converse(session: str) -> None:
        for turn in range(1, 4):
            await agent.arun(session, f"{session}/{turn} echo")

    async def all_at_once() -> None:
        async with asyncio.TaskGroup() as group:
            for session in sessions("task_group", 8):
                group.create_task(converse(session))

    asyncio.run(all_at_once())


def executors(framework: Framework, url: str) -> None:
    """Agents in worker threads of a loop, and tools that hand their work to further threads, with and without the context."""

    @turnlog.tool
    def inner(who: str) -> str:
        return f"{who} inside"

    async def hand_over(who: str) -> str:
        """Work elsewhere."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(2) as pool:
            thread = threading.Thread(target=inner, args=(who,))
            thread.start()
            found = await asyncio.gather(asyncio.to_thread(inner, who), loop.run_in_executor(pool, inner, who))
            await asyncio.to_thread(thread.join)
        return str(found[0])

    agent = framework.Subject(url, echo, hand_over)

    async def converse(session: str) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, agent.run, session, f"{session}/1 echo")
        await agent.arun(session, f"{session}/2 hand_over")
        await asyncio.to_thread(agent.run, session, f"{session}/3 echo")

    async def all_at_once() -> None:
        await asyncio.gather(*map(converse, sessions("executors", 4)))

    asyncio.run(all_at_once())


def carried(framework: Framework, url: str) -> None:
    """Agents that know no session: it is named around whatever hands them to a thread, in pools that all sessions share."""
    agent = framework.Subject(url, echo)

    def converse(session: str, pool: ThreadPoolExecutor) -> None:
        with turnlog.session(session):
            thread = threading.Thread(target=agent.run, args=("", f"{session}/1 echo"))
            thread.start()
            thread.join()
            pool.submit(agent.run, "", f"{session}/2 echo").result()
            asyncio.run(in_executor(f"{session}/3 echo", pool))

    async def in_executor(text: str, pool: ThreadPoolExecutor) -> None:
        await asyncio.get_running_loop().run_in_executor(pool, agent.run, "", text)

    with ThreadPoolExecutor(2) as pool:
        at_once(lambda session: converse(session, pool), sessions("carried", 4))


def nested(framework: Framework, url: str) -> None:
    """A tool that runs another agent, whose tool runs a third; and one that calls itself."""
    third = framework.Subject(url, echo)

    def middle(who: str) -> str:
        """Ask the third agent."""
        return third.run("", f"{who} echo")

    second = framework.Subject(url, middle)

    def outer(who: str) -> str:
        """Ask the second agent."""
        return second.run("", f"{who} middle")

    def again(who: str, depth: int = 0) -> str:
        """Call itself."""
        return f"{who} deep" if depth == 3 else deeper(who=who, depth=depth + 1)

    deeper = framework.Subject.recorded(again)
    first = framework.Subject(url, outer, again)
    converse = lambda session: [first.run(session, f"{session}/1 outer"), first.run(session, f"{session}/2 again")]  # noqa: E731
    at_once(converse, sessions("nested", 3))


def abandoned(framework: Framework, url: str) -> None:
    """Streams left half way: by break, by losing the last reference, and collected by a task of another session."""
    agent = framework.Subject(url, echo)

    async def converse(session: str) -> None:
        cycle: list[Any] = []
        stream = await agent.astream(session, f"{session}/1 ")
        cycle.append((cycle, stream))
        async for _ in stream:
            break
        del stream, cycle
        async for _ in await agent.astream(session, f"{session}/2 "):
            break
        gc.collect()
        await asyncio.sleep(0)
        await agent.arun(session, f"{session}/3 echo")

    async def all_at_once() -> None:
        asyncio.get_running_loop().set_exception_handler(_forgive)
        await asyncio.gather(*map(converse, sessions("abandoned", 6)))
        gc.collect()

    asyncio.run(all_at_once())
    for session in sessions("abandoned", 3):
        if not hasattr(agent, "stream"):
            agent.run(session, f"{session}/4 echo")
            continue
        for _ in agent.stream(session, f"{session}/4 "):
            break
    gc.collect()


def _forgive(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """httpx's generators close those inside them, and the loop closes those too when all are collected at once: a bare SDK
    without turnlog is as loud."""
    if "asynchronous generator is already running" not in str(context.get("exception")):
        loop.default_exception_handler(context)


def callbacks(framework: Framework, url: str) -> None:
    """The application's own callbacks and tools raise, and what comes out is that very object, or came of it."""

    def explode(who: str = "") -> str:
        """Fail."""
        raise KABOOM

    broken = framework.with_callback(url, lambda *_: explode())
    for turn, (agent, wanted) in enumerate([(broken, ""), (framework.Subject(url, explode), "explode")], 1):
        try:
            agent.run("callbacks0", f"callbacks0/{turn} {wanted}")
        except Exception as error:
            if KABOOM not in (error, error.__cause__):
                raise
        else:
            raise AssertionError(f"turn {turn} did not fail")


def _in_a_child(subject: str, url: str, session: str) -> None:
    agent = importlib.import_module(f"subjects.{subject}").Subject(url, echo)
    agent.run(session, f"{session}/1 echo")


def forked(framework: Framework, url: str) -> None:
    _processes(framework, url, "fork")


def spawned(framework: Framework, url: str) -> None:
    _processes(framework, url, "spawn")


def _processes(framework: Any, url: str, method: str) -> None:
    agent, parent = framework.Subject(url, echo), f"{method}ing"
    agent.run(parent, f"{parent}/1 echo")
    context = multiprocessing.get_context(method)
    name = framework.__name__.rpartition(".")[2]
    children = [context.Process(target=_in_a_child, args=(name, url, session)) for session in sessions(method, 2)]
    for child in children:
        child.start()
    agent.run(parent, f"{parent}/2 echo")
    for child in children:
        child.join()
        assert child.exitcode == 0


def memory(framework: Framework, url: str) -> None:
    """Half of the calls, after as many: how many objects there are before and after, and how many that turnlog cannot hold."""
    call = framework.caller()

    def calls(count: int) -> tuple[int, int]:
        for _ in range(count):
            call()
        fewest, theirs = objects()
        # The loader's thread holds the rows that it is loading: only when it has been idle for a while do they count.
        since = 0
        while since < 5:
            found, of_them = objects()
            since = 0 if found < fewest or of_them < theirs else since + 1
            fewest, theirs = min(fewest, found), min(theirs, of_them)
        return fewest, theirs

    def objects() -> tuple[int, int]:
        time.sleep(0.2)
        gc.collect()
        found = Counter(map(type, gc.get_objects()))
        return found.total(), sum(number for kind, number in found.items() if not _may_be_remembered(kind))

    half, few = CALLS // 2 // framework.EACH, CALLS // 20 // framework.EACH
    calls(half - few)
    print(json.dumps([calls(few), calls(half), half]))


def _may_be_remembered(kind: type) -> bool:
    """turnlog remembers the ids and hashes of a few thousand spans: plain values and objects of its own. A framework's objects,
    tasks, frames and contexts are none of that."""
    module = str(kind.__module__).partition(".")[0]
    return kind in (dict, list, tuple, set, itertools.count) or module in ("turnlog", "opentelemetry")


def main(subject: str, *programs: str) -> None:
    framework = importlib.import_module(f"subjects.{subject}")
    with ScriptedModel(answer) as model:
        for program in programs:
            globals()[program](framework, model.url)


if __name__ == "__main__":
    main(*sys.argv[1:])
