"""Captured content as a person reads it, and how two of them differ line by line."""

from __future__ import annotations

import difflib
from typing import Any

from turnlog import queries
from turnlog.cli.render import from_json, to_json
from turnlog.queries import Commit
from turnlog.web.asking import Ask
from turnlog.web.html import Html, el, said

MOST_TEXT = 20_000


def laid_out(text: str) -> str:
    """JSON with a line for each field, messages as what was said, and texts within it as they were; anything else as it is."""
    if not text.startswith(("{", "[")) or len(text) > MOST_TEXT:
        return text
    value = from_json(text)
    messages = value if isinstance(value, list) else [value]
    if messages and all(isinstance(each, dict) and isinstance(each.get("parts"), list) for each in messages):
        return "\n".join(_message(each) for each in messages)
    if not isinstance(value, dict):
        return text
    return "\n".join(
        f"{name}:\n{each.rstrip()}" if isinstance(each, str) and "\n" in each else f"{name}: {plain(each)}"
        for name, each in value.items()
    )


def plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def _message(message: dict[str, Any]) -> str:
    return "\n".join(f"{message.get('role', '')}: {_part(part)}" for part in message["parts"])


def _part(part: Any) -> str:
    known = part if isinstance(part, dict) else {"type": ""}
    match known.get("type"):
        case "text":
            return plain(known.get("content", ""))
        case "tool_call":
            return f"calls {known.get('name', '')} {plain(known.get('arguments', ''))}"
        case "tool_call_response":
            return plain(known.get("response", ""))
    return plain(part)


def input_text(ask: Ask, commit: Commit) -> str:
    whole = queries.blob(ask.db, commit.input_hash) if commit.input_hash else None
    return laid_out(whole if whole is not None else commit.input_summary)


def output_text(ask: Ask, commit: Commit) -> str:
    whole = queries.blob(ask.db, commit.output_hash) if commit.output_hash else None
    return laid_out(whole if whole is not None else commit.output_summary)


def text_diff(before: str, after: str) -> Html:
    """Line by line, with what is alike around it."""
    lines = difflib.unified_diff(before[:MOST_TEXT].splitlines(), after[:MOST_TEXT].splitlines(), lineterm="", n=3)
    kinds = {"+": "ins", "-": "del"}
    return el(
        "pre",
        [el(kinds.get(line[:1], "span"), said(line), "\n") for line in list(lines)[2:]] or "alike but for white space",
        class_="diff",
        tabindex="0",
    )
