"""The server as clients reach it: started by them, or over HTTP on this machine with a token, and by nobody else."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp_server.asking import Served, ask, over_http, over_stdio, plain, served
from mcp_server.test_answers import STATE
from programs import environment, run, running
from recording import Recording
from turnlog.mcp_server.clients import clients
from turnlog.settings import Settings

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


async def test_a_client_that_starts_the_server_reads_what_another_process_writes(told: Recording) -> None:
    async with over_stdio(told.settings, "--session", "demo") as client:
        assert plain(await ask(client, "whats_my_state")) == STATE.splitlines()
        with told.agent("more", conversation="demo"):
            told.tool("look", {"at": "sky"}, "grey")
            assert plain(await ask(client, "log", turn=4))[1:] == [
                '- ID turn 4 tool "look" ok: "{\\"at\\":\\"sky\\"}" -> "grey"'
            ]


async def test_a_client_with_the_token_reads_over_http(told: Recording) -> None:
    async with served(told.settings) as at, over_http(at) as client, over_http(at) as other:
        assert plain(await ask(client, "whats_my_state")) == STATE.splitlines()
        assert "recorded as" in await ask(other, "record_fact", fact="two clients share a server")
        assert '"two clients share a server"' in await ask(client, "whats_my_state")


async def test_only_programs_of_this_machine_that_know_the_token_get_in(told: Recording) -> None:
    async with served(told.settings) as at:
        token = {"Authorization": f"Bearer {at.token}"}
        answers = [
            post(at, headers)
            for headers in (
                {},
                {"Authorization": "Bearer wrong"},
                {"Authorization": f"Basic {at.token}"},
                {**token, "Host": "rebound.example"},
                {**token, "Host": "127.0.0.1.rebound.example:80"},
                {**token, "Origin": "https://evil.example"},
                {**token, "Origin": "null"},
                token,
            )
        ]
    unknown = (401, "the bearer token is missing or wrong. Clients send it in the header Authorization: Bearer TOKEN", None)
    foreign = (
        403,
        "the Host or Origin header names another site: only programs of this machine may ask, at the address that "
        "`turnlog mcp --http` prints",
        None,
    )
    assert answers[:-1] == [unknown] * 3 + [foreign] * 4
    assert (answers[-1][0], json.loads(answers[-1][1])["result"]["serverInfo"]["name"]) == (200, "turnlog")


def post(at: Served, headers: dict[str, str]) -> tuple[int, str, str | None]:
    """The status, what is said, and which pages may read it."""
    where = urlsplit(at.url)
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(http.client.HTTPConnection("127.0.0.1", where.port or 0, timeout=60)) as connection:
        connection.request("POST", where.path, json.dumps(_INITIALIZE), {**accept, **headers})
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers.get("Access-Control-Allow-Origin")


def test_the_server_listens_on_this_machine_only_and_stops_when_told(settings: Settings, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-of-24-characters\n")
    token.chmod(0o600)
    words = ("mcp", "--http", "--port", "0", "--token-file", str(token))
    with running(sys.executable, "-m", "turnlog", *words, directory=settings.directory) as program:
        assert program.stdout is not None
        said = program.stdout.readline()
        found = re.fullmatch(
            r"listening on (http://127\.0\.0\.1:\d+/mcp)\. Clients send the header .* with the token in .*\n", said
        )
        assert found is not None, said
        assert "a-token" not in said
        assert post(Served(found[1], ""), {"Authorization": "Bearer a-token-of-24-characters"})[0] == 200
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) in (0, -signal.SIGTERM)


def test_a_port_that_is_taken_is_said_in_one_line(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run(sys.executable, "-m", "turnlog", "mcp", "--http", "--port", port, directory=settings.directory, code=1)
    assert done.stdout == ""
    assert done.stderr == (
        f"turnlog: cannot listen on port {port} of 127.0.0.1: Address already in use. "
        "Choose one with --port; 0 takes a free one.\n"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("mcp", "--port", "0"), "--port and --token-file go with --http"),
        (("mcp", "install", "--http"), "install is for clients that start the server themselves: leave --http out"),
    ],
)
def test_options_that_would_do_nothing_are_refused(settings: Settings, words: tuple[str, ...], error: str) -> None:
    printed = run(sys.executable, "-m", "turnlog", *words, directory=settings.directory, code=2)
    assert printed.stdout == ""
    assert printed.stderr.endswith(f"turnlog mcp: error: {error}\n")


def test_without_the_extra_the_command_says_what_to_install(settings: Settings, tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.partition('.')[0] in ('mcp', 'mcp_types', 'starlette', 'uvicorn', 'pydantic', 'anyio'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    done = run(sys.executable, "-m", "turnlog", "mcp", directory=settings.directory, code=1, PYTHONPATH=str(tmp_path))
    assert (done.stdout, done.stderr) == ("", "turnlog: the MCP server needs the MCP SDK: pip install 'turnlog[mcp]'\n")
    done = run(sys.executable, "-m", "turnlog", "mcp", "install", directory=settings.directory, PYTHONPATH=str(tmp_path))
    assert "mcpServers" in done.stdout


def test_install_says_for_each_client_what_to_write_and_where(settings: Settings) -> None:
    done = run(sys.executable, "-m", "turnlog", "mcp", "install", "--session", "demo", "--json", directory=settings.directory)
    found = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    command = json.loads(found["other"]["text"])["mcpServers"]["turnlog"]
    environment_ = {"TURNLOG_DIR": str(settings.directory)}
    assert Path(command["command"]).name == "turnlog" and Path(command["command"]).is_absolute()
    assert (command["args"], command["env"]) == (["mcp", "--session", "demo"], environment_)
    assert {name: row["where"] for name, row in found.items()} == {
        "claude-code": ".mcp.json in the project, or ~/.claude.json",
        "claude-desktop": "~/Library/Application Support/Claude/claude_desktop_config.json (macOS), "
        "%APPDATA%\\Claude\\claude_desktop_config.json (Windows)",
        "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
        "vscode": ".vscode/mcp.json in the project",
        "codex": "~/.codex/config.toml",
        "other": "wherever it keeps its MCP servers",
    }
    for name in ("claude-desktop", "cursor"):
        assert json.loads(found[name]["text"]) == {"mcpServers": {"turnlog": command}}
    typed = {"type": "stdio", **command}
    assert json.loads(found["claude-code"]["text"]) == {"mcpServers": {"turnlog": typed}}
    assert json.loads(found["vscode"]["text"]) == {"servers": {"turnlog": typed}}
    assert tomllib.loads(found["codex"]["text"]) == {"mcp_servers": {"turnlog": command}}
    assert found["claude-code"]["how"] == (
        f"claude mcp add turnlog -e TURNLOG_DIR={settings.directory} -- {command['command']} mcp --session demo"
    )


def test_paths_with_spaces_quotes_and_emoji_stay_one_word() -> None:
    command, arguments, given = "/my tools/turnlog", ["mcp", "--session", "it's"], {"TURNLOG_DIR": "/a -e b/🚀"}
    server = {"command": command, "args": arguments, "env": given}
    found = {client.name: client for client in clients(command, arguments, given)}
    run_it = ["TURNLOG_DIR=/a -e b/🚀", "--", command, *arguments]
    assert shlex.split(found["claude-code"].how) == ["claude", "mcp", "add", "turnlog", "-e", *run_it]
    assert shlex.split(found["codex"].how) == ["codex", "mcp", "add", "turnlog", "--env", *run_it]
    assert json.loads(shlex.split(found["vscode"].how)[2]) == {"name": "turnlog", **server}
    assert tomllib.loads(found["codex"].text) == {"mcp_servers": {"turnlog": server}}


async def test_the_installed_configuration_starts_the_server(told: Recording) -> None:
    done = run(sys.executable, "-m", "turnlog", "mcp", "install", "--json", directory=told.settings.directory)
    other = next(row for row in map(json.loads, done.stdout.splitlines()) if row["name"] == "other")
    told_to = json.loads(other["text"])["mcpServers"]["turnlog"]
    # As a client does it: with an environment of its own, in which nothing of ours is.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TURNLOG_")}
    parameters = StdioServerParameters(
        command=told_to["command"], args=told_to["args"], env={**inherited, **told_to["env"]}, cwd="/"
    )
    async with Client(stdio_client(parameters)) as client:
        assert plain(await ask(client, "whats_my_state")) == STATE.splitlines()


def test_nothing_but_the_protocol_comes_out_of_the_server(told: Recording) -> None:
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whats_my_state", "arguments": {"turn": 1}}}
    # A setting that is wrong is complained of, elsewhere.
    env = environment(told.settings.directory, TURNLOG_LOAD_INTERVAL="often")
    with subprocess.Popen(
        [sys.executable, "-m", "turnlog", "mcp"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None and program.stdout is not None and program.stderr is not None
        answers = []
        for message in (_INITIALIZE, ready, call):
            program.stdin.write(json.dumps(message) + "\n")
            program.stdin.flush()
            if "id" in message:
                answers.append(json.loads(program.stdout.readline()))
        program.stdin.close()
        rest, complaints = program.stdout.read(), program.stderr.read()
        assert program.wait(60) == 0
    assert [answer["id"] for answer in answers] == [1, 2]
    assert rest == ""
    assert complaints.startswith("turnlog: ") and complaints.count("\n") == 1
