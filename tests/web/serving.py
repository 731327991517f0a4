"""The page as a user starts it: `turnlog ui` in a process of its own, asked over HTTP."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from programs import running


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Served(NamedTuple):
    """A page that is being served; `address` carries its token."""

    address: str
    directory: Path
    pid: int

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    def url(self, path: str, /, **query: Any) -> str:
        return f"{self.origin}{path}" + (f"?{urlencode(query)}" if query else "")

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """A request with exactly these headers; `_` in a name stands for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        found = Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        connection.close()
        return found

    def json(self, path: str, /, **query: Any) -> Any:
        """What the twin of a view answers, asked with the token as a bearer."""
        answer = self.ask(f"{path}.json?{urlencode(query)}", Authorization=f"Bearer {self.token}")
        assert answer.status == 200, answer
        return json.loads(answer.body)


@contextmanager
def serve(directory: Path, **environment: str) -> Iterator[Served]:
    command = (sys.executable, "-m", "turnlog", "ui", "--port", "0", "--no-open", "--json")
    with running(*command, directory=directory, **environment) as program:
        assert program.stdout is not None
        said = json.loads(program.stdout.readline())
        yield Served(said["address"], directory, said["pid"])
