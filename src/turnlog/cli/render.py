"""The one door to the terminal: styles, widths, tables, times, JSON lines.

Whatever is written here was said by a model, a tool or a user: control characters are made visible, never obeyed. Lines are
cut to a terminal's width and left whole in a pipe; colour is for terminals only.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

from turnlog.cli.widths import GAP, columns, cut, head, shared

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
# C0, DEL, C1, line separators, and the marks that reorder text: each could rewrite what a reader sees.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HASH = re.compile(r"^((?:hmac-)?sha256:)([0-9a-f]{7})[0-9a-f]+$")
# What a model chose in one call is kept under the span id of the call; a session has hundreds of those.
SPAN_ID = re.compile(r"^[0-9a-f]{16}$")
_CUT = re.compile(r"… \(\+[\d,]+ chars\)$")
_JSON_TEXT = {"delta", "alternatives", "attributes"}


class Styled(NamedTuple):
    text: str
    style: str


Text = str | Styled


class Screen:
    """A stream to write lines to. `width` 0 means that nothing is cut."""

    def __init__(self, stream: TextIO, width: int = 0, colour: bool = False) -> None:
        self.stream = stream
        self.width = width
        self.colour = colour

    def line(self, *texts: Text) -> None:
        """One line, however long the texts are."""
        parts = [(inert(_plain(text)), "" if isinstance(text, str) else text.style) for text in texts]
        room = self.width
        if not room or sum(columns(plain) for plain, _ in parts) <= room:
            written = [self._styled(plain, style) for plain, style in parts]
        else:
            written = []
            for plain, style in parts:
                if columns(plain) >= room:
                    written.append(self._styled(head(plain, room - 1) + "…", style))
                    break
                room -= columns(plain)
                written.append(self._styled(plain, style))
        self.stream.write("".join(written).rstrip(" ") + "\n")

    def block(self, text: str, indent: str = "  ") -> None:
        """A text of several lines, each cut for itself."""
        for line in text.splitlines() or [""]:
            self.line(indent, line.replace("\t", "    "))

    def table(
        self,
        rows: Iterable[Sequence[Text]],
        header: Sequence[str] = (),
        indent: str = "",
        drop: Sequence[str] = (),
        whole: Sequence[str] = (),
    ) -> list[str]:
        """Aligned columns, two spaces apart. On a terminal the widest texts are cut, but none of those that `whole` names, and
        the columns that `drop` names are left out, the first of them first, until the rest has room. Which were?"""
        cells: list[Sequence[Text]] = [[Styled(title, "dim") for title in header]] if header else []
        cells += rows
        if not cells:
            return []
        plain = [[inert(_plain(cell)) for cell in row] for row in cells]
        shown, widths = shared(plain, header, self.width - len(indent) if self.width else sys.maxsize, drop, whole)
        for row, texts in zip(cells, plain, strict=True):
            line: list[Text] = [indent]
            for index, width in zip(shown, widths, strict=True):
                text = cut(texts[index], width)
                line += [_like(row[index], text), " " * (width - columns(text) + GAP)]
            self.line(*line[:-1])
        return [title for index, title in enumerate(header) if index not in shown]

    def json(self, value: Mapping[str, Any]) -> None:
        """One JSON object on one line; times in UTC with Z."""
        self.stream.write(to_json(value) + "\n")

    def _styled(self, text: str, style: str) -> str:
        if not (self.colour and style and text):
            return text
        codes = ";".join(_STYLES[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"


def screen(*, whole: bool = False) -> Screen:
    """The standard output as what it is: a terminal with a width, or a pipe. `whole`: long lines are left to the terminal."""
    if not sys.stdout.isatty():
        return Screen(sys.stdout)
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(sys.stdout, 0 if whole else shutil.get_terminal_size().columns, colour)


def progress(what: str) -> None:
    """One line on stderr that the next takes the place of, and an empty one erases. For a terminal that can erase only."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        sys.stderr.write(f"\r\x1b[K{head(inert(what), shutil.get_terminal_size().columns - 1)}")
        sys.stderr.flush()


def complain(message: str) -> None:
    """One line on stderr."""
    sys.stdout.flush()
    sys.stderr.write(f"turnlog: {inert(message)}\n")


def inert(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would act on."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0] in "\t\n\r":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def short(value: str) -> str:
    """A hash or a span id as people quote it; any other value as it is."""
    if found := _HASH.match(value):
        return found[1] + found[2]
    return value[:7] if SPAN_ID.match(value) else value


def is_cut(summary: str) -> bool:
    """Whether a summary says that there was more."""
    return _CUT.search(summary) is not None


def day_time(at: datetime) -> str:
    """The local date and time of a UTC timestamp of the store."""
    return f"{_local(at):%Y-%m-%d %H:%M:%S}"


def clock(at: datetime) -> str:
    return f"{_local(at):%H:%M:%S}"


def _local(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC).astimezone()


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: int) -> str:
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def duration(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.3g} ms"


def record(row: Any) -> dict[str, Any]:
    """A row as the object that `--json` writes: its fields by name, JSON text as the value it stands for."""
    return {name: _value(name, value) for name, value in row._asdict().items()}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [record(item) if hasattr(item, "_asdict") else item for item in value]
    if hasattr(value, "_asdict"):
        return record(value)
    return from_json(value) if name in _JSON_TEXT and isinstance(value, str) else value


def from_json(text: str) -> Any:
    import orjson

    try:
        return orjson.loads(text)
    except ValueError:
        return text


def to_json(value: object) -> str:
    import orjson

    from turnlog.content import dump_json

    text = dump_json(value, orjson.OPT_NON_STR_KEYS | orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z).decode()
    # JSON itself escapes C0 only; these occur inside strings alone, so the value stays the same.
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(text: Text) -> str:
    return text if isinstance(text, str) else text.text


def _like(text: Text, plain: str) -> Text:
    return plain if isinstance(text, str) else Styled(plain, text.style)
