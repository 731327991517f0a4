"""Who may speak to a server of ours: the checks that keep a web page, a rebound name and a stranger out.

A page in the user's browser can reach loopback too. It cannot choose the Host header, which names the page's own domain when
a name was rebound, nor leave out the Origin header; and without CORS headers it gets no answer to read.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus

from turnlog.errors import TurnlogError
from turnlog.receiver.refusal import Refusal

_LOOPBACK = frozenset({"127.0.0.1", "[::1]", "localhost"})
_LEAST_TOKEN = 16


class NeedsToken(TurnlogError):
    """A server that others can reach was to start without a token, or with a poor one."""


@dataclass(frozen=True, slots=True)
class Guard:
    """`name` is what senders call the server."""

    hosts: frozenset[str]
    name: str
    token: str = ""

    def check_source(self, headers: Message) -> None:
        hosts, origins = headers.get_all("Host", []), headers.get_all("Origin", [])
        if len(hosts) != 1 or _name(hosts[0]) not in self.hosts:
            named = ", ".join(hosts) or "no host"
            remedy = (
                f"Send to {self.name}, or start it with --allow-host and the name that senders know it by"
                if is_wildcard(_name(named).strip("[]"))
                else f"If it should, start it with --allow-host {_name(named)[:200]}"
            )
            raise Refusal(
                HTTPStatus.FORBIDDEN, f"the Host header names {named[:200]}, which this server does not go by. {remedy}"
            )
        if origins and any(origin.partition("://")[2].lower() != hosts[0].strip().lower() for origin in origins):
            raise Refusal(
                HTTPStatus.FORBIDDEN,
                f"the Origin header names {', '.join(origins)[:200]}: pages of other sites may not send here. "
                "Send from a server, or through a collector",
            )

    def check_token(self, headers: Message) -> None:
        given = headers.get("Authorization", "")
        if self.token and not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self.token}".encode()):
            raise Refusal(
                HTTPStatus.UNAUTHORIZED,
                "the bearer token is missing or wrong. Senders take it from "
                "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )


def guard_for(host: str, token: str = "", allowed: Sequence[str] = ()) -> Guard:
    """The guard of a server bound to `host`. Raises NeedsToken where others than this machine could reach it without one."""
    if not token and not is_loopback(host):
        raise NeedsToken(
            f"{host} can be reached from other machines, so senders must show a token. "
            "Make one with `openssl rand -hex 32 > token && chmod 600 token`, and name it with --token-file token."
        )
    if token and (len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise NeedsToken(f"a token has at least {_LEAST_TOKEN} printable ASCII characters and no space.")
    names = [_name(name) for name in allowed]
    if is_wildcard(host):
        own = names[0] if names else socket.gethostname().lower()
    else:
        own = f"[{host}]" if ":" in host else host.lower()
    return Guard(_LOOPBACK | {own, *names}, own, token)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def _name(host: str) -> str:
    """The host without its port."""
    name = host.strip().lower()
    return name if name.endswith("]") else name.partition(":")[0] if name.count(":") == 1 else name.rpartition(":")[0] or name
