"""Where a program does something else than was recorded, its replay says what and stops; what cannot be replayed is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from programs import run
from replayed import CLI, Stage
from turnlog.demo.reply import Reply

CHAT = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none")
messages = []
for question in ("hi", "how are you"):
    messages.append({"role": "user", "content": question})
    try:
        reply = client.chat.completions.create(model="m", messages=messages, temperature=0)
    except Exception as error:
        print("not for programs to catch", error)
        raise
    print(reply.choices[0].message.content, flush=True)
    messages.append({"role": "assistant", "content": reply.choices[0].message.content})
"""
BREAK = """
import sys
from openai import OpenAI
ask = [{"role": "user", "content": "hi"}]
for piece in OpenAI(base_url=sys.argv[1], api_key="none").chat.completions.create(model="m", messages=ask, stream=True):
    print(piece.choices[0].delta.content)
    if piece.choices[0].delta.content == "two ":
        break
"""


def report_of(stage: Stage) -> str:
    """What was said on stderr but for its last line, which says where in the program it was asked."""
    done = stage.replay(code=1)
    assert "not for programs" not in done.stdout
    said, _, place = done.stderr.strip().rpartition("\nasked at ")
    assert place.startswith(f"{stage.folder / 'app.py'}:")
    return said


@pytest.fixture
def chat(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path, CHAT)
    stage.record(["Hello.", "Fine."])
    return stage


def test_another_message_is_shown_as_a_diff(chat: Stage) -> None:
    chat.program = CHAT.replace("how are you", "what time is it")
    assert report_of(chat).splitlines() == [
        'turnlog: the replay of s diverged in turn 2, at the model call "how are you": the program asks for something else.',
        "--- recorded",
        "+++ asked now",
        "@@ -2,2 +2,2 @@",
        " assistant: Hello.",
        "-user: how are you",
        "+user: what time is it",
    ]


def test_another_setting_of_the_same_messages_is_named(chat: Stage) -> None:
    chat.program = CHAT.replace("temperature=0", "temperature=0.7, user='me'")
    assert report_of(chat).splitlines() == [
        'turnlog: the replay of s diverged in turn 1, at the model call "hi": '
        "the messages are the same, but the request is not:",
        "  temperature: 0 → 0.7",
    ]


def test_one_call_more_than_was_recorded(chat: Stage) -> None:
    chat.program = CHAT.replace('"how are you")', '"how are you", "and now")')
    assert report_of(chat) == (
        "turnlog: the replay of s diverged: the program asks for a model call, and the recording has no more of those."
    )


def test_calls_that_nobody_asks_for_are_reported_in_the_end(chat: Stage) -> None:
    chat.program = CHAT.replace(', "how are you")', ",)")
    assert chat.replay().stderr.splitlines() == [
        "turnlog: the program ended, and 1 recorded call of s was never asked for:",
        '  turn 2: the model call "how are you"',
    ]


def test_reading_on_where_the_program_stopped_reading(tmp_path: Path) -> None:
    stage = Stage(tmp_path, BREAK)
    stage.record([Reply("one two three")])
    stage.program = BREAK.replace('"two "', '"three"')
    assert report_of(stage) == (
        'turnlog: the replay of s diverged in turn 1, at the model call "hi": it reads on where it stopped reading the answer'
    )


def test_a_divergence_stops_further_calls_too(chat: Stage) -> None:
    chat.program = CHAT.replace("how are you", "what").replace("except Exception as error:", "except BaseException as error:")
    chat.program = chat.program.replace('        print("not for programs to catch", error)\n        raise', "        continue")
    chat.program = chat.program.replace('"what")', '"what", "how are you")')
    done = chat.replay()
    assert (done.stdout, done.stderr.count("diverged")) == ("Hello.\n", 1)


def test_the_diverged_call_is_a_failure_in_the_log_of_the_replay(chat: Stage) -> None:
    chat.program = CHAT.replace("how are you", "what")
    chat.replay(code=1)
    last = chat.commits(chat.sessions()[-1])[-1]
    assert (last["outcome"], last["error"]) == ("error", "turnlog.errors.ReplayDiverged")


def test_a_secret_that_no_recording_has_does_not_diverge(tmp_path: Path) -> None:
    stage = Stage(tmp_path, CHAT)
    stage.record(["The key is sk-abcdefghijklmnopqrstuvwx.", "Fine."])
    done = stage.replay()
    assert (done.stdout, done.stderr) == ("The key is [REDACTED:api_key].\nFine.\n", "")


def test_what_was_not_captured_in_full_is_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path, CHAT)
    stage.record(["Hello.", "Fine."], "--capture", "summary")
    done = stage.replay(code=1)
    assert (done.stdout, done.stderr) == (
        "",
        "turnlog: session s cannot be replayed without what came back from 2 of its calls: turn 1, the model call "
        '"hi" (nothing was kept of it); turn 2, the model call "how are you" (nothing was kept of it). '
        "Record it again with TURNLOG_CAPTURE=full, which keeps what a replay needs.\n",
    )


def test_a_secret_in_a_streamed_answer_is_not_kept_and_the_call_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path, BREAK)
    stage.record([Reply("the password: sk-abcdefgh ijklmnopqrstuvwx")])
    assert "a secret in a streamed answer" in stage.replay(code=1).stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--replay", "t"), 1, "there is no session 't'"),
        (("--replay", "s", "--from-turn", "9"), 1, "has turns 1 to 2"),
        (("--from-turn", "2"), 2, "go with --replay"),
        (("--replay", "s", "--resume", "s"), 2, "a replay is a session of its own"),
        (("--replay", "s", "--tools", "live", "--model", "live"), 2, "not allowed with"),
    ],
)
def test_what_cannot_be_asked_for(chat: Stage, options: tuple[str, ...], code: int, said: str) -> None:
    done = run(*CLI, "run", *options, sys.executable, "-c", "print('ran')", directory=chat.settings.directory, code=code)
    assert done.stdout == ""
    assert said in done.stderr


def test_a_replay_that_cannot_be_loaded_does_not_go_live(chat: Stage) -> None:
    command = (*CLI, "run", sys.executable, "-c", "print('ran')")
    done = run(*command, directory=chat.settings.directory, code=1, TURNLOG_REPLAY="nothing")
    assert (done.stdout, "nothing is recorded of session nothing" in done.stderr) == ("", True)


def test_a_disabled_turnlog_replays_nothing(chat: Stage) -> None:
    command = (*CLI, "run", "--replay", "s", sys.executable, "-c", "print('ran')")
    done = run(*command, directory=chat.settings.directory, code=1, TURNLOG_DISABLED="1")
    assert (done.stdout, "turnlog is disabled" in done.stderr) == ("", True)


TOOL = """
import pathlib
import turnlog
from langchain_core.tools import tool

@tool
def write(text: str) -> str:
    "Write."
    pathlib.Path("effect.txt").write_text(text)
    return "written"

with turnlog.turn(input="write"):
    print(write.invoke({"text": "a"}))
"""


def install(stage: Stage, distribution: str, version: str, already: str = "") -> None:
    """As after an upgrade; `already` is imported before the program's first line."""
    folder = stage.folder / "offline" / f"{distribution}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    with (stage.folder / "offline" / "sitecustomize.py").open("a") as file:
        file.write(f"import {already or 'sys'}\n")


@pytest.mark.parametrize(
    ("program", "distribution", "title"),
    [(CHAT, "openai", "OpenAI"), (CHAT, "httpx2", "httpx2"), (TOOL, "langchain_core", "LangChain")],
    ids=["the calls", "the requests", "the tools"],
)
def test_what_cannot_be_given_back_in_this_version_is_not_done_either(
    tmp_path: Path, program: str, distribution: str, title: str
) -> None:
    stage = Stage(tmp_path, program)
    stage.record(["Hello.", "Fine."])
    stage.take_effects()
    install(stage, distribution, "99")
    done = stage.replay(code=1)
    said = f"the replay of s stops: what came through {title} cannot be given back: version 99 is outside the tested range"
    assert (done.stdout, said in done.stderr, "Traceback" in done.stderr) == ("", True, False)
    assert stage.take_effects() == {}


def test_what_is_loaded_before_the_program_and_cannot_be_given_back_stops_it_at_once(chat: Stage) -> None:
    install(chat, "openai", "99", already="openai")
    chat.program = "print('ran')"
    done = chat.replay(code=1)
    said = "TurnlogError: what came through OpenAI cannot be given back: version 99 is outside the tested range"
    assert (done.stdout, said in done.stderr) == ("", True)


def test_a_version_that_cannot_be_given_back_is_no_matter_where_nothing_came_through_it(chat: Stage) -> None:
    install(chat, "mcp", "1.27.0")
    chat.program = "import mcp.client.session\n" + CHAT
    assert chat.replay().stdout == "Hello.\nFine.\n"
