"""The same few turns in every framework, against a scripted model, and what the log must say of them.

A driver is a module in `drivers/` with a class `Driver`: a conversation of the framework's own kind, with the tools of this
module and with SESSION as the framework's own session id. `python scenario.py NAME` plays the scenario with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent))

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

SESSION = "conformance"
TURNS = ("add", "fail", "wait", "both", "stream", "leave", "hang", "add again")

hanging = asyncio.Event()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(reason: str) -> str:
    """Fail."""
    raise ValueError(reason)


async def wait(seconds: float) -> str:
    """Wait. A framework with a time limit for tools sets it below this; in others the tool itself gives up."""
    async with asyncio.timeout(0.05):
        await asyncio.sleep(seconds)
    return "waited"


async def wait_on(seconds: float) -> str:
    """Wait, for frameworks that have a time limit for tools."""
    await asyncio.sleep(seconds)
    return "waited"


async def hang(name: str) -> str:
    """Never answer."""
    hanging.set()
    await asyncio.sleep(60)
    return name


CALLS = {
    "add": [ToolCall("add", {"a": 1, "b": 2})],
    "fail": [ToolCall("fail", {"reason": "kaput"})],
    "wait": [ToolCall("wait", {"seconds": 60.0})],
    "both": [ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})],
    "stream": [ToolCall("add", {"a": 2, "b": 2})],
    "leave": [],
    "hang": [ToolCall("hang", {"name": "x"})],
    "add again": [ToolCall("add", {"a": 5, "b": 6})],
}


class Driver(Protocol):
    """`raises`: what a failing or timed-out tool raises out of the turn, in frameworks that do not tell the model."""

    raises: tuple[type[BaseException], ...] = ()

    def __init__(self, model: ScriptedModel) -> None: ...
    async def turn(self, text: str) -> str: ...
    async def stream(self, text: str, leave: bool = False) -> None:
        """A turn read as a stream, to its end, or only its first piece of the model's text."""


def answer(body: dict[str, Any]) -> Reply:
    """Calls for what the user says, and words once their results are there."""
    text = _latest_input(body)
    calls = CALLS.get(text, [])
    return Reply(f"I do as told: {text}.", tool_calls=calls) if calls else Reply("That is all that there is to say.")


def _latest_input(body: dict[str, Any]) -> str:
    """What the user said, if that is what the model is to answer. Works on every API that the scripted model speaks."""
    last = (body.get("messages") or body.get("input") or body.get("contents") or [{}])[-1]
    if isinstance(last, str):
        return last
    content = last.get("content") or last.get("parts") or ""
    if last.get("role") != "user":
        return ""
    if isinstance(content, str):
        # Some put words of their own before what the user says.
        return next((text for text in CALLS if content.endswith(f" {text}")), content)
    for part in reversed(content):
        if part.get("type") == "tool_result" or "functionResponse" in part:
            break
        if part.get("text") in CALLS:
            return part["text"]
    return ""


async def play(driver: Driver) -> None:
    await driver.turn("add")
    for text in ("fail", "wait"):
        with contextlib.suppress(*driver.raises):
            await driver.turn(text)
    await driver.turn("both")
    await driver.stream("stream")
    await driver.stream("leave", leave=True)
    task = asyncio.ensure_future(driver.turn("hang"))
    await asyncio.wait([asyncio.ensure_future(hanging.wait()), task], return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await driver.turn("add again")
    if close := getattr(driver, "close", None):
        await close()


def expected(raises: bool, cancels: bool) -> list[tuple[int, str, str, str]]:
    """Turn, kind, tool and outcome of every commit.

    `raises`: a failure ends its turn before the model hears of it. `cancels`: the framework cancels the model call of a stream
    that is left; in others it has just not been read to its end.
    """
    outcomes = {"fail": "error", "wait": "timeout", "hang": "cancelled"}
    rows = []
    for turn, text in enumerate(TURNS, 1):
        rows.append((turn, "decision", "", "cancelled" if cancels and text == "leave" else "ok"))
        rows += [(turn, "tool", call.name, outcomes.get(text, "ok")) for call in CALLS[text]]
        if CALLS[text] and text != "hang" and not (raises and text in outcomes):
            rows.append((turn, "decision", "", "ok"))
    return rows


def main(name: str) -> None:
    driver = importlib.import_module(f"drivers.{name}").Driver
    with ScriptedModel(answer) as model:
        asyncio.run(play(driver(model)))


if __name__ == "__main__":
    # Not this module's own main(): drivers import the module by name, and its event with it.
    importlib.import_module("scenario").main(sys.argv[1])
