"""The one door for content: equal values have one form, secrets do not pass, nothing is slow, nothing raises."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest

from turnlog.cli.render import is_cut
from turnlog.content import (
    BLOB_LIMIT,
    KEY_LIMIT,
    SUMMARY_LIMIT,
    Blob,
    ContentPolicy,
    canonical,
    dump_json,
    entry_key,
    may_be,
    redact,
    summarize,
)
from turnlog.operation import Messages
from turnlog.settings import Capture, Settings


def policy(**changes: Any) -> ContentPolicy:
    return ContentPolicy(Settings(directory=Path("unused"), **changes))


class Point(pydantic.BaseModel):
    y: int = 2
    x: int = 1


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class Undumpable(pydantic.BaseModel):
    def model_dump(self, **_: Any) -> dict[str, Any]:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"b": 1, "a": {"d": 2, "c": 3}}, b'{"a":{"c":3,"d":2},"b":1}'),
        ({"a": {"c": 3, "d": 2}, "b": 1}, b'{"a":{"c":3,"d":2},"b":1}'),
        ('{"b": 1,\n "a": {"d": 2, "c": 3}}', b'{"a":{"c":3,"d":2},"b":1}'),
        ((1, 2), b"[1,2]"),
        ("[1, 2]", b"[1,2]"),
        ("plain text", b"plain text"),
        ("{not json", b"{not json"),
        ("häßlich", "häßlich".encode()),
        ("a\ud800b", b"a?b"),
        ({"k\udcff": "v\ud800"}, b'{"k?":"v?"}'),
        ([2**64 - 1, -(2**63)], b"[18446744073709551615,-9223372036854775808]"),
        ([2**64, -(2**63) - 1], b'["18446744073709551616","-9223372036854775809"]'),
        ([10**5000], b'["' + hex(10**5000).encode() + b'"]'),
        ([float("nan"), float("inf")], b"[null,null]"),
        ([b"bytes", bytearray(b"\xff")], '["bytes","�"]'.encode()),
        ({1: "a", None: "b", (2, 3): "c"}, b'{"(2, 3)":"c","1":"a","None":"b"}'),
        ({"b", "a"}, b'["a","b"]'),
        (Point(), b'{"x":1,"y":2}'),
        ([Point(), "\ud800"], b'[{"x":1,"y":2},"?"]'),
        (Unprintable(), b'"<Unprintable>"'),
        ([Unprintable(), 2**64], b'["<Unprintable>","18446744073709551616"]'),
        (Undumpable(), b'"<Undumpable>"'),
        (None, b"null"),
    ],
)
def test_equal_values_have_one_canonical_form(value: object, form: bytes) -> None:
    assert canonical(value) == form


def test_a_value_that_contains_itself_has_a_form() -> None:
    loop: list[Any] = [1]
    loop += [loop, {"again": loop}]
    assert canonical(loop) == '[1,"…",{"again":"…"}]'.encode()


def test_a_value_nested_too_deep_is_cut_and_not_refused() -> None:
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert canonical(deep) == b"[" * 101 + '"…"'.encode() + b"]" * 101


def test_any_dataclass_can_be_dumped() -> None:
    @dataclasses.dataclass
    class Thing:
        name: str
        raw: bytes

    assert dump_json(Thing("a", b"b")) == b'{"name":"a","raw":"b"}'


def test_hashes_name_their_algorithm_and_agree_for_equal_values() -> None:
    digest = "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"
    assert policy().hash({"b": 1, "a": 2}) == policy().hash('{"a": 2, "b": 1}') == digest


def test_a_key_makes_hashes_that_nobody_else_can_guess() -> None:
    keyed = policy(hash_key="k1").hash("yes")
    assert keyed == "hmac-sha256:6a86fcccaaeb3dff9abb6bbe9a7887ab927a97947834c917e010cc5b99bafe8d"
    assert len({keyed, policy(hash_key="k2").hash("yes"), policy().hash("yes")}) == 3


def test_a_short_text_is_its_own_summary_on_one_line() -> None:
    assert summarize("  first line\n\tsecond   line ") == "first line second line"


def test_a_long_text_is_cut_between_words_and_says_by_how_much() -> None:
    text = " ".join(f"word{n}" for n in range(100))
    summary = summarize(text)
    kept, mark, cut = summary.partition("… (+")
    assert text.startswith(kept + " ")
    assert (mark, int(cut.removesuffix(" chars)")) + len(kept)) == ("… (+", len(text))
    assert SUMMARY_LIMIT - 20 < len(summary) <= SUMMARY_LIMIT


@pytest.mark.parametrize(
    "text", ["x" * 241, "x" * 10_000_000, "word " * 5000, " " * 5000 + "end", "ü" * 300, "a\n" * 500, "x" * 230 + " y" * 9]
)
def test_no_summary_is_longer_than_the_limit(text: str) -> None:
    summary = summarize(text)
    assert len(summary) <= SUMMARY_LIMIT
    assert "\n" not in summary


def test_a_text_of_exactly_the_limit_is_whole() -> None:
    assert summarize("x" * SUMMARY_LIMIT) == "x" * SUMMARY_LIMIT


def test_values_are_summarised_as_json_and_models_as_their_fields() -> None:
    assert [summarize(value) for value in ({"b": 1, "a": "x"}, Point(), 3, None)] == [
        '{"b":1,"a":"x"}',
        '{"y":2,"x":1}',
        "3",
        "null",
    ]


PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3\nVS5JJcds\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("sk-proj-abcdefghijklmnop1234", "[REDACTED:api_key]"),
        ("key sk_live_4eC39HqLyjWDarjtT1 end", "key [REDACTED:api_key] end"),
        ("AIzaSyA1234567890abcdefghij", "[REDACTED:api_key]"),
        ("hf_abcdefghijklmnopqrst", "[REDACTED:api_key]"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[REDACTED:github_token]"),
        ("github_pat_11ABCDEFG0abcdefghijkl_xyz", "[REDACTED:github_token]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [REDACTED:aws_key]."),
        ("xoxb-1234567890-abcdef", "[REDACTED:slack_token]"),
        (f"see {JWT} there", "see [REDACTED:jwt] there"),
        (f"a {PEM} b", "a [REDACTED:private_key] b"),
        (PEM[:60], "[REDACTED:private_key]"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [REDACTED:bearer]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [REDACTED:credential]"),
        ("curl -H 'BEARER abcdefgh'", "curl -H 'BEARER [REDACTED:bearer]'"),
        ("postgres://me:hunter2@db/x", "postgres://[REDACTED:url_password]@db/x"),
        ("password=hunter2", "password=[REDACTED:credential]"),
        ("PASSWORD: 123456", "PASSWORD: [REDACTED:credential]"),
        ("passwd = 2026!Summer;", "passwd = [REDACTED:credential];"),
        ('{"password":"correct horse battery","n":1}', '{"password":"[REDACTED:credential]","n":1}'),
        (r'{"raw":"{\"api_key\": \"a b\"}"}', r'{"raw":"{\"api_key\": \"[REDACTED:credential]\"}"}'),
        (r'"secret":"quo\"te","n":1', '"secret":"[REDACTED:credential]","n":1'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7", "AWS_SECRET_ACCESS_KEY=[REDACTED:credential]"),
        ("SECRET_KEY = 'django insecure'", "SECRET_KEY = '[REDACTED:credential]'"),
        ("x-api-key: abc123", "x-api-key: [REDACTED:credential]"),
        ("the API key: abc123", "the API key: [REDACTED:credential]"),
        ("AccountKey=abc/def==;End", "AccountKey=[REDACTED:credential];End"),
        ("client_secret=" + "x" * 5000 + " end", "client_secret=[REDACTED:credential] end"),
        ("access_token=12345678-90ab-cdef", "access_token=[REDACTED:credential]"),
    ],
)
def test_secrets_are_replaced_and_what_is_around_them_stays(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "input_tokens: 345",
        '{"gen_ai.usage.input_tokens":345}',
        "token: 345",
        "max_token=4096, top_p=1",
        "The token count was fine; the secret is patience.",
        "def login(user: str, password: str) -> None:",
        '{"password": null, "token": true}',
        "tokenizer: fast",
        "secretary: Bob",
        "http://localhost:8080/path@home",
        "ask-me-anything-about-it",
        "risk-adjusted",
        "the bearer of news",
        "sha256:43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777",
        "0193c3a1-7b52-7000-8000-123456789abc",
        "src/auth/password_reset.py",
        "password = ''",
    ],
)
def test_texts_without_secrets_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


def test_redacting_twice_changes_nothing_more() -> None:
    text = f"password=hunter2 {JWT} sk-abcdefghijklmnopqrstuvwxyz {PEM}"
    assert redact(redact(text)) == redact(text)


def test_text_that_cannot_be_checked_is_not_kept() -> None:
    assert redact(b"password=hunter2") == "[REDACTED:unchecked]"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "secret",
    [JWT.replace(".dozj", "A" * 3000 + ".dozj"), "sk-" + "a" * 5000, "password=" + "b" * 5000, PEM.replace("VS5", "C" * 3000)],
)
def test_a_secret_longer_than_the_window_is_redacted_in_the_summary(secret: str) -> None:
    summary = summarize(f"my secret thing is {secret}")
    assert summary.startswith("my secret thing is ") and "[REDACTED:" in summary
    assert not any(run in summary for run in ("AAAA", "aaaa", "bbbb", "CCCC", "eyJz", "MIIE"))


@pytest.mark.parametrize("lead", range(1000, 1024))
def test_a_secret_that_the_window_cuts_short_leaves_no_piece(lead: int) -> None:
    assert "sk-" not in summarize(" " * lead + "sk-abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize(
    "piece",
    [
        *("-eyJaaaaaaaa", "eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "- private key", "sk-", "gsk_"),
        *("password=", "password:bearer ", 'password="', "secret:\\", "api key", "token=1", "bearer ", "://a:", "AKIA"),
    ],
)
def test_redaction_takes_twice_as_long_for_twice_the_text(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        best = 9.9
        for _ in range(5):
            begin = time.thread_time()
            redact(text)
            best = min(best, time.thread_time() - begin)
        return best

    # Quadratic time would give 16; noise of a busy machine stays well below half of that.
    assert seconds(160_000) / seconds(40_000) < 9


def test_a_key_is_one_redacted_line_of_bounded_length() -> None:
    assert [entry_key(text) for text in ("src/a.py", "a\nb", "https://u:pw@h/?token=abcd", "b\udcff.txt")] == [
        "src/a.py",
        "a b",
        "https://[REDACTED:url_password]@h/?token=[REDACTED:credential]",
        "b?.txt",
    ]
    assert len(entry_key("x" * 50_000_000)) < KEY_LIMIT + 40


def blob(level: Capture, value: object) -> Blob | None:
    return policy(capture=level).blob(value, "sha256:0")


def test_each_capture_level_lets_through_what_it_says() -> None:
    value = {"q": "password=hunter2"}
    kept = '{"q":"password=[REDACTED:credential]"}'
    assert [(policy(capture=level).summary(value), blob(level, value)) for level in Capture] == [
        ("", None),
        (kept, None),
        (kept, Blob("sha256:0", kept)),
    ]


def test_a_blob_is_bounded_and_says_what_was_cut() -> None:
    found = blob(Capture.FULL, "word " * (BLOB_LIMIT // 5) + "x" * 5003)
    assert found is not None
    assert len(found.text) < BLOB_LIMIT + 40
    assert found.text.endswith("word … (+4,999 chars)")


def on_span(value: object, asked: bool = True) -> str | None:
    return policy(content_on_spans=asked).attribute(value)


def test_content_goes_onto_spans_redacted_and_only_when_asked_for() -> None:
    messages = Messages(["password=hunter2"], lambda raw: {"role": "user", "content": raw})
    assert on_span(messages, asked=False) is None
    assert on_span(messages) == '[{"content":"password=[REDACTED:credential]","role":"user"}]'
    assert on_span(b"password=hunter2") == '"password=[REDACTED:credential]"'
    assert on_span("plain") == "plain"


@pytest.mark.parametrize("read", [policy().hash, policy().summary, policy(content_on_spans=True).attribute])
def test_fifty_megabytes_are_no_trouble(read: Callable[[object], object]) -> None:
    assert read("x" * 50_000_000)


@pytest.mark.parametrize("before", ["\n", "\t", "\x1b[31m", "%20", "_", '{"a": "x\n'])
def test_a_key_is_found_whatever_is_encoded_in_front_of_it(before: str) -> None:
    key = "sk-proj-QQ1CdEf0123456789"
    for value in (before + key, {"content": before + key}, {"content": f'{{"inner": "{before}{key}"}}'}):
        assert key not in summarize(value)


def test_a_word_that_ends_like_a_key_begins_is_kept() -> None:
    assert redact("a risk-management-strategy-for-all") == "a risk-management-strategy-for-all"


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "\ud800 alone",
        '{"b": 1.0, "a": [-0.0, 18446744073709551615]}',
        "{no JSON",
        {"b": 1, "a": {2: "\ud800", "1": float("nan")}},
        [{"role": "user", "parts": [b"bytes", {3, 1}, 2**70]}],
        {"text": "x" * 2_000_000, "a": 1},
        42,
        Path("a"),
        "password=hunter22",
        "word " * 1_000_000,
    ],
)
def test_every_blob_can_be_what_has_its_hash(value: object) -> None:
    policy = ContentPolicy(Settings(directory=Path("unused"), capture=Capture.FULL))
    blob = policy.blob(value, policy.hash(value))
    assert blob is not None
    assert may_be(blob.text, blob.hash)
    assert may_be(blob.text, f"hmac-{blob.hash}")
    assert not may_be("another", blob.hash)


def test_a_summary_that_leaves_something_out_is_told_from_a_whole_one() -> None:
    assert [is_cut(summarize("word " * many)) for many in (10, 1000)] == [False, True]
