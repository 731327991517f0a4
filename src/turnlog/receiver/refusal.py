"""What a request is answered when it is not taken. The message says what to change; it goes to the sender's log."""

from __future__ import annotations

from http import HTTPStatus

# google.rpc.Code, which a Status body names beside the status of HTTP.
_INVALID_ARGUMENT, _DEADLINE_EXCEEDED, _NOT_FOUND, _PERMISSION_DENIED = 3, 4, 5, 7
_RESOURCE_EXHAUSTED, _UNIMPLEMENTED, _INTERNAL, _UNAVAILABLE, _UNAUTHENTICATED = 8, 12, 13, 14, 16
_CODES = {
    HTTPStatus.UNAUTHORIZED: _UNAUTHENTICATED,
    HTTPStatus.FORBIDDEN: _PERMISSION_DENIED,
    HTTPStatus.NOT_FOUND: _NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: _UNIMPLEMENTED,
    HTTPStatus.REQUEST_TIMEOUT: _DEADLINE_EXCEEDED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: _RESOURCE_EXHAUSTED,
    HTTPStatus.NOT_IMPLEMENTED: _UNIMPLEMENTED,
    HTTPStatus.INTERNAL_SERVER_ERROR: _INTERNAL,
    HTTPStatus.SERVICE_UNAVAILABLE: _UNAVAILABLE,
}


class Refusal(Exception):
    def __init__(self, status: HTTPStatus, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}

    @property
    def code(self) -> int:
        return _CODES.get(self.status, _INVALID_ARGUMENT)


def try_later(message: str) -> Refusal:
    """What every sender repeats. 503 and not 429, and soon: older SDKs repeat only 5xx, and give up after 10 seconds."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, message, {"Retry-After": "1"})
