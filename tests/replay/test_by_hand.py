"""`@turnlog.tool` replayed: what the caller got it gets again, the same commits are made, and no function is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replayed import Stage

PROGRAM = """
import asyncio, json, pathlib, sys, time
import turnlog

effects = pathlib.Path("effects.txt")
said = []

def happened(what):
    with effects.open("a") as file:
        file.write(what + "\\n")

@turnlog.tool
def write(path, text):
    happened("write")
    pathlib.Path(path).write_text(text)
    turnlog.note("wrote " + path, key="written")
    turnlog.decide("stop", why="enough " * 80, about="writing")
    return {"b": len(text), "a": (1, 2), "when": time.time()}

@turnlog.tool
def fail(how):
    happened("fail")
    raise {"key": KeyError("x"), "file": FileNotFoundError(2, "gone", "/nowhere")}[how]

@turnlog.tool
async def later(n):
    happened("later")
    await asyncio.sleep(0.01)
    return [time.time(), n]

@turnlog.tool
def count(n):
    for i in range(n):
        happened("count")
        yield i, time.time()
    return "counted"

@turnlog.tool
async def count_later(n):
    for i in range(n):
        happened("count_later")
        yield i
    raise OSError("ran out")

tries = []

@turnlog.tool(retries=2)
def flaky():
    happened("flaky")
    tries.append(1)
    if len(tries) < 3:
        raise ValueError(f"attempt {len(tries)}")
    return "at last"

@turnlog.tool(timeout=0.2)
def slow():
    happened("slow")
    time.sleep(1)

@turnlog.tool(timeout=0.2, retries=1)
async def slow_later():
    happened("slow_later")
    await asyncio.sleep(1)

class Desk:
    @turnlog.tool
    def sort(self, *papers, by="name"):
        happened("sort")
        return sorted(papers), by

    @turnlog.tool(name="weigh")
    @staticmethod
    def weighed(paper):
        happened("weigh")
        return 1.5

def attempt(call):
    try:
        said.append(call())
    except Exception as error:
        said.append([type(error).__name__, str(error), getattr(error, "errno", None)])

def drain(generator):
    try:
        while True:
            said.append(next(generator))
    except StopIteration as stop:
        said.append(stop.value)

async def all_later(generator):
    async for item in generator:
        said.append(item)

async def both():
    return await asyncio.gather(later(1), later(2), later(1))

with turnlog.session("by-hand"), turnlog.turn(input="work"):
    attempt(lambda: write("out.txt", "hello"))
    attempt(lambda: write("out.txt", "hello again"))
    attempt(lambda: write("out.txt", "hello"))
    attempt(lambda: fail("key"))
    attempt(lambda: fail("file"))
    said.append(asyncio.run(both()))
    drain(count(3))
    for item in count(5):
        said.append(item)
        break
    attempt(lambda: asyncio.run(all_later(count_later(2))))
    for result in (flaky(), slow(), asyncio.run(slow_later())):
        said.append([result.value, result.error and [result.error.kind, result.error.message, result.error.attempts]])
    said.append(Desk().sort("b", "a", by="date"))
    said.append(Desk.weighed("a"))
print(json.dumps(said, default=list))
"""


def test_every_shape_of_tool_gives_back_what_it_gave_and_does_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PROGRAM)
    printed = stage.record([], session="")
    assert stage.take_effects()["effects.txt"].split() == [
        *["write"] * 3,
        *["fail"] * 2,
        *["later"] * 3,
        *["count"] * 4,
        *["count_later"] * 2,
        *["flaky"] * 3,
        "slow",
        *["slow_later"] * 2,
        "sort",
        "weigh",
    ]
    done = stage.replay(session="by-hand")
    assert (json.loads(done.stdout), done.stderr) == (json.loads(printed), "")
    assert stage.take_effects() == {}
    stage.assert_exact("by-hand")


LIFECYCLE = """
import turnlog

@turnlog.tool
def ask():
    s.pause("human_input")
    return "asked"

with turnlog.session("life") as s, turnlog.turn(input="work"):
    print(ask())
    s.resume()
"""


def test_a_change_of_the_lifecycle_inside_a_tool_is_made_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, LIFECYCLE)
    stage.record([], session="")
    assert [row["kind"] for row in stage.commits("life")].count("lifecycle") == 2
    done = stage.replay(session="life")
    assert (done.stdout, done.stderr) == ("asked\n", "")
    stage.assert_exact("life")


CHANGED = """
import dataclasses
import turnlog

@dataclasses.dataclass
class Found:
    where: str

@turnlog.tool
def find():
    return Found("here")

@turnlog.tool
def find_all():
    yield Found("here")

with turnlog.session("changed"), turnlog.turn(input="work"):
    try:
        print(find(), list(find_all()))
    except Exception as error:
        print("not for agents to see", error)
"""


@pytest.mark.parametrize("asked", ["find(), list(find_all())", "list(find_all()), find()"])
def test_what_cannot_be_read_back_is_no_failed_tool(tmp_path: Path, asked: str) -> None:
    stage = Stage(tmp_path, CHANGED.replace("find(), list(find_all())", asked))
    stage.record([], session="")
    stage.program = stage.program.replace("    where: str", "    where: str\n    line: int = 0")
    done = stage.replay(session="changed", code=1)
    assert (done.stdout, "__main__.Found with the fields of then is not there" in done.stderr) == ("", True)


def test_a_store_that_cannot_be_read_is_no_failed_tool(tmp_path: Path) -> None:
    stage = Stage(tmp_path, CHANGED.replace("def find():", "def find(where=1):"))
    stage.record([], session="")
    breaks = f"pathlib.Path({str(stage.settings.database)!r}).write_text('no database')"
    stage.program = stage.program.replace("    try:", f"    import pathlib; {breaks}\n    try:").replace(
        "print(find()", "print(find(2)"
    )
    done = stage.replay(session="changed", code=1)
    assert (done.stdout, "the replay of changed stops: NotAStore: " in done.stderr) == ("", True)
