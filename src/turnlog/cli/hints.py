"""«There is more»: the command line that shows it, to be pasted into a shell."""

from __future__ import annotations

import argparse
import shlex

from turnlog.cli.render import Screen, Styled

# Which session, and what narrows its commits.
_REPEATED = ("session", "turn", "tool", "failed", "evicted", "graph", "checkpoints")


def same(options: argparse.Namespace) -> dict[str, str | int | bool]:
    """The session and the filters that were given."""
    return {name: value for name in _REPEATED if (value := getattr(options, name, None))}


def hint(out: Screen, said: str, *command: str, **options: str | int | bool | None) -> None:
    """What is said, and the command. A line that is cut could not be pasted: a terminal breaks it."""
    words = [_word(name, value) for name, value in options.items() if value]
    line = " ".join(["turnlog", *map(shlex.quote, command), *words])
    Screen(out.stream, colour=out.colour).line(Styled(f"{said}: {line}", "dim"))


def _word(name: str, value: str | int | bool | None) -> str:
    option = f"-{name}" if len(name) == 1 else f"--{name}"
    if value is True:
        return option
    text = str(value)
    # With a space, a name with a dash before it would be another option.
    return shlex.quote(f"{option}={text}") if text.startswith("-") else f"{option} {shlex.quote(text)}"
