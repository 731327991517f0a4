"""The one door for content: canonical form, hash, summary, redaction, and what the capture level lets through.

Nothing that a user, a model or a tool said reaches a span or a file except through a ContentPolicy. Redaction fails
closed: text that cannot be checked is replaced, not kept.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from turnlog.settings import Capture, Settings
from turnlog.trusted import Trust

SUMMARY_LIMIT = 240
_SHORT = 20
BLOB_LIMIT = 4 * 1024 * 1024
KEY_LIMIT = 1024
# A summary needs the head of a text only. A secret that the window cuts is recognised by its first characters; what the
# cut might leave too short for that is dropped.
_REDACTION_WINDOW = 1024
_CUT_WORD = 64
_LONGEST_AGAIN = 4096
_JSON_TEXT_LIMIT = 1024 * 1024
_DEEPEST = 100
_UNCHECKABLE = re.compile(r"\[REDACTED:|… \(\+[\d,]+ chars\)$")
_PLAIN_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS

# After a credential's name: quote, sign, quote and scheme, all optional but the sign; then a quoted text or a word.
_SIGN = (
    r"""\\?["']?\s{0,4}[:=]\s{0,4}(?:\\?["'])?(?:(?i:bearer|basic)\s+)?+)"""
    r"""(?!\[REDACTED|(?:str|int|bool|bytes|[Nn]one|null|[Tt]rue|[Ff]alse)(?:[\s"',;}\]\\)|]|$))"""
)
_VALUE = r"""(?:(?<=\\["'])[^"'\\]++|(?<=")(?:[^"\\]++|\\.)++|(?<=')(?:[^'\\]++|\\.)++|[^\s"',;}\\]{3,})"""

# A key begins where no letter or digit stands before it, or where what stands there is the end of something encoded: an
# escape of JSON text, a percent code, a terminal colour.
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=\[\d\dm))"
# kind, a character without which none of it is there, what else the lower-cased text must hold for the pattern to be worth
# running (2 ms become 5 µs for 4 kB), pattern.
# Every pattern is linear: a run of characters is tried from its beginning only, or is bounded.
_SECRETS: tuple[tuple[str, str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, needs, markers, re.compile(pattern))
    for kind, needs, markers, pattern in (
        (
            "private_key",
            "-",
            ("private key",),
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]++|-(?!----END))*+"
            r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
        ),
        ("api_key", "-", ("sk-", "pk-", "rk-"), _BEGIN + r"[spr]k-[A-Za-z0-9_-]{16,}"),
        ("api_key", "_", ("k_live_", "k_test_"), _BEGIN + r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
        (
            "api_key",
            "",
            ("aiza", "glpat-", "npm_", "hf_", "gsk_", "xai-", "pypi-", "ya29."),
            _BEGIN + r"(?:AIza|glpat-|npm_|hf_|gsk_|xai-|pypi-|ya29\.)[A-Za-z0-9_-]{16,}",
        ),
        (
            "github_token",
            "_",
            ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
            _BEGIN + r"(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}",
        ),
        ("aws_key", "", ("akia", "asia"), _BEGIN + r"(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("slack_token", "-", ("xox",), _BEGIN + r"xox[abposr]-[A-Za-z0-9-]{10,}"),
        ("jwt", ".", ("eyj",), _BEGIN.replace("0-9])", "0-9_-])", 1) + r"eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,4}"),
        ("bearer", " ", ("bearer",), r"(?i:(?<=bearer ))[A-Za-z0-9._~+/=-]{8,}"),
        ("url_password", "@", ("://",), r"(?<=://)[^\s:/@]{0,64}:[^\s/@]{1,256}(?=@)"),
        (
            "credential",
            "",
            (
                *("passw", "secret", "api_key", "api-key", "api key", "apikey", "access_key", "accesskey"),
                *("access-key", "accountkey", "private_key", "private-key", "authorization", "credential", "cookie"),
            ),
            # The first letters once more in front: measured, it halves the time over text without a credential.
            r"(?P<lead>(?=[pPsSaAcC])(?i:passw(?:or)?d|secret(?:.key)?|access.?key|accountkey|api.?key|private.key"
            r"|authorization|credential|cookie)" + _SIGN + _VALUE,
        ),
        # A number after "token" is a count, not a secret.
        ("credential", "", ("token",), r"(?P<lead>[tT](?i:oken)" + _SIGN + r"""(?![\d.,]+(?:[\s"',;}\]\\)]|$))""" + _VALUE),
    )
)


class Blob(NamedTuple):
    """Captured content, stored once under its hash."""

    hash: str
    text: str


class ContentPolicy:
    """What may be kept of a value, and whose values are trusted, for one process's settings."""

    __slots__ = ("_key", "capture", "on_spans", "trust")

    def __init__(self, settings: Settings) -> None:
        self.capture = settings.capture
        self.on_spans = settings.content_on_spans
        self.trust = Trust(settings.trust, settings.distrust)
        self._key = settings.hash_key.encode()

    def hash(self, value: object) -> str:
        """The tagged digest of the canonical form; keyed when a key is set, so that short inputs cannot be guessed."""
        data = canonical(value)
        if self._key:
            return "hmac-sha256:" + hmac.new(self._key, data, hashlib.sha256).hexdigest()
        return "sha256:" + hashlib.sha256(data).hexdigest()

    def summary(self, value: object) -> str:
        """At most 240 redacted characters, or nothing when nothing may be kept."""
        return "" if self.capture is Capture.NONE else summarize(value)

    def blob(self, value: object, digest: str) -> Blob | None:
        """The whole redacted content, when the capture level asks for it."""
        if self.capture is not Capture.FULL:
            return None
        text = as_text(value)
        kept = _redacted_head(text, BLOB_LIMIT)
        return Blob(digest, kept if len(text) <= BLOB_LIMIT else f"{kept}… (+{len(text) - BLOB_LIMIT:,} chars)")

    def record(self, value: object) -> Blob | None:
        """Content that is read back as JSON: whole, and still JSON when its secrets are out; else only why not."""
        text = as_text(value)
        kept = self.blob(text, "") if len(text) <= BLOB_LIMIT else None
        why = f"more than {BLOB_LIMIT >> 20} MB"
        if kept is not None and kept.text != text:
            try:
                orjson.loads(kept.text)
            except ValueError:
                kept, why = None, "a secret cannot be cut out of it"
        kept = kept or self.blob(f'{{"lost":"{why}"}}', "")
        return None if kept is None else kept._replace(hash=self.hash(kept.text))

    def attribute(self, value: object) -> str | None:
        """The redacted JSON text for a span attribute, when the user asked for message content on spans."""
        if not self.on_spans:
            return None
        is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)
        text = canonical(list(value) if is_list else value).decode()  # type: ignore[call-overload]
        return _redacted_head(text, BLOB_LIMIT)


def canonical(value: object) -> bytes:
    """One byte form for equal values: text as UTF-8, JSON text as its value, all else as JSON with sorted keys."""
    if isinstance(value, str):
        if value[:1] in ("{", "[") and len(value) <= _JSON_TEXT_LIMIT:
            try:
                return orjson.dumps(orjson.loads(value), option=_CANONICAL)
            except ValueError:
                pass
        return value.encode("utf-8", "replace")
    try:
        return orjson.dumps(value, default=_plain, option=_CANONICAL)
    except (TypeError, ValueError, RecursionError):
        return dump_json(value, _CANONICAL)


def may_be(text: str, digest: str) -> bool:
    """Whether a blob's text can be what has this digest. Of a text that was redacted or cut, or under a key, nobody knows."""
    if not _PLAIN_DIGEST.fullmatch(digest) or _UNCHECKABLE.search(text):
        return True
    forms = [canonical(text)]
    if len(text) > _JSON_TEXT_LIMIT and text[0] in "{[":
        with suppress(ValueError):
            forms.append(orjson.dumps(orjson.loads(text), option=_CANONICAL))
    return digest.partition(":")[2] in [hashlib.sha256(form).hexdigest() for form in forms]


def dump_json(value: object, option: int = orjson.OPT_NON_STR_KEYS) -> bytes:
    """JSON of anything. orjson refuses lone surrogates and integers over 64 bits: what it refuses is made plain."""
    try:
        return orjson.dumps(value, default=_plain, option=option)
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(_sanitize(value, ()), option=option)


def as_text(value: object) -> str:
    """For people: fields stay in the order in which they were given, `path` before `content`."""
    return value if isinstance(value, str) else dump_json(value).decode("utf-8", "replace")


def summarize(value: object, limit: int = SUMMARY_LIMIT) -> str:
    """Whole words up to the limit, on one line, and how much was cut."""
    text = value if isinstance(value, str) else as_text(value)
    return _summary_again(text, limit) if len(text) <= _LONGEST_AGAIN else _summary(text, limit)


def _summary(text: str, limit: int) -> str:
    # Most of the time goes into redaction; a second look at more text is for texts of white space and secrets.
    for window in (limit + 80, _REDACTION_WINDOW):
        raw = _head(text, window)
        head = " ".join(redact(raw).split())
        rest = len(text) - len(raw.rstrip()) if len(text) > window else 0
        if len(head) > limit or not rest:
            break
    if len(head) <= limit and not rest:
        return head
    room = limit - len(f"… (+{len(text):,} chars)")
    cut = head.rfind(" ", room // 2, room + 1)
    kept = head[: cut if cut > 0 else room].rstrip()
    return f"{kept}… (+{len(head) - len(kept) + rest:,} chars)"


# One input is a turn's, a message's and a model call's: within one call the same text is asked for three times.
_summary_again = functools.lru_cache(maxsize=16)(_summary)


@functools.lru_cache(maxsize=256)
def entry_key(text: str) -> str:
    """A path, address or name as the key of an entry: on one line, redacted (addresses carry passwords), bounded."""
    key = " ".join(_redacted_head(text, KEY_LIMIT).split())
    return key if len(text) <= KEY_LIMIT else f"{key}… (+{len(text) - KEY_LIMIT:,} chars)"


def _redacted_head(text: str, size: int) -> str:
    return redact(_head(text, size))


def _head(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    head = text[:size]
    return head if head[-1].isspace() else head[: -len(head[-_CUT_WORD:].split()[-1])]


def without_secrets(value: Any, longest: int = sys.maxsize) -> Any:
    """A value with the secrets in its texts redacted, however deep they are; texts above `longest` are left as they are, for
    whoever cuts them before they are written. A short text holds no secret worth the time."""
    if isinstance(value, str):
        return redact(value) if _SHORT <= len(value) <= longest else value
    if isinstance(value, Mapping):
        return {str(key): without_secrets(item, longest) for key, item in value.items()}
    return [without_secrets(item, longest) for item in value] if isinstance(value, list | tuple) else value


def redact(text: str) -> str:
    """The text with every recognised secret replaced by `[REDACTED:kind]`."""
    try:
        text = text if text.isascii() else text.encode("utf-8", "replace").decode()
        lowered = text.lower()
        has_sign = ":" in text or "=" in text
        for kind, needs, markers, pattern in _SECRETS:
            if needs not in text or (kind == "credential" and not has_sign):
                continue
            for marker in markers:
                if marker in lowered:
                    lead = "\\g<lead>" if kind == "credential" else ""
                    text = pattern.sub(f"{lead}[REDACTED:{kind}]", text)
                    break
    except Exception:  # noqa: BLE001 - fails closed: what could not be checked is not kept
        return "[REDACTED:unchecked]"
    return text


def _plain(value: Any) -> Any:
    try:
        dump = getattr(type(value), "model_dump", None)
        if callable(dump):
            return dump(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value).decode("utf-8", "replace")
        if isinstance(value, set | frozenset):
            return sorted(value, key=repr)
        return str(value)
    except Exception:  # noqa: BLE001 - an object that cannot be printed still took part: its type is what can be said
        return f"<{type(value).__name__}>"


def _sanitize(value: Any, above: tuple[int, ...]) -> Any:
    """Plain JSON of anything; `above` holds the containers around the value, because one may contain itself."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        # Python refuses to print an integer of more than 4300 digits in decimal.
        return value if -(2**63) <= value < 2**64 else str(value) if value.bit_length() < 14_000 else hex(value)
    if id(value) in above or len(above) > _DEEPEST:
        return "…"
    above = (*above, id(value))
    if isinstance(value, dict):
        return {str(_sanitize(str(key), above)): _sanitize(item, above) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sanitize(item, above) for item in value]
    return _sanitize(_plain(value), above)
