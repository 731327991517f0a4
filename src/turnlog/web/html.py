"""HTML that is escaped by construction: text becomes markup only through `el`, and what was stored stays text.

Whatever a page shows was said by a model, a tool or a user. Control characters are made visible; the direction of a text is
kept inside its own element.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

# C0 but tab and line feed, DEL, C1, line separators, and the marks that reorder text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_VOID = {"br", "hr", "img", "input", "link", "meta"}

Child = Any


class Html(str):
    """Markup. Only this module makes it."""

    __slots__ = ()


def el(tag: str, *children: Child, **attributes: Any) -> Html:
    """An element. `class_` is class, `data_turn` data-turn; None and False leave an attribute out, True gives it no value."""
    named = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None and value is not False)
    if tag in _VOID:
        return Html(f"<{tag}{named}>")
    return Html(f"<{tag}{named}>{join(*children)}</{tag}>")


def join(*children: Child) -> Html:
    return Html("".join(_markup(child) for child in children))


def said(text: object, **attributes: Any) -> Html:
    """What somebody said: isolated, so that its direction does not reach its neighbours."""
    return el("bdi", text, **attributes) if text != "" else Html("")


def cell(child: Child, title: str) -> Html:
    """A cell of a table: a child that is one already gets its column's title, anything else becomes one."""
    if isinstance(child, Html) and child.startswith(("<td", "<th")):
        return Html(f"{child[:3]}{_attribute('data_label', title)}{child[3:]}") if title else child
    return el("td", child, data_label=title or None)


def document(body: Html) -> str:
    return f"<!doctype html>\n{body}\n"


def _attribute(name: str, value: Any) -> str:
    key = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    # What a form sends back must be what was stored: no pictures in its fields.
    text = _whole(str(value)) if key == "value" else _visible(str(value))
    return f' {key}="{html.escape(text)}"'


def _markup(child: Child) -> str:
    if child is None or child is False:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return "".join(_markup(each) for each in child)
    # A quote is none in a text, and JSON is full of them.
    return html.escape(_visible(str(child)), quote=False)


def _visible(text: str) -> str:
    return _CONTROL.sub(_picture, _whole(text))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
