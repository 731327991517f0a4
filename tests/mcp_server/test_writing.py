"""What an agent reports of itself is kept once, in the turn that it is in, and never looks like what was observed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from dataclasses import replace

from mcp_server.asking import ask, beside, over_stdio, plain, say
from programs import run, running_code
from recording import Recording
from turnlog import queries
from turnlog.settings import Capture, Settings

_FACTS = 8
_CALLS = 30
_AGENT = f"""
import time, turnlog
turnlog.init()

@turnlog.tool
def work(number):
    time.sleep(0.1)

with turnlog.session("shared"), turnlog.turn(input="work"):
    turnlog.note("it begins", key="begun")
    print("begun", flush=True)
    for number in range({_CALLS}):
        work(number)
print("done", flush=True)
"""


async def test_reports_are_state_and_marked_as_the_agents_own(told: Recording) -> None:
    async with beside(told.settings) as client:
        said = [
            await ask(client, "record_decision", choice="by hand", why="it is small", about="method", alternatives=["both"]),
            await ask(client, "record_fact", fact="the grammar is ambiguous", key="grammar"),
            await ask(client, "add_pending", action="ask about the grammar"),
            await ask(client, "add_pending", action="publish it", key="publish"),
            await ask(client, "resolve_pending", key="review", how="approved"),
        ]
        state = plain(await ask(client, "whats_my_state"))
        log = plain(await ask(client, "log", turn=3))
        key = said[2].rpartition('"')[0].rpartition('"')[2]
        assert "recorded as" in await ask(client, "resolve_pending", key=key[:5])
        unknown = await say(client, "resolve_pending", key="p" + key)
    recorded = 'recorded as ID in turn 3 of session "demo"'
    assert plain("\n".join(said)) == [
        recorded,
        recorded,
        f'{recorded}, pending as "ID"',
        f'{recorded}, pending as "publish"',
        recorded,
    ]
    assert state[1:9] == [
        "not finished (2):",
        '- pending "ID" (turn 3): "ask about the grammar"',
        '- pending "publish" (turn 3): "publish it"',
        "failed, and has not succeeded since (1):",
        '- ID turn 2 tool "run_tests" timeout: "no end in sight", given "{\\"path\\":\\"tests\\"}"',
        "facts (1):",
        '- "grammar": "the grammar is ambiguous" (turn 3, ID, self-reported)',
        "decided (1):",
    ]
    assert state[9] == '- "method": "by hand", because "it is small" (turn 3, ID, self-reported)'
    assert log[1:6] == [
        '- ID turn 3 note ok (self-reported): "approved"',
        '- ID turn 3 note ok (self-reported): "publish it"',
        '- ID turn 3 note ok (self-reported): "ask about the grammar"',
        '- ID turn 3 note ok (self-reported): "the grammar is ambiguous"',
        '- ID turn 3 decision ok (self-reported): chose "by hand", because "it is small"',
    ]
    assert unknown.is_error and 'Pending are: "publish".' in unknown.text


async def test_the_id_that_a_report_is_answered_with_is_that_of_its_commit(told: Recording) -> None:
    async with beside(told.settings) as client:
        said = await ask(client, "record_fact", fact="water is wet")
        shown = plain(await ask(client, "show", commit=said.split()[2]))
    assert shown[1] == '- ID turn 3 note ok (self-reported): "water is wet"'


async def test_a_report_is_kept_as_what_the_agent_says_itself_is(told: Recording) -> None:
    key = "AKIA" + "Q" * 16
    async with beside(told.settings) as client:
        await ask(client, "record_fact", fact=f"the key is {key}", key="secret")
        long = await ask(client, "record_fact", fact="x" * 1_000_000, key="long")
        state = await ask(client, "whats_my_state")
    assert long.endswith(". Only 240 characters of a text are kept: say it shorter, or in several")
    assert key not in state and '- "secret": "the key is ' in state
    assert not [path for path in told.settings.journals.iterdir() if key.encode() in path.read_bytes()]


async def test_a_server_that_keeps_no_words_says_so(told: Recording) -> None:
    async with beside(replace(told.settings, capture=Capture.NONE)) as client:
        said = await ask(client, "record_fact", fact="water is wet", key="water")
        state = plain(await ask(client, "whats_my_state", part="facts"))
    assert said.endswith('session "demo". Its words are not kept: this server runs with TURNLOG_CAPTURE=none')
    assert state[-1] == '- "water": "" (turn 3, ID, self-reported)'


async def test_a_server_that_may_not_write_says_so(settings: Settings, told: Recording) -> None:
    async with over_stdio(settings, TURNLOG_DISABLED="1") as client:
        refused = await say(client, "record_fact", fact="nothing")
        assert "turn 3" in await ask(client, "whats_my_state")
    assert refused.is_error and "nothing is kept: TURNLOG_DISABLED or OTEL_SDK_DISABLED is set" in refused.text


async def test_two_servers_and_an_agent_write_at_once_and_nothing_is_lost_or_doubled(settings: Settings) -> None:
    directory = settings.directory
    with running_code(_AGENT, directory) as agent:
        assert agent.stdout is not None and agent.stdout.readline() == "begun\n"
        async with over_stdio(settings, "--session", "shared") as one, over_stdio(settings, "--session", "shared") as two:

            async def report(name: str, client: object) -> list[str]:
                return [await ask(client, "record_fact", fact=f"{name} {n}", key=f"{name} {n}") for n in range(_FACTS)]  # type: ignore[arg-type]

            async def read(client: object) -> list[int]:
                seen = []
                for _ in range(_FACTS):
                    seen.append(int(re.findall(r"turn 1, (\d+) commit", await ask(client, "whats_my_state"))[0]))  # type: ignore[arg-type]
                return seen

            first, second, *reads = await asyncio.gather(report("one", one), report("two", two), read(one), read(two))
        assert agent.stdout.readline() == "done\n"
        assert agent.wait(60) == 0
    answered = {line.split()[2] for line in first + second}
    assert all(seen == sorted(seen) for seen in reads)
    with queries.reading(settings) as db:
        commits = queries.log(db, "shared", limit=1000)
        facts = sorted(entry.key for entry in queries.state(db, "shared") if entry.kind == "fact")
    assert facts == sorted(["begun", *(f"{name} {number}" for name in ("one", "two") for number in range(_FACTS))])
    assert [(row.kind, bool(row.self_reported), row.turn) for row in commits].count(("tool", False, 1)) == _CALLS
    reported = [row.commit_id[:10] for row in commits if row.self_reported]
    assert len(reported) == len(answered) == 2 * _FACTS and set(reported) == answered
    assert len(commits) == _CALLS + 1 + 2 * _FACTS
    printed = run(sys.executable, "-m", "turnlog", "log", "-n", "1000", directory=directory).stdout
    assert printed.count("(self-reported)") == 2 * _FACTS
    as_json = run(sys.executable, "-m", "turnlog", "log", "-n", "1000", "--json", directory=directory).stdout
    assert sum(json.loads(line)["self_reported"] == "true" for line in as_json.splitlines()) == 2 * _FACTS


async def test_a_server_that_is_killed_loses_no_report(settings: Settings, told: Recording) -> None:
    async with over_stdio(settings, "--session", "demo") as client:
        await ask(client, "record_fact", fact="this must last")
        (kept,) = [path for path in settings.journals.glob("*.journal") if b"this must last" in path.read_bytes()]
        pid = int(kept.name.split("_")[-3])
        os.kill(pid, signal.SIGKILL)
    async with beside(settings) as client:
        assert '"this must last"' in await ask(client, "whats_my_state")
