"""An OTLP/HTTP endpoint that history is sent to: protobuf, gzip, one request after the other over one connection.

What the endpoint does not take now is sent again, for as long as it is worth waiting; what it refuses for good is an error.
"""

from __future__ import annotations

import gzip
import http.client
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from turnlog.errors import TurnlogError
from turnlog.otlp import PROTOBUF
from turnlog.otlp.encode import batches
from turnlog.otlp.replies import decode_response, decode_status
from turnlog.received import ReceivedSpan

# The collector's receivers take 20 MiB unless they are told otherwise, gRPC behind them 4 MiB.
_MOST_BYTES = 3 * 1024 * 1024
MOST_SPANS = 512
_RETRYABLE = {429, 502, 503, 504}
_TOO_LARGE = 413
_TIMEOUT = 30.0
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_MOST_ANSWER = 64 * 1024


class SendingFailed(TurnlogError):
    """The endpoint refused a batch, or did not take it in time."""


@dataclass(slots=True)
class Sent:
    """`rejected` spans of those that were sent were refused one by one, for `reason`."""

    spans: int = 0
    rejected: int = 0
    reason: str = ""
    retries: int = 0


class _Answer(NamedTuple):
    status: int
    reason: str
    retry_after: str
    content_type: str
    body: bytes


class Endpoint:
    """`waiting` is told why a batch has to wait, and how long."""

    def __init__(
        self, url: str, headers: Mapping[str, str], patience: float, waiting: Callable[[str], None] = lambda _: None
    ) -> None:
        self.url = _traces_url(url)
        self.sent = Sent()
        self._parts = urlsplit(self.url)
        self._headers = {
            "user-agent": "turnlog",
            **{name.lower(): value for name, value in headers.items()},
            "content-type": PROTOBUF,
            "content-encoding": "gzip",
        }
        self._patience = patience
        self._waiting = waiting
        self._connection: http.client.HTTPConnection | None = None

    def send(self, spans: Sequence[ReceivedSpan]) -> None:
        for body, batch in batches(spans, PROTOBUF, MOST_SPANS, _MOST_BYTES):
            self._deliver(body, batch)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _deliver(self, body: bytes, batch: Sequence[ReceivedSpan]) -> None:
        answer = self._answer(gzip.compress(body, 6))
        if answer.status == _TOO_LARGE and len(batch) > 1:
            for half, spans in batches(batch, PROTOBUF, (len(batch) + 1) // 2, _MOST_BYTES):
                self._deliver(half, spans)
            return
        if answer.status == _TOO_LARGE:
            rejected, reason = len(batch), _said(answer)
        elif 200 <= answer.status < 300:
            rejected, reason = decode_response(answer.body, answer.content_type)
        else:
            is_token = answer.status == HTTPStatus.UNAUTHORIZED
            remedy = ' Give the token with --header "Authorization: Bearer TOKEN".' if is_token else ""
            raise SendingFailed(f"{self.url} refused the spans: {_said(answer)}.{remedy}")
        self.sent.spans += len(batch)
        self.sent.rejected += rejected
        self.sent.reason = reason or self.sent.reason

    def _answer(self, body: bytes) -> _Answer:
        """The answer that stands: not one that asks to come again, unless there is no time left."""
        deadline = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        while True:
            wanted: float | None = None
            try:
                answer = self._post(body)
                if answer.status not in _RETRYABLE:
                    return answer
                why, wanted = _said(answer), _retry_after(answer.retry_after)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise SendingFailed(f"{self.url} cannot be trusted: {error.verify_message}.") from error
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            delay = pause if wanted is None else wanted
            if time.monotonic() + delay > deadline:
                asked = f", and asks to wait for {wanted:.0f} s" if wanted is not None and wanted > self._patience else ""
                raise SendingFailed(f"{self.url} has not taken the spans for {self._patience:g} s ({why}{asked}).")
            self._waiting(f"{why}; again in {delay:.1f} s")
            time.sleep(delay)
            self.sent.retries += 1
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _post(self, body: bytes) -> _Answer:
        if self._connection is None:
            self._connection = _connect(self._parts)
        target = self._parts.path + (f"?{self._parts.query}" if self._parts.query else "")
        self._connection.request("POST", target, body, self._headers)
        response = self._connection.getresponse()
        text = response.read(_MOST_ANSWER)
        if not response.isclosed():
            self.close()
        header = response.headers
        return _Answer(response.status, response.reason, header.get("Retry-After", ""), header.get_content_type(), text)


def _traces_url(url: str) -> str:
    """Where traces go: OpenTelemetry's endpoints are named without the path of the signal."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/v1/traces") else f"{path}/v1/traces", fragment="").geturl()


def _connect(parts: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)


def _retry_after(text: str) -> float | None:
    """Seconds; the header has them as a number or as the time to come again."""
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _said(answer: _Answer) -> str:
    return " ".join(f"{answer.status} {answer.reason} {decode_status(answer.body, answer.content_type)}".split())
