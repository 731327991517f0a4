"""Programs that mistreat contexts, threads, tasks, generators and processes. Each is a function here.

Whatever an agent says, calls or is told names the conversation and the input it belongs to ("s3/2"), so that the log can be
checked against itself. `python torture.py NAME` runs one.
"""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import re
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

import turnlog
from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

KABOOM = ValueError("kaboom")


def answer(body: dict[str, Any]) -> Reply:
    """Does what the last input says: "s3/2 tool" calls the tool of that name, and every word names the input."""
    texts = [message["content"] for message in body["messages"] if message["role"] == "user"]
    who, _, wanted = texts[-1].partition(" ")
    asked = any(message["role"] == "tool" for message in body["messages"][-2:])
    if wanted and not asked:
        return Reply(f"{who} asks", tool_calls=[ToolCall(wanted, {"who": who})])
    return Reply(f"{who} has nothing more to say about any of this.")


def make_agent(model: ScriptedModel, *tools: Any, name: str = "agent") -> Any:
    chat = ChatOpenAI(model="scripted", base_url=model.base_url, api_key="none", max_retries=0)
    return create_agent(
        chat,
        [each if isinstance(each, BaseTool) else tool(each) for each in (echo, *tools)],
        name=name,
        checkpointer=InMemorySaver(),
    )


def echo(who: str) -> str:
    """Say it again."""
    time.sleep(0.002)
    return f"{who} echoed"


def ask(session: str, turn: int, wanted: str = "echo") -> tuple[dict[str, Any], dict[str, Any]]:
    return {"messages": [("user", f"{session}/{turn} {wanted}")]}, {"configurable": {"thread_id": session}}


def threads(model: ScriptedModel) -> None:
    agent = make_agent(model)

    def converse(session: str) -> None:
        for turn in range(1, 4):
            agent.invoke(*ask(session, turn))

    workers = [threading.Thread(target=converse, args=(f"s{n}",)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def task_group(model: ScriptedModel) -> None:
    agent = make_agent(model)

    async def converse(session: str) -> None:
        for turn in range(1, 4):
            await agent.ainvoke(*ask(session, turn))

    async def all_at_once() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(8):
                group.create_task(converse(f"s{n}"))

    asyncio.run(all_at_once())


def executors(model: ScriptedModel) -> None:
    """Agents in worker threads of a loop, and tools that hand their work to further threads, with and without the context."""

    @turnlog.tool
    def inner(who: str) -> str:
        return f"{who} inside"

    async def hand_over(who: str) -> str:
        """Work elsewhere."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(2) as pool:
            found = await asyncio.gather(
                asyncio.to_thread(inner, who), asyncio.to_thread(inner, who), loop.run_in_executor(pool, echo, who)
            )
        return str(found[0])

    agent = make_agent(model, hand_over)

    async def converse(session: str) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: agent.invoke(*ask(session, 1)))
        await agent.ainvoke(*ask(session, 2, "hand_over"))
        await asyncio.to_thread(agent.invoke, *ask(session, 3))

    async def all_at_once() -> None:
        await asyncio.gather(*(converse(f"s{n}") for n in range(4)))

    asyncio.run(all_at_once())


def nested(model: ScriptedModel) -> None:
    """A tool that runs another agent, whose tool runs a third; and one that calls itself."""
    third = make_agent(model, name="third")

    def answer_of(agent: Any, who: str, wanted: str) -> str:
        # A thread of its own: two runs of one thread at once read each other's half-done checkpoints.
        config = {"configurable": {"thread_id": f"{wanted} for {who}"}}
        return agent.invoke({"messages": [("user", f"{who} {wanted}")]}, config)["messages"][-1].content

    def middle(who: str) -> str:
        """Ask the third agent."""
        return answer_of(third, who, "echo")

    second = make_agent(model, middle, name="second")

    def outer(who: str) -> str:
        """Ask the second agent."""
        return answer_of(second, who, "middle")

    @tool
    def again(who: str, depth: int = 0) -> str:
        """Call itself."""
        return f"{who} deep" if depth == 3 else again.invoke({"who": who, "depth": depth + 1})

    first = make_agent(model, outer, again, name="first")
    workers = [
        threading.Thread(target=lambda n=n: [first.invoke(*ask(f"s{n}", 1, "outer")), first.invoke(*ask(f"s{n}", 2, "again"))])
        for n in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def abandoned(model: ScriptedModel) -> None:
    """Streams left half way: by break, by losing the last reference, and collected by a task of another session."""
    agent = make_agent(model)

    async def converse(session: str) -> None:
        cycle: list[Any] = []
        stream = agent.astream(*ask(session, 1, ""), stream_mode="messages")
        cycle.append((cycle, stream))
        async for _ in stream:
            break
        del stream, cycle
        async for _ in agent.astream(*ask(session, 2, ""), stream_mode="messages"):
            break
        gc.collect()
        await asyncio.sleep(0)
        await agent.ainvoke(*ask(session, 3))

    async def all_at_once() -> None:
        await asyncio.gather(*(converse(f"s{n}") for n in range(6)))
        gc.collect()

    asyncio.run(all_at_once())
    for n in range(3):
        for _ in agent.stream(*ask(f"s{n}", 4, ""), stream_mode="messages"):
            break
    gc.collect()


def callbacks(model: ScriptedModel) -> None:
    """The application's own callbacks raise, and its exceptions come out as the very objects that they are."""

    def explode(who: str) -> str:
        """Fail."""
        raise KABOOM

    class Broken(BaseCallbackHandler):
        raise_error = True

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
            raise KABOOM

    agent = make_agent(model, explode)
    for turn, (wanted, handlers) in enumerate([("echo", [Broken()]), ("explode", [])], 1):
        given, config = ask("s0", turn, wanted)
        try:
            agent.invoke(given, {**config, "callbacks": handlers})
        except ValueError as error:
            if error is not KABOOM:
                raise


def _in_a_child(url: str, session: str) -> None:
    class At:
        # Another address to LangChain, which otherwise takes the connections of the parent.
        base_url = f"{url}/"

    make_agent(At()).invoke(*ask(session, 1))  # type: ignore[arg-type]


def forked(model: ScriptedModel) -> None:
    _processes(model, "fork")


def spawned(model: ScriptedModel) -> None:
    _processes(model, "spawn")


def _processes(model: ScriptedModel, method: str) -> None:
    agent = make_agent(model)
    agent.invoke(*ask("parent", 1))
    context = multiprocessing.get_context(method)
    children = [context.Process(target=_in_a_child, args=(model.base_url, f"{method}{n}")) for n in range(2)]
    for child in children:
        child.start()
    agent.invoke(*ask("parent", 2))
    for child in children:
        child.join()
        assert child.exitcode == 0


def memory(model: ScriptedModel) -> None:
    """Ten thousand calls, after as many as turnlog remembers: there are no more objects than before."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    def words() -> Iterator[AIMessage]:
        number = 0
        while True:
            number += 1
            yield AIMessage(f"answer {number}")

    chat, shout = GenericFakeChatModel(messages=words()), tool(echo)
    shout.func = lambda who: who

    def calls(count: int) -> int:
        for number in range(count):
            chat.invoke(f"question {number}")
            shout.invoke({"who": str(number)})
        return min(objects() for _ in range(20))

    def objects() -> int:
        """At one moment: the loader's thread holds the rows that it is loading, so the fewest of several moments count."""
        time.sleep(0.2)
        gc.collect()
        return len(gc.get_objects())

    calls(4_500)
    print(json.dumps([calls(500), calls(5_000)]))


if __name__ == "__main__":
    with ScriptedModel(answer) as model:
        globals()[re.sub(r"\W", "", sys.argv[1])](model)
