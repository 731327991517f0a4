"""`turnlog serve`, run as a user runs it: it says where it listens, keeps what comes, and stops when it is told to."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from programs import commits, environment, run

pytestmark = pytest.mark.usefixtures("made_here")

SERVE = (sys.executable, "-m", "turnlog", "serve", "--port", "0")
TOKEN = "a-token-of-24-characters"
Serve = Callable[..., "subprocess.Popen[str]"]


@contextmanager
def serving(directory: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*SERVE, *words],
        env=environment(directory),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            yield server
        finally:
            server.kill()


def listening(server: subprocess.Popen[str]) -> str:
    """Where a server that was asked for JSON takes traces."""
    assert server.stdout is not None
    return str(orjson.loads(server.stdout.readline())["traces"])


def stopped(server: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    """What a server says last."""
    server.send_signal(number)
    out, err = server.communicate(timeout=30)
    assert (server.returncode, err) == (0, "")
    return out


def call_tools(endpoint: str, *names: str, token: str = "") -> None:
    """An agent's turn with these tool calls, told by a program that knows nothing of turnlog."""
    exporter = OTLPSpanExporter(endpoint, headers={"authorization": f"Bearer {token}"} if token else None)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("an.instrumentation")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "guide", "gen_ai.conversation.id": "a-session"}
    with tracer.start_as_current_span("invoke_agent guide", attributes=agent):
        for name in names:
            tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
            tracer.start_span(f"execute_tool {name}", attributes=tool).end()
    provider.shutdown()


def send_bare_span(endpoint: str) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
    provider.get_tracer("a web server").start_span("GET /").end()
    provider.shutdown()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_sent_is_in_the_log_when_it_has_stopped(tmp_path: Path, number: int) -> None:
    with serving(tmp_path, "--json") as server:
        call_tools(listening(server), "look", "leap")
        assert orjson.loads(stopped(server, number)) == {
            "event": "stopped",
            "kept": 3,
            "requests": 1,
            "spans": 3,
            "rejected": 0,
            "cut": 0,
            "refused": 0,
            "metrics": 0,
            "logs": 0,
            "left": 0,
            "repeated": 0,
            "without_agent": 0,
        }
    assert [tool for _, _, tool, _ in commits(tmp_path) if tool] == ["look", "leap"]


def test_it_says_what_senders_need_and_what_it_kept(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.stdout is not None
        first, second = server.stdout.readline(), server.stdout.readline()
        endpoint = first.split()[2].rstrip(",")
        assert first == f"listening on {endpoint}, keeping what comes in {tmp_path}. Senders need:\n"
        assert second == (f"  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT={endpoint} OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf\n")
        call_tools(endpoint, "look")
        send_bare_span(endpoint)
        assert stopped(server) == "kept 2 spans of 2 requests; 1 span of traces without an agent not kept\n"


def test_a_second_one_for_the_same_store_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, "--json") as server:
        url = listening(server).removesuffix("/v1/traces")
        refused = run(*SERVE, directory=tmp_path, code=1)
        assert refused.stderr == (
            f"turnlog: {tmp_path} is served already, by process {server.pid} on {url}. Send there, or stop that one first.\n"
        )
        stopped(server)
    with serving(tmp_path, "--json") as server:
        listening(server)
        stopped(server)


def test_one_that_was_killed_leaves_no_lock_behind(tmp_path: Path) -> None:
    with serving(tmp_path, "--json") as server:
        listening(server)
        server.kill()
        server.wait()
    with serving(tmp_path, "--json") as server:
        listening(server)
        stopped(server)


def test_what_was_acknowledged_survives_its_death(tmp_path: Path) -> None:
    with serving(tmp_path, "--json") as server:
        call_tools(listening(server), "look", "leap")
        server.kill()
        server.wait()
    with serving(tmp_path) as server:
        assert server.stdout is not None
        endpoint = server.stdout.readline().split()[2].rstrip(",")
        server.stdout.readline()
        call_tools(endpoint, "land")
        assert stopped(server) == "kept 5 spans of 1 request and of 3 spans left by the last serve\n"
    assert [tool for _, _, tool, _ in commits(tmp_path) if tool] == ["look", "leap", "land"]


def test_a_port_that_is_taken_is_an_error_that_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = run(sys.executable, "-m", "turnlog", "serve", "--port", port, directory=tmp_path, code=1)
    assert refused.stderr == (
        f"turnlog: cannot listen on port {port} of 127.0.0.1: Address already in use. "
        "Choose one with --port; 0 takes a free one.\n"
    )


def test_beyond_this_machine_it_needs_a_token(tmp_path: Path) -> None:
    refused = run(*SERVE, "--host", "0.0.0.0", directory=tmp_path / "store", code=1)
    assert "0.0.0.0 can be reached from other machines, so senders must show a token." in refused.stderr
    assert not (tmp_path / "store").exists()


def test_the_token_of_a_file_is_asked_for_and_others_that_can_read_it_are_complained_about(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o644)
    directory = tmp_path / "store"
    with serving(directory, "--json", "--token-file", str(file)) as server:
        endpoint = listening(server)
        call_tools(endpoint, "forbidden")
        call_tools(endpoint, "forbidden again")
        call_tools(endpoint, "allowed", token=TOKEN)
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=30)
    assert err.splitlines() == [
        f"turnlog: others can read the token in {file}. Change that with `chmod 600 {file}`",
        "turnlog: a request was refused with 401: the bearer token is missing or wrong. Senders take it from "
        "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN",
    ]
    assert (orjson.loads(out)["spans"], orjson.loads(out)["refused"]) == (2, 2)
    assert [tool for _, _, tool, _ in commits(directory) if tool] == ["allowed"]


@pytest.mark.parametrize(
    ("words", "name"),
    [(("--allow-host", "localhost", "--allow-host", "other.example"), "localhost"), ((), socket.gethostname().lower())],
)
def test_on_every_address_it_names_one_that_senders_can_use(tmp_path: Path, words: tuple[str, ...], name: str) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    with serving(tmp_path / "store", "--json", "--host", "0.0.0.0", "--token-file", str(file), *words) as server:
        endpoint = listening(server)
        assert endpoint.startswith(f"http://{name}:")
        call_tools(endpoint, "look", token=TOKEN)
        assert orjson.loads(stopped(server))["spans"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--port", "70000"), "'70000' is no port"),
        (("--port", "-1"), "'-1' is not a number from 0 on"),
        (("--port", "http"), "'http' is not a number from 0 on"),
    ],
)
def test_what_is_no_port_is_a_usage_error(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    assert message in run(sys.executable, "-m", "turnlog", "serve", *words, directory=tmp_path, code=2).stderr


def test_with_the_kill_switch_it_does_not_pretend_to_keep_anything(tmp_path: Path) -> None:
    refused = run(*SERVE, directory=tmp_path, code=1, TURNLOG_DISABLED="1")
    assert refused.stderr == ("turnlog: nothing would be kept: TURNLOG_DISABLED or OTEL_SDK_DISABLED is set. Unset it.\n")


def test_ipv6_loopback_is_served_too(tmp_path: Path) -> None:
    with serving(tmp_path, "--json", "--host", "::1") as server:
        endpoint = listening(server)
        assert endpoint.startswith("http://[::1]:")
        call_tools(endpoint, "look")
        assert orjson.loads(stopped(server))["spans"] == 2
