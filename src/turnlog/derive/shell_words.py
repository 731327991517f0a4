"""A command line as the shell splits it: words, redirections and the operators between commands.

Only as much of the shell as is needed to say which files a command names. A word whose text depends on a variable, a
substitution or a pattern is kept as unknown; text that does not parse is refused whole.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_OPERATOR = re.compile(r"&&|&|\|\||\|&|\||;;|;|\(|\)")
_REDIRECTION = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>\||>&|>")
_SPACE = re.compile(r"[^\S\n]+")
_PLAIN = re.compile(r"[^\s\\'\"`$&|;()<>*?\[{~#]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9*@#?$!-]")
_BRACES = re.compile(r"\{[^\s{}]*(?:,|\.\.)[^\s{}]*\}")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_HERE = re.compile(r"""(?<!<)<<-?[ \t]*(["']?)([A-Za-z0-9_.-]+)\1(?:.*)""")


class CannotParse(ValueError):
    pass


class Word(NamedTuple):
    """`known` is false when the text is not what the command gets."""

    text: str
    known: bool = True


class Redirection(NamedTuple):
    sign: str
    target: Word
    body: str = ""


class Operator(NamedTuple):
    sign: str


Token = Word | Redirection | Operator


def split(text: str) -> list[Token]:
    return _Splitter(text).tokens()


class _Splitter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tokens: list[Token] = []
        self._parts: list[str] = []
        self._in_word = False
        self._known = True
        self._redirecting = ""
        self._awaited: list[tuple[int, str, bool]] = []

    def tokens(self) -> list[Token]:
        while self._at < len(self._text):
            self._step()
        self._end_word()
        if self._redirecting or self._awaited:
            raise CannotParse("something is missing at the end")
        return self._tokens

    def _step(self) -> None:
        text, at = self._text, self._at
        if plain := _PLAIN.match(text, at):
            self._add(plain[0])
            return
        if space := _SPACE.match(text, at):
            self._end_word()
            self._at = space.end()
            return
        letter = text[at]
        if letter == "\n":
            self._end_word()
            self._operator("\n")
            self._read_bodies()
        elif letter == "#" and not self._in_word:
            self._at = _index(text, "\n", at, len(text))
        elif text.startswith(("<(", ">("), at):
            self._substitution(at + 2, ")")
        elif sign := _REDIRECTION.match(text, at):
            self._redirection(sign[0])
        elif sign := _OPERATOR.match(text, at):
            self._end_word()
            self._operator(sign[0])
        else:
            self._quoted_or_special(letter)

    def _quoted_or_special(self, letter: str) -> None:
        text, at = self._text, self._at
        if letter == "\\":
            if text[at + 1 : at + 2] != "\n":
                self._add(text[at + 1 : at + 2])
            self._at = at + 2
        elif letter == "'":
            end = _index(text, "'", at + 1)
            self._add(text[at + 1 : end])
            self._at = end + 1
        elif letter == '"':
            self._at += 1
            self._double_quoted()
        elif letter in "$`":
            self._expansion()
        else:
            # A tilde means the home folder only before a slash or alone, a brace only with a comma or a range.
            literal = (
                (letter == "~" and (self._in_word or text[at + 1 : at + 2] in ("", "/", " ", "\n", ";", "&", "|")))
                or (letter == "{" and not _BRACES.match(text, at))
                or letter == "#"
            )
            self._add(letter, literal)

    def _double_quoted(self) -> None:
        text = self._text
        self._in_word = True
        while True:
            if plain := _IN_QUOTES.match(text, self._at):
                self._add(plain[0])
            letter = text[self._at : self._at + 1]
            if letter == '"':
                self._at += 1
                return
            if letter == "\\":
                escaped = text[self._at + 1 : self._at + 2]
                if escaped != "\n":
                    self._parts.append(escaped if escaped in '"\\$`' else "\\" + escaped)
                self._at += 2
            elif letter:
                self._expansion()
            else:
                raise CannotParse("a quote is not closed")

    def _expansion(self) -> None:
        text, at = self._text, self._at
        if text[at] == "`":
            self._substitution(at + 1, "`")
        elif text.startswith("$(", at):
            self._substitution(at + 2, ")")
        elif text.startswith("${", at):
            self._at = _index(text, "}", at + 2) + 1
            self._unknown()
        elif name := _NAME.match(text, at + 1):
            self._at = name.end()
            self._unknown()
        elif text.startswith("$'", at):
            self._at = at + 2
            while text[self._at : self._at + 1] != "'":
                if self._at >= len(text):
                    raise CannotParse("a quote is not closed")
                self._at += 2 if text[self._at] == "\\" else 1
            self._at += 1
            self._unknown()
        else:
            self._add("$")

    def _substitution(self, begin: int, close: str) -> None:
        """Skip to the end of `$(…)`, `<(…)` or backticks; what stands inside may hold quotes and parentheses."""
        text, at, depth = self._text, begin, 1
        while depth:
            letter = text[at : at + 1]
            if not letter:
                raise CannotParse("a substitution is not closed")
            if letter == "\\":
                at += 1
            elif letter == "<" and (here := _HERE.match(text, at)):
                at = _end_of_body(text, here.end(), here[2]).start() - 1
            elif letter in "'\"" and close == ")":
                at = _end_of_quote(text, at)
            elif letter == close:
                depth -= 1
            elif letter == "(" and close == ")":
                depth += 1
            at += 1
        self._at = at
        self._unknown()

    def _add(self, part: str, known: bool = True) -> None:
        self._parts.append(part)
        self._in_word = True
        self._known = self._known and known
        self._at += len(part)

    def _unknown(self) -> None:
        self._in_word = True
        self._known = False

    def _redirection(self, sign: str) -> None:
        number = "".join(self._parts)
        if self._in_word and number.isdecimal() and self._known:
            self._parts, self._in_word = [], False
        self._end_word()
        if self._redirecting:
            raise CannotParse("a redirection has no target")
        self._redirecting = sign
        self._at += len(sign)

    def _operator(self, sign: str) -> None:
        if self._redirecting:
            raise CannotParse("a redirection has no target")
        self._tokens.append(Operator(sign))
        self._at += len(sign)

    def _end_word(self) -> None:
        if not self._in_word:
            return
        word = Word("".join(self._parts), self._known)
        self._parts, self._in_word, self._known = [], False, True
        if not self._redirecting:
            self._tokens.append(word)
            return
        if self._redirecting in ("<<", "<<-"):
            self._awaited.append((len(self._tokens), word.text, self._redirecting == "<<-"))
        self._tokens.append(Redirection(self._redirecting, word))
        self._redirecting = ""

    def _read_bodies(self) -> None:
        """The here-documents that the line just ended has announced."""
        for place, delimiter, indented in self._awaited:
            end = _end_of_body(self._text, self._at, delimiter, indented)
            found = self._tokens[place]
            assert isinstance(found, Redirection)  # noqa: S101 - put there by _end_word
            self._tokens[place] = found._replace(body=self._text[self._at : end.start()])
            self._at = min(end.end() + 1, len(self._text))
        self._awaited.clear()


def _index(text: str, wanted: str, begin: int, otherwise: int | None = None) -> int:
    found = text.find(wanted, begin)
    if found < 0 and otherwise is None:
        raise CannotParse(f"{wanted!r} is missing")
    return otherwise if found < 0 and otherwise is not None else found


def _end_of_body(text: str, begin: int, delimiter: str, indented: bool = True) -> re.Match[str]:
    found = re.compile(rf"^{chr(9) + '*' if indented else ''}{re.escape(delimiter)}$", re.MULTILINE).search(text, begin)
    if found is None:
        raise CannotParse("a here-document is not closed")
    return found


def _end_of_quote(text: str, at: int) -> int:
    quote = text[at]
    end = at + 1
    while text[end : end + 1] not in (quote, ""):
        end += 2 if text[end] == "\\" and quote == '"' else 1
    if end >= len(text):
        raise CannotParse("a quote is not closed")
    return end
