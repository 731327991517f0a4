"""What commands have in common, and what their arguments may be: anything else is refused in words of its own."""

from __future__ import annotations

import argparse
import re
import textwrap
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

_WIDTH = 79
_AGES = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
# Not where something is deleted: m could be meant as months.
_SHORT_AGES = {"s": 1.0, "m": 60.0}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def add_command(commands: Any, name: str, brief: str, **more: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=brief,
        description=textwrap.fill(brief[0].upper() + brief[1:] + ".", _WIDTH),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )
    parser.set_defaults(refuse=parser.error, known=parser._option_string_actions)
    return parser


def add_session(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-s", "--session", type=given, metavar="ID", help="a unique beginning of the session's id (default: the newest)"
    )


def add_json(command: Any) -> None:
    command.add_argument("--json", action="store_true", help="one JSON object per line")


def given(text: str) -> str:
    """A name. Of an unset variable nothing is left, which must not stand for the newest, for all or for none."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: is a variable of the shell not set?")
    return text


def positive(text: str) -> int:
    return _at_least(text, 1)


def port(text: str) -> int:
    number = _at_least(text, 0)
    if number > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return number


def side(text: str) -> int | str:
    """A turn's number, or the beginning of a session's id."""
    return _at_least(text, 0) if text.lstrip("-").isdigit() else given(text)


def count(text: str) -> int:
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not least <= number < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} on")
    return number


def age(text: str, units: Mapping[str, float] = _AGES) -> float:
    """Seconds."""
    unit = units.get(text[-1:], 0.0)
    number = text[:-1]
    if not unit or not (number.isascii() and number.isdecimal()) or len(number) > 5:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age like 12h, 30d or 26w")
    return int(number) * unit


def moment(text: str) -> int:
    """Nanoseconds since 1970. A time without a zone is local, as all that is shown."""
    try:
        at = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        try:
            at = time.time() - age(text, _AGES | _SHORT_AGES)
        except argparse.ArgumentTypeError:
            at = -1.0
    if not 0 <= at < 2**33:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time like 2026-11-01, 2026-11-01T09:30, 45m, 12h or 30d")
    return round(at * 1e6) * 1000


def endpoint(text: str) -> str:
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL like http://127.0.0.1:4318")
    if parts.username is not None or parts.password is not None:
        raise argparse.ArgumentTypeError("a password in a URL is easily shown: use --header")
    return text


def header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not _HEADER_NAME.fullmatch(name) or not value.strip().isprintable() or not value.isascii():
        # Not repeated: it may hold a token.
        raise argparse.ArgumentTypeError('a header looks like "Name: value"')
    return name, value.strip()


def seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number
