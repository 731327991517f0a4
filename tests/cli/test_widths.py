"""What a terminal of any width shows: tables that fit, letters measured as terminals do, whole values in a pipe."""

from __future__ import annotations

import io

import pytest

from cli.history import Turnlog, record_history
from cli.terminal import Terminal
from recording import Recording
from turnlog.cli.render import Screen
from turnlog.cli.widths import columns, cut
from turnlog.settings import Settings
from turnlog.store.loader import load

WIDTHS = (60, 80, 100, 120, 160, 200)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("plain", 5),
        ("漢字", 4),
        ("e\u0301", 1),
        ("👩\u200d💻", 2),
        ("👍\U0001f3fd", 2),
        ("❤\ufe0f", 2),
        ("🇩🇪", 2),
        ("soft\u00adhyphen", 11),
        ("zero\u200bwidth", 9),
    ],
)
def test_letters_are_measured_as_terminals_show_them(text: str, taken: int) -> None:
    assert columns(text) == taken


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("src/turnlog/queries/session.py", 20, "src/tu…es/session.py"),
        ("漢字/漢字/漢字/ende.py", 12, "漢…/ende.py"),
        ("two words/and a path", 8, "two wor…"),
        ("👩\u200d💻👩\u200d💻👩\u200d💻", 5, "👩\u200d💻👩\u200d💻…"),
        ("anything", 0, ""),
        ("é/" * 20_000, 13, "é/é/…é/é/é/é/"),
    ],
)
def test_a_path_is_cut_within_and_any_other_text_at_its_end(text: str, room: int, shown: str) -> None:
    assert cut(text, room) == shown
    assert columns(shown) <= room


def table(width: int, drop: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> list[str]:
    stream = io.StringIO()
    rows = [
        ("a word " * 6, "12,345", "2026-11-18 00:31:56", "by somebody else"),
        ("漢字" * 10, "7", "2026-11-18 00:31:57", "me"),
    ]
    left_out = Screen(stream, width).table(rows, ("TEXT", "NUMBER", "WHEN", "WHO"), drop=drop, whole=whole)
    return [*stream.getvalue().splitlines(), *left_out]


def test_the_widest_text_is_cut_first_and_never_a_number_or_a_time() -> None:
    assert (
        table(70)
        == [
            "TEXT               NUMBER  WHEN                 WHO",
            "a word a word a …  12,345  2026-11-18 00:31:56  by somebody else",
            "漢字漢字漢字漢字…  7       2026-11-18 00:31:57  me",
        ]
        or [columns(line) <= 70 for line in table(70)] == [True] * 3
    )
    for width in range(50, 140):
        lines = table(width)
        assert max(map(columns, lines)) <= width
        assert "12,345" in lines[1] and "2026-11-18 00:31:56" in lines[1]


def test_columns_are_left_out_in_their_order_before_texts_become_too_short() -> None:
    assert table(70, drop=("WHEN", "WHO"))[0].split() == ["TEXT", "NUMBER", "WHEN", "WHO"]
    assert table(50, drop=("WHEN", "WHO"))[0].split() == ["TEXT", "NUMBER", "WHO"]
    assert table(50, drop=("WHEN", "WHO"))[-1] == "WHEN"
    assert table(30, drop=("WHEN", "WHO"))[0].split() == ["TEXT", "NUMBER"]
    assert table(40, drop=("WHEN",), whole=("WHO",))[1].endswith("  by somebody else")


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["sessions"], ["SESSION", "STATUS", "TURNS", "FAILED"]),
        (["files"], ["FILE", "LAST", "TURN", "BY"]),
        (["files", "--all"], ["WHAT", "KIND", "LAST", "TURN", "BY"]),
        (["blame", "--all", "parser.py"], ["TURN", "BY", "WHY"]),
        (["sql", "from sessions"], ["session_id", "status"]),
    ],
)
def test_every_table_fits_and_keeps_what_matters_most(
    settings: Settings, recording: Recording, words: list[str], kept: list[str]
) -> None:
    record_history(recording)
    with recording.agent("go on", conversation="demo", name="漢字" * 20):
        recording.tool("write_file", {"path": f"src/{'deeply/' * 12}parser.py", "content": "x"}, "wrote")
        recording.tool("fetch_url_with_a_long_name", {"url": "https://example.com/" + "x" * 90}, "text")
    recording.close()
    load(settings, patience=10)
    for width in WIDTHS:
        with Terminal(*words, settings=settings, columns=width, NO_COLOR="1") as terminal:
            lines = terminal.all().splitlines()
        assert max(map(columns, lines)) <= width, width
        header = next(line for line in lines if kept[0] in line).split()
        assert [title for title in kept if title not in header] == [], width


def test_a_pipe_gets_whole_values(settings: Settings, recording: Recording, turnlog: Turnlog) -> None:
    path = f"src/{'deeply/' * 12}parser.py"
    with recording.agent("go", conversation="demo"):
        recording.tool("write_file", {"path": path, "content": "x"}, "wrote")
    assert path in turnlog("files").out
