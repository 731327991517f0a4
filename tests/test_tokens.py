"""The estimate is no fewer tokens than the tokenizers of models of today count; sections keep within a budget by it."""

from __future__ import annotations

import json
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splintr import Tokenizer

from programs import ROOT
from turnlog.tokens import Section, estimate, fit

TOKENIZERS = ("o200k_base", "cl100k_base", "llama3", "deepseek_v3", "qwen3", "mistral_v3")
_NOISE = random.Random(11)
TEXTS = {
    "prose": (ROOT / "README.md").read_text()[:40_000],
    "code": (ROOT / "src/turnlog/processor.py").read_text(),
    "SQL": (ROOT / "src/turnlog/store/sql/core/28_influence.sql").read_text(),
    "ids": " ".join(f"{_NOISE.getrandbits(64):016x}" for _ in range(500)),
    "base 64": "".join(_NOISE.choices(string.ascii_letters + string.digits + "+/", k=4000)),
    "paths": "\n".join(f"/home/ada/src/package_{n}/module_{n * 7}.test.tsx" for n in range(300)),
    "JSON": json.dumps([{"path": f"src/{n}.py", "content": "def f():\n\treturn None\n", "n": n / 3} for n in range(200)]),
    "quoted JSON": json.dumps(json.dumps({"a\\b": ['\n\t"quoted"', {"c": "\\d"}] * 60})),
    "numbers": " ".join(str(_NOISE.random() * 10**6) for _ in range(400)),
    "Chinese": "工具返回了一个错误:文件不存在。请在重试之前检查路径" * 40,
    "Arabic": "كتب الوكيل الملف لكن الاختبار فشل. يرجى تسجيل السبب. " * 40,
    "Hindi": "परीक्षण विफल हुआ क्योंकि फ़ाइल मौजूद नहीं थी। " * 40,
    "Russian": "Инструмент вернул ошибку: файл не существует. " * 40,
    "Korean": "도구가 오류를 반환했습니다. 파일이 없습니다. " * 40,
    "emoji": "done ✅🚀 👩‍💻🏳️‍🌈 " * 60,
    "traceback": 'Traceback (most recent call last):\n  File "/usr/lib/python3.11/asyncio/tasks.py", line 277, in __step\n'
    * 40,
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_estimate_is_above_what_a_tokenizer_counts(name: str) -> None:
    tokenizer = Tokenizer.from_pretrained(name)
    counted = {kind: len(tokenizer.encode_ordinary(text)) for kind, text in TEXTS.items()}
    assert {kind: count for kind, count in counted.items() if count > estimate(TEXTS[kind])} == {}


def test_the_estimate_is_not_far_above_for_prose() -> None:
    counted = len(Tokenizer.from_pretrained("o200k_base").encode_ordinary(TEXTS["prose"]))
    assert estimate(TEXTS["prose"]) < 2 * counted


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet=string.printable + "é中🚀", max_size=60), max_size=8))
def test_the_estimate_of_lines_is_no_less_than_that_of_their_text(lines: list[str]) -> None:
    assert estimate("\n".join(lines)) <= sum(map(estimate, lines)) + max(len(lines) - 1, 0)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["facts:", "files:"]), st.lists(st.text("ab 中", min_size=1, max_size=40))), max_size=5),
    st.integers(30, 400),
)
def test_sections_keep_within_the_budget_and_say_what_they_leave_out(told: list[tuple[str, list[str]]], budget: int) -> None:
    sections = [Section(title, [f"- {line}" for line in lines], "ask") for title, lines in told]
    text = fit("head", sections, budget)
    assert estimate(text) <= budget
    whole = fit("head", sections, 10**6)
    assert whole == "\n".join(["head", *(line for each in sections if each.lines for line in (each.title, *each.lines))])
    assert text == whole or "more: ask" in text or len(text) < len(whole)


def test_a_section_that_needs_little_leaves_its_room_to_the_others() -> None:
    sections = [Section("long:", [f"- {n}" for n in range(100)], "log"), Section("short:", ["- x"])]
    assert fit("head", sections, 60).splitlines()[-2:] == ["short:", "- x"]
    assert fit("head", sections, 60).splitlines()[1:3] == ["long:", "- 0"]
