"""The HTTP server: one thread per connection, a bounded number of requests, an answer in the form of the request.

Success is said when `take` has returned, never before. What a request may weigh is bounded before it is read, inflated,
decoded and taken, in this order.
"""

from __future__ import annotations

import logging
import socket
import socketserver
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from turnlog import otlp
from turnlog.intake import Intake, IntakeFull
from turnlog.otlp import JSON, PROTOBUF, Malformed, TooManySpans
from turnlog.receiver.body import Source, has_body, inflate, is_compressed, read_body
from turnlog.receiver.guard import Guard, is_wildcard
from turnlog.receiver.refusal import Refusal, try_later

_log = logging.getLogger("turnlog")

TRACES = "/v1/traces"
NOT_KEPT = {"/v1/metrics": "metrics", "/v1/logs": "logs"}
HEALTH = "/healthz"
MOST_SPANS = 10_000
MOST_REQUESTS = 32
MOST_CONNECTIONS = 256
# Decoding holds the interpreter, so more at once are no faster; two, so that one decodes while the other writes. It bounds
# what a request that unfolds in memory can take.
_DECODED_AT_ONCE = 2
_PROTOCOL = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"
_IDLE = 120.0
_LINGER = 2.0
_PIECE = 64 * 1024
_GRACE = 20.0
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@dataclass(slots=True)
class Counts:
    requests: int = 0
    spans: int = 0
    rejected: int = 0
    cut: int = 0
    refused: int = 0
    metrics: int = 0
    logs: int = 0


class Receiver(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    body_timeout = 10.0

    def __init__(self, intake: Intake, guard: Guard, host: str = "127.0.0.1", port: int = 0) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.intake = intake
        self.guard = guard
        self.counts = Counts()
        self.decoding = threading.BoundedSemaphore(_DECODED_AT_ONCE)
        self.is_stopping = False
        self._connections: set[_Handler] = set()
        self._requests: set[_Handler] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._warned_of: set[str] = set()
        self.left = 0
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # That of HTTPServer asks the name service who we are, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @property
    def url(self) -> str:
        """Where senders find it."""
        host, port = self.server_address[:2]
        if is_wildcard(str(host)):
            return f"http://{self.guard.name}:{port}"
        name = f"[{host!s}]" if self.address_family == socket.AF_INET6 else str(host)
        return f"http://{name}:{port}"

    def start(self) -> None:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), name="turnlog-receiver", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, finish the requests that run, close."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
        with self._changed:
            self.is_stopping = True
            for handler in self._connections - self._requests:
                with suppress(OSError):
                    handler.connection.shutdown(socket.SHUT_RD)
            self._changed.wait_for(lambda: not self._requests, timeout=_GRACE)
        self.server_close()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return len(self._connections) < MOST_CONNECTIONS

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("turnlog: a connection broke", exc_info=True)

    def warn_once(self, kind: str, message: str) -> None:
        """Many senders say little more than that it failed. A stranger has a part in the message: nothing in it is obeyed."""
        with self._changed:
            is_known = kind in self._warned_of
            self._warned_of.add(kind)
        if not is_known:
            _log.warning("turnlog: %s", "".join(letter if letter.isprintable() else "?" for letter in message))

    def connected(self, handler: _Handler) -> None:
        with self._changed:
            self._connections.add(handler)

    def disconnected(self, handler: _Handler) -> None:
        with self._changed:
            self._connections.discard(handler)

    def admit(self, handler: _Handler) -> bool:
        """Whether there is room for one more request; it runs until it is `done`."""
        with self._changed:
            self._requests.add(handler)
            return len(self._requests) <= MOST_REQUESTS

    def done(self, handler: _Handler) -> None:
        with self._changed:
            self._requests.discard(handler)
            self._changed.notify_all()

    def count(self, **more: int) -> None:
        with self._changed:
            for name, number in more.items():
                setattr(self.counts, name, getattr(self.counts, name) + number)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = default_request_version = "HTTP/1.1"
    timeout = _IDLE
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        self.server.connected(self)

    def finish(self) -> None:
        self.server.disconnected(self)
        super().finish()

    def do_POST(self) -> None:
        self._unread = has_body(self.headers)
        admitted = self.server.admit(self)
        try:
            try:
                self._send(HTTPStatus.OK, self._answer(admitted))
            except Refusal as refusal:
                self._refuse(refusal)
            self.wfile.flush()
        finally:
            self.server.done(self)
        self._leave_whole()

    do_GET = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_POST  # noqa: N815 - the base class calls them so

    def _answer(self, admitted: bool) -> bytes:
        self.server.guard.check_source(self.headers)
        path = self.path.partition("?")[0]
        if path == HEALTH:
            self._check_method("GET")
            return b'{"status":"ok"}'
        self.server.guard.check_token(self.headers)
        if path != TRACES and path not in NOT_KEPT:
            raise Refusal(HTTPStatus.NOT_FOUND, f"there is nothing at this path; traces go to {TRACES}")
        self._check_method("POST")
        if self.headers.get_content_type() not in (PROTOBUF, JSON):
            raise Refusal(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"the Content-Type is neither {PROTOBUF} nor {JSON}. Senders need {_PROTOCOL}",
            )
        if not admitted:
            raise try_later(f"{MOST_REQUESTS} requests are running")
        compressed = is_compressed(self.headers)
        body = read_body(self.headers, Source(self.connection, self.rfile, self.server.body_timeout))
        self._unread = False
        self.connection.settimeout(_IDLE)
        if path in NOT_KEPT:
            self.server.count(**{NOT_KEPT[path]: 1})
            return otlp.encode_response(self._form)
        with self.server.decoding:
            return self._take(inflate(body) if compressed else body)

    def _take(self, body: bytes) -> bytes:
        try:
            decoded = otlp.decode(body, self._form, most_spans=MOST_SPANS)
            self.server.intake.take(decoded.spans)
        except Malformed as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
        except TooManySpans as error:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        except IntakeFull as error:
            raise try_later(str(error)) from None
        except OSError as error:
            _log.warning("turnlog could not keep a batch, which its sender was told to send again: %s", error)
            raise try_later(f"the spans could not be written: {error.strerror or error}") from None
        except Exception as error:  # noqa: BLE001 - the sender waits for an answer, whatever went wrong
            _log.exception("turnlog could not keep a batch")
            raise Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"the spans could not be kept: {error}") from None
        self.server.count(requests=1, spans=len(decoded.spans), rejected=decoded.rejected, cut=decoded.cut)
        return otlp.encode_response(self._form, decoded.rejected, decoded.reason or _cuts(decoded.cut))

    def _check_method(self, method: str) -> None:
        if self.command != method:
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{self.path[:200]} takes {method} only", {"Allow": method})

    @property
    def _form(self) -> str:
        return PROTOBUF if self.headers.get_content_type() == PROTOBUF else JSON

    def _refuse(self, refusal: Refusal) -> None:
        self.server.count(refused=1)
        # What is wrong on this side is logged where it happens.
        if refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self.server.warn_once(str(refusal.status), f"a request was refused with {refusal.status}: {refusal.message}")
        self._send(refusal.status, otlp.encode_status(self._form, refusal.code, refusal.message), refusal.headers)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class says of a request that is no HTTP, without its page of HTML."""
        self.server.count(refused=1)
        self._unread = True
        if code == HTTPStatus.HTTP_VERSION_NOT_SUPPORTED:
            self.server.warn_once("gRPC", f"a sender speaks gRPC. It needs {_PROTOCOL}")
        self._send(HTTPStatus(code), otlp.encode_status(JSON, 3, message or HTTPStatus(code).phrase), form=JSON)
        self.wfile.flush()
        self._leave_whole()

    def _send(self, status: HTTPStatus, body: bytes, headers: dict[str, str] | None = None, form: str = "") -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", form or self._form)
        self.send_header("Content-Length", str(len(body)))
        if self._unread or self.server.is_stopping:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _leave_whole(self) -> None:
        """Read away, for a moment, a body that was not read: to close on a sender who still sends takes the answer from it."""
        if not self._unread:
            return
        deadline = time.monotonic() + _LINGER
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while (left := deadline - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(_PIECE):
                    break

    def handle_expect_100(self) -> bool:
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def version_string(self) -> str:
        return "turnlog"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: who asked for what is nobody's business."""


def _cuts(count: int) -> str:
    return f"{count:,} values were cut: too long or too deep" if count else ""
