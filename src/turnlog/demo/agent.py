"""The demo's stage: start the scripted model, run the agent under `turnlog run`, then ask the questions a user would ask."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from turnlog.demo.script import REPLIES
from turnlog.demo.scripted_model import ScriptedModel
from turnlog.errors import MissingExtra, TurnlogError


def main() -> int:
    """Run the agent and show what turnlog knows of it. The record stays in the user's own store."""
    for package in ("langchain", "langchain_openai", "openai"):
        if find_spec(package) is None:
            raise MissingExtra("the demo's agent needs LangChain and the OpenAI SDK: pip install 'turnlog[demo]'")
    thread = f"demo-{time.strftime('%Y%m%d-%H%M%S')}"
    with tempfile.TemporaryDirectory(prefix="turnlog-demo-") as workspace, ScriptedModel(REPLIES) as model:
        agent = ("run", sys.executable, "-m", "turnlog.demo.coder", model.base_url, thread)
        _say("An agent works on a small task, offline: real LangChain, real OpenAI SDK, a scripted model on loopback.")
        if _turnlog(*agent, show="run python agent.py", folder=workspace):
            raise TurnlogError("the demo's agent did not finish; its error is above")
    _say("What did it do?")
    _turnlog("log", "--session", thread)
    _say("Which files did it modify in the last 5 turns?")
    _turnlog("files", "--last", "5", "--session", thread)
    _say("What did it decide differently in turn 3, and why?")
    _turnlog("diff", "2", "3", "--session", thread)
    _say("Where is all this?")
    _turnlog("path")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"\n{line}\n")


def _turnlog(*arguments: str, show: str = "", folder: str | Path | None = None) -> int:
    sys.stdout.write(f"$ turnlog {show or ' '.join(arguments)}\n")
    sys.stdout.flush()
    environment = {key: value for key, value in os.environ.items() if key != "TURNLOG_SESSION"}
    return subprocess.run([sys.executable, "-m", "turnlog", *arguments], cwd=folder, env=environment, check=False).returncode  # noqa: S603 - our own command
