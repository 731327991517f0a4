"""What single commands do to the files they are given: `mv`, `cp`, `rm`, `sed -i`, `tee`, `git apply` and their like."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from turnlog.derive.patches import patched
from turnlog.derive.shell_words import Redirection, Word
from turnlog.derive.touch import CREATE, DELETE, LIST, READ, RENAME, WRITE, Disk, Touch

_NOT_FILES = ("/dev/", "/proc/", "/sys/")


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its words and redirections, and the folder in which it runs (None: not known)."""

    name: str
    words: Sequence[Word]
    redirections: Sequence[Redirection]
    folder: str | None
    disk: Disk

    def path(self, word: Word, folder: str | None = None) -> str:
        """The path that a word names; empty when it names none, or one that cannot be known."""
        folder = self.folder if folder is None else folder
        if not word.known or not word.text or word.text == "-" or "\n" in word.text or word.text.startswith(_NOT_FILES):
            return ""
        if word.text.startswith(("/", "~")):
            return word.text
        return "" if folder is None else posixpath.join(folder, word.text)

    def paths(self, words: Sequence[Word]) -> list[str]:
        return [path for word in words if (path := self.path(word))]

    def folder_of(self, words: Sequence[Word]) -> str | None:
        """Where `cd` leads."""
        operands = [word for word in words if word.text not in ("-P", "-L", "--")]
        return self.path(operands[0]) or None if len(operands) == 1 else None

    def options(self, valued: str = "", valued_long: Sequence[str] = ()) -> Options:
        return Options(self.words, valued, valued_long)

    def stdin(self) -> str:
        """What the command reads from a here-document, or from a file that is at hand."""
        for redirection in self.redirections:
            if redirection.sign in ("<<", "<<-"):
                return redirection.body
            if redirection.sign == "<<<" and redirection.target.known:
                return redirection.target.text
            if redirection.sign == "<" and (path := self.path(redirection.target)):
                return self.disk.text(path)
        return ""


class Options:
    """A command's words, sorted into options and operands. `valued`: letters of options that take the next word."""

    def __init__(self, words: Sequence[Word], valued: str, valued_long: Sequence[str]) -> None:
        self.operands: list[Word] = []
        self.given: dict[str, Word] = {}
        self._values: list[tuple[str, Word]] = []
        rest = iter(words)
        for word in rest:
            if word.text == "--" and word.known:
                self.operands += rest
            elif not word.text.startswith("-") or word.text == "-":
                self.operands.append(word)
            elif word.text.startswith("--"):
                name, equals, value = word.text[2:].partition("=")
                self._put(name, Word(value, word.known) if equals or name not in valued_long else next(rest, Word("")))
            else:
                self._read_letters(word, valued, rest)

    def _read_letters(self, word: Word, valued: str, rest: Iterator[Word]) -> None:
        for place, letter in enumerate(word.text[1:], 2):
            if letter in valued:
                self._put(letter, Word(word.text[place:], word.known) if word.text[place:] else next(rest, Word("")))
                return
            self._put(letter, Word(""))

    def _put(self, name: str, value: Word) -> None:
        self.given[name] = value
        self._values.append((name, value))

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)

    def value(self, *names: str) -> Word | None:
        return next((self.given[name] for name in names if name in self.given), None)

    def values(self, *names: str) -> list[Word]:
        return [value for name, value in self._values if name in names]


def touches_of(command: Command) -> list[Touch]:
    read = _COMMANDS.get(command.name)
    return read(command) if read else []


def _all(action: str, valued: str = "", valued_long: Sequence[str] = ()) -> Callable[[Command], list[Touch]]:
    """A command that does one thing to each of its operands."""

    def read(command: Command) -> list[Touch]:
        operands = command.options(valued, valued_long).operands
        return [Touch(action, path) for path in command.paths(operands)]

    return read


def _touch(command: Command) -> list[Touch]:
    options = command.options("dtr", ("date", "reference"))
    return [] if options.has("c", "no-create") else [Touch(WRITE, path) for path in command.paths(options.operands)]


def _mkdir(command: Command) -> list[Touch]:
    options = command.options("m", ("mode",))
    # With -p it may have been there already.
    action = WRITE if options.has("p", "parents") else CREATE
    return [Touch(action, path) for path in command.paths(options.operands)]


def _shred(command: Command) -> list[Touch]:
    options = command.options("ns", ("iterations", "size"))
    action = DELETE if options.has("u", "remove") else WRITE
    return [Touch(action, path) for path in command.paths(options.operands)]


def _move(command: Command) -> list[Touch]:
    pairs = _pairs(command, command.options("tS", ("target-directory", "suffix")))
    return [Touch(RENAME, target, renamed_from=source) for source, target in pairs if source != target]


def _copy(command: Command) -> list[Touch]:
    found: list[Touch] = []
    for source, target in _pairs(command, command.options("tSmog", ("target-directory", "suffix", "mode"))):
        found += [Touch(READ, source), Touch(WRITE, target)]
    return found


def _link(command: Command) -> list[Touch]:
    options = command.options("tS", ("target-directory", "suffix"))
    return [Touch(WRITE, target) for _, target in _pairs(command, options)]


def _pairs(command: Command, options: Options) -> list[tuple[str, str]]:
    """Sources and where each of them goes; nothing when one of them cannot be known."""
    into = options.value("t", "target-directory")
    sources = options.operands if into else options.operands[:-1]
    target = into or (options.operands[-1] if sources else Word("", known=False))
    paths = command.paths(sources)
    goal = command.path(target)
    if not goal or len(paths) < len(sources):
        return []
    # Whether a target without a slash is a folder can only be seen on the disk.
    is_folder = (
        into is not None
        or len(sources) > 1
        or target.text.endswith("/")
        or posixpath.basename(target.text) in (".", "..")
        or command.disk.is_folder(goal)
    )
    return [(path, posixpath.join(goal, posixpath.basename(path.rstrip("/"))) if is_folder else goal) for path in paths]


def _sed(command: Command) -> list[Touch]:
    # The letters behind -i are a suffix, not options.
    words = [Word("-i", word.known) if word.text.startswith("-i") else word for word in command.words]
    options = Options(words, "efl", ("expression", "file", "line-length"))
    in_place = options.has("i", "in-place")
    operands = options.operands
    if in_place and operands and not operands[0].text:
        # BSD's sed takes the suffix as a word of its own.
        operands = operands[1:]
    if not options.has("e", "expression", "f", "file"):
        operands = operands[1:]
    return [Touch(WRITE if in_place else READ, path) for path in command.paths(operands)]


def _perl(command: Command) -> list[Touch]:
    options = command.options("eE")
    in_place = options.has("i") and options.has("e", "E")
    return [Touch(WRITE, path) for path in command.paths(options.operands)] if in_place else []


def _search(command: Command) -> list[Touch]:
    options = command.options("efmABCtgd", ("regexp", "file", "max-count", "context", "type", "glob", "include", "exclude"))
    operands = options.operands if options.has("e", "f", "regexp", "file") else options.operands[1:]
    action = LIST if options.has("r", "R", "recursive") or command.name == "rg" else READ
    return [Touch(action, path) for path in command.paths(operands)]


def _find(command: Command) -> list[Touch]:
    roots: list[Word] = []
    for word in command.words:
        if word.text.startswith(("-", "(", "!")):
            break
        roots.append(word)
    return [Touch(LIST, path) for path in command.paths(roots)]


def _dd(command: Command) -> list[Touch]:
    found = []
    for word in command.words:
        name, _, value = word.text.partition("=")
        if name in ("if", "of") and (path := command.path(Word(value, word.known))):
            found.append(Touch(READ if name == "if" else WRITE, path))
    return found


def _download(command: Command) -> list[Touch]:
    letters, long = ("oHdXuAebFT", "output") if command.name == "curl" else ("OPoUtT", "output-document")
    target = command.options(letters, (long,)).value(letters[0], long)
    return [Touch(WRITE, path) for path in command.paths([target] if target else [])]


def _patch(command: Command) -> list[Touch]:
    options = command.options("pidoBDFgrVYz", ("strip", "input", "directory", "output"))
    if options.has("R", "reverse", "dry-run", "d", "directory", "o", "output"):
        return []
    if options.operands:
        return [Touch(WRITE, path) for path in command.paths(options.operands[:1])]
    strip = options.value("p", "strip")
    if strip is None or not strip.text.isdecimal():
        return []
    source = options.value("i", "input")
    text = command.disk.text(command.path(source)) if source else command.stdin()
    return _within(command, patched(text, int(strip.text)))


def _apply_patch(command: Command) -> list[Touch]:
    text = next((word.text for word in command.words if word.known), "") or command.stdin()
    return _within(command, patched(text))


def _git(command: Command) -> list[Touch]:
    words = list(command.words)
    folder = command.folder
    while words and words[0].text.startswith("-"):
        if words[0].text == "-C" and len(words) > 1:
            folder = command.path(words[1], folder) or None
        words = words[2 if words[0].text in ("-C", "-c") else 1 :]
    if not words or not words[0].known:
        return []
    inner = Command(words[0].text, words[1:], command.redirections, folder, command.disk)
    read = _GIT_COMMANDS.get(inner.name)
    return read(inner) if read else []


def _git_apply(command: Command) -> list[Touch]:
    options = command.options("pCx", ("exclude", "include", "directory"))
    if options.has("R", "reverse", "check", "stat", "numstat", "summary", "cached", "directory", "exclude", "include"):
        return []
    strip = options.value("p")
    sources = command.paths(options.operands)
    texts = [command.disk.text(path) for path in sources] or [command.stdin()]
    level = int(strip.text) if strip and strip.text.isdecimal() else None
    found = [Touch(READ, path) for path in sources]
    for text in texts:
        found += _within(command, patched(text, level))
    return found


def _git_remove(command: Command) -> list[Touch]:
    options = command.options()
    kept = options.has("cached", "n", "dry-run")
    return [] if kept else [Touch(DELETE, path) for path in command.paths(options.operands)]


def _git_restore(command: Command) -> list[Touch]:
    options = command.options("s", ("source",))
    if options.has("staged", "S") and not options.has("worktree", "W"):
        return []
    return [Touch(WRITE, path) for path in command.paths(options.operands) if posixpath.basename(path) not in (".", "..")]


def _git_checkout(command: Command) -> list[Touch]:
    """Only behind `--` is it sure that a word is a file and not a branch."""
    texts = [word.text for word in command.words]
    files = command.words[texts.index("--") + 1 :] if "--" in texts else []
    return [Touch(WRITE, path) for path in command.paths(files) if posixpath.basename(path) not in (".", "..")]


def _within(command: Command, touches: list[Touch]) -> list[Touch]:
    """A patch's paths, which are relative to where the command runs."""
    if command.folder is None:
        return []
    return [
        touch._replace(
            path=posixpath.join(command.folder, touch.path),
            renamed_from=touch.renamed_from and posixpath.join(command.folder, touch.renamed_from),
        )
        for touch in touches
    ]


_COMMANDS: dict[str, Callable[[Command], list[Touch]]] = {
    "tee": _all(WRITE),
    "truncate": _all(WRITE, "sr", ("size", "reference")),
    "touch": _touch,
    "mkdir": _mkdir,
    **dict.fromkeys(("rm", "rmdir", "unlink"), _all(DELETE)),
    "shred": _shred,
    "mv": _move,
    **dict.fromkeys(("cp", "install"), _copy),
    "ln": _link,
    **dict.fromkeys(("sed", "gsed"), _sed),
    "perl": _perl,
    "dd": _dd,
    **dict.fromkeys(("curl", "wget"), _download),
    "git": _git,
    "patch": _patch,
    **dict.fromkeys(("apply_patch", "applypatch"), _apply_patch),
    **dict.fromkeys(("cat", "less", "more", "nl", "wc", "tac", "source", ".", "md5sum", "sha1sum", "sha256sum"), _all(READ)),
    **dict.fromkeys(("head", "tail"), _all(READ, "nc", ("lines", "bytes"))),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), _search),
    **dict.fromkeys(("ls", "tree"), _all(LIST, "LIP")),
    "find": _find,
}
_GIT_COMMANDS: dict[str, Callable[[Command], list[Touch]]] = {
    "apply": _git_apply,
    "mv": _move,
    "rm": _git_remove,
    "restore": _git_restore,
    "checkout": _git_checkout,
}
