"""Who may read the page: a browser on this machine that has shown the token once, and nobody else.

The address that `turnlog ui` prints carries the token; it becomes a cookie and leaves the address bar. Everything that a
response may do in the browser is named in its headers: no other origin, no inline script, no frame.
"""

from __future__ import annotations

import hashlib
import hmac
from email.message import Message
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Event

from turnlog.receiver.guard import Guard
from turnlog.receiver.refusal import Refusal

TOKEN = "token"  # noqa: S105 - the name of a parameter
_STATIC = "/static/"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Access:
    """The outermost layer of the page's server."""

    def __init__(self, app: ASGIApp, guard: Guard, port: int) -> None:
        self._app = app
        self._guard = guard
        # Cookies do not tell ports apart.
        self._cookie = f"turnlog_{port}"
        self._proof = hmac.new(guard.token.encode(), b"turnlog page", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(event: Event) -> None:
            if event["type"] == "http.response.start":
                headers = MutableHeaders(scope=event)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(event)

        refused = self._refused(scope)
        await (self._app if refused is None else refused)(scope, receive, send_guarded)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        try:
            self._guard.check_source(_as_message(headers))
        except Refusal as refusal:
            return PlainTextResponse(refusal.message, refusal.status)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and headers.get("sec-fetch-mode") != "navigate":
            return PlainTextResponse("pages of other sites may not read this one", 403)
        if scope["path"].startswith(_STATIC):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        shown = dict(query).get(TOKEN, "")
        if scope["method"] == "GET" and hmac.compare_digest(shown.encode("utf-8", "replace"), self._guard.token.encode()):
            rest = urlencode([(name, value) for name, value in query if name != TOKEN])
            # Two slashes would lead to another server.
            welcome = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else ""), 303)
            welcome.set_cookie(self._cookie, self._proof, httponly=True, samesite="strict", path="/")
            return welcome
        if self._is_known(headers):
            return None
        return PlainTextResponse("open the address that `turnlog ui` printed: it carries the token of this page", 401)

    def _is_known(self, headers: Headers) -> bool:
        # As browsers read them: those of other servers on this machine come along, in any form.
        shown = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        bearer = f"Bearer {self._guard.token}"
        return hmac.compare_digest(shown.encode(), self._proof.encode()) or hmac.compare_digest(
            headers.get("authorization", "").encode("utf-8", "replace"), bearer.encode()
        )


def _as_message(headers: Headers) -> Message:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    return message
