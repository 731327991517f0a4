"""What is said of words that no command takes: the nearest that one does."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

# These name files, whose names may be any bytes.
_FILES = {"files", "output", "dir", "token_file", "program"}


def refuse_first(parser: argparse.ArgumentParser, word: str, commands: Iterable[str]) -> None:
    """Only a command comes first, or an option of turnlog itself."""
    options = parser._option_string_actions
    if word.startswith("-"):
        if word not in options:
            parser.error(f"there is no option {word!r}.{nearest(word, options)}")
    elif word not in commands:
        parser.error(f"there is no command {word!r}.{nearest(word, commands)}")


def refuse_unknown(options: argparse.Namespace, unknown: list[str]) -> None:
    """What is left of the words after a command has taken its own."""
    if unknown:
        near = next((found for word in unknown if (found := nearest(word, options.known))), "")
        options.refuse(f"unrecognized arguments: {' '.join(unknown)}.{near}")


def refuse_undecodable(options: argparse.Namespace) -> None:
    """Names in the store are UTF-8, and an argument with other bytes names none."""
    for name, value in vars(options).items():
        for word in value if isinstance(value, list) else [value]:
            if name not in _FILES and _is_undecodable(word):
                options.refuse(f"{word!r} is not UTF-8")


def nearest(word: str, known: Iterable[str]) -> str:
    names = {name.lstrip("-"): name for name in known if name not in ("-h", "--help")}
    found = get_close_matches(word.partition("=")[0].lstrip("-"), names)
    return f" Nearest: {', '.join(names[name] for name in found)}" if found else ""


def _is_undecodable(word: Any) -> bool:
    return isinstance(word, str) and any("\ud800" <= letter <= "\udfff" for letter in word)
