"""Files that a shell command names: redirections and the commands that agents use to change files.

Declared, not run: what depends on a condition, a variable or a pattern is left out, and a command that does not parse
declares nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from turnlog.derive.shell_commands import Command, touches_of
from turnlog.derive.shell_words import CannotParse, Operator, Redirection, Word, split
from turnlog.derive.touch import READ, WRITE, Disk, Elsewhere, Touch, tidy

_LONGEST = 128 * 1024
_DEEPEST = 4
_SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
_OPENERS = {"if": "fi", "for": "done", "while": "done", "until": "done", "select": "done", "case": "esac"}
_ASIDE = {"then", "else", "elif", "do", "{", "}", "!", "time"}
# A wrapper's options that take a value, and how many words of its own it takes before the command.
_WRAPPERS = {
    "sudo": ("ugphCrtT", 0),
    "env": ("uCS", 0),
    "nohup": ("", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "nice": ("n", 0),
    "stdbuf": ("ioe", 0),
    "timeout": ("sk", 1),
}


def shell_touches(command: str | Sequence[object], folder: str = "", disk: Disk | None = None) -> list[Touch]:
    """What a command line, or the words of one command, touches. `folder` is where it runs, when the call says so."""
    script = _Script(folder, disk or Elsewhere(), 0)
    try:
        if isinstance(command, str):
            script.run(command)
        else:
            script.run_words([Word(str(word)) for word in command], [])
    except CannotParse:
        return []
    return script.found


class _Script:
    """One command line, read from left to right. `folder` is None once a `cd` leads to a place that is not known."""

    def __init__(self, folder: str | None, disk: Disk, depth: int) -> None:
        self.found: list[Touch] = []
        self._folder = folder
        self._disk = disk
        self._depth = depth
        self._made: set[str] = set()
        self._outer: list[str | None] = []
        # What ends the construct that is being left out, innermost last.
        self._closers: list[str] = []
        self._in_alternative = False

    def is_folder(self, path: str) -> bool:
        return tidy(path) in self._made or self._disk.is_folder(path)

    def text(self, path: str) -> str:
        return self._disk.text(path)

    def run(self, text: str) -> None:
        if len(text) > _LONGEST or self._depth > _DEEPEST:
            raise CannotParse("too large")
        words: list[Word] = []
        redirections: list[Redirection] = []
        before = ";"
        for token in (*split(text), Operator(";")):
            if isinstance(token, Word):
                words.append(token)
            elif isinstance(token, Redirection):
                redirections.append(token)
            elif token.sign == "(":
                self._open(words)
            else:
                if words and words[0].text == "[[" and words[-1].text != "]]":
                    continue
                self._command(words, redirections, piped="|" in (before, token.sign))
                words, redirections = [], []
                self._separate(token)
                before = token.sign
        if self._closers or self._outer:
            raise CannotParse("a construct is not closed")

    def _open(self, words: list[Word]) -> None:
        if words and not self._closers:
            # A function's definition, or a list of values.
            raise CannotParse("parentheses after a word")
        if self._closers or self._in_alternative:
            self._closers.append(")")
        else:
            self._outer.append(self._folder)

    def _separate(self, token: Operator) -> None:
        if token.sign == ")":
            if self._closers:
                if self._closers[-1] == ")":
                    self._closers.pop()
            elif self._outer:
                self._folder = self._outer.pop()
            else:
                raise CannotParse("a parenthesis too many")
        elif not self._closers and token.sign not in ("|", "|&"):
            # What stands after || runs only if the other failed.
            self._in_alternative = token.sign == "||"

    def _command(self, words: list[Word], redirections: list[Redirection], piped: bool) -> None:
        while words:
            first = words[0].text
            if self._closers and first == self._closers[-1]:
                self._closers.pop()
                words = words[1:]
            elif first in _OPENERS:
                self._closers.append(_OPENERS[first])
                words = words[1:]
            elif first == "{" and (self._closers or self._in_alternative):
                self._closers.append("}")
                words = words[1:]
            elif first == "function":
                raise CannotParse("a function's definition")
            elif first in _ASIDE:
                words = words[1:]
            else:
                break
        if self._closers or self._in_alternative or (words and words[0].text == "[["):
            return
        self.run_words(words, redirections, piped)

    def run_words(self, words: list[Word], redirections: list[Redirection], piped: bool = False) -> None:
        words = _unwrapped(words)
        name = posixpath.basename(words[0].text) if words and words[0].known else ""
        command = Command(name, words[1:], redirections, self._folder, self)
        if name == "cd" or name == "pushd":
            if not piped:
                self._folder = command.folder_of(words[1:])
        elif name == "popd":
            self._folder = None
        elif name in _SHELLS and (script := _script_of(words[1:])) is not None:
            inner = _Script(self._folder, self, self._depth + 1)
            inner.run(script)
            self.found += inner.found
        else:
            found = touches_of(command)
            self._made.update(tidy(touch.path) for touch in found if name == "mkdir")
            self.found += found
        self.found += self._redirected(command)

    def _redirected(self, command: Command) -> list[Touch]:
        found = []
        for redirection in command.redirections:
            sign, target = redirection.sign, redirection.target
            if sign in ("<<", "<<-", "<<<", "<&") or (sign == ">&" and target.text.rstrip("-").isdecimal()):
                continue
            path = command.path(target)
            if path and target.text != "-":
                found.append(Touch(READ if sign == "<" else WRITE, path))
        return found


def _script_of(words: list[Word]) -> str | None:
    """The text behind `bash -c`, also as `-lc`, `-o pipefail -c`."""
    for place, word in enumerate(words):
        if word.known and word.text.startswith("-") and not word.text.startswith("--") and word.text.endswith("c"):
            script = words[place + 1] if place + 1 < len(words) else Word("", known=False)
            if not script.known:
                raise CannotParse("a script that is not known")
            return script.text
        if not word.text.startswith("-") and (place == 0 or words[place - 1].text not in ("-o", "+o", "-O")):
            return None
    return None


def _unwrapped(words: list[Word]) -> list[Word]:
    """The command without assignments, `sudo`, `env`, `timeout 5` and the like."""
    while words:
        first = words[0]
        if first.text.partition("=")[0].isidentifier() and "=" in first.text:
            words = words[1:]
        elif first.known and first.text in _WRAPPERS:
            valued, own = _WRAPPERS[first.text]
            words = words[1:]
            while words and words[0].text.startswith("-"):
                takes = len(words[0].text) == 2 and words[0].text[1] in valued
                words = words[2 if takes else 1 :]
            words = words[own:]
        else:
            break
    return words
