"""Each view, with the demo's data and with sessions made so that there is something to see."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from turnlog import queries
from turnlog.demo.script import CHANGELOG_REQUEST, REQUESTS
from turnlog.settings import Settings, read_settings
from turnlog.store import sandbox, schema
from web.conftest import Open
from web.reading import cells, facts, follow, plain, texts
from web.serving import Served
from web.story import TRACES

if TYPE_CHECKING:
    from playwright.sync_api import Page

ASKED = [*REQUESTS, CHANGELOG_REQUEST]


def commit_of(served: Served, session: str, tool: str, turn: int) -> queries.Commit:
    with queries.reading(Settings(directory=served.directory)) as db:
        return queries.log(db, session, tool=tool, turn=turn)[0]


def test_sessions_are_listed_with_what_is_to_be_known_of_each(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told)
    found = {row[0]: row[1:] for row in cells(page, "Sessions, newest first")}
    assert next(iter(found)) == "parser"
    assert found["parser"][:9] == ["idle", "builder", "2", "7", "0", "1", "1", "1,200", "34"]
    assert found["s"] == ["idle", "-", "3", "12", "1", "0", "0", "90", "18", "MS", "2026-09-21 14:13:35"]
    assert found[demo][:4] == ["idle", "coder", "4", "24"]
    assert len(found) == 4
    assert "token" not in page.url


def test_search_and_filters_live_in_the_address(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told)
    page.get_by_label("Search").fill("BUILD")
    with page.expect_navigation(url="**q=BUILD**"):
        page.get_by_label("Search").press("Enter")
    assert [row[0] for row in cells(page, "Sessions, newest first")] == ["parser"]
    follow(page.get_by_role("link", name="Clear"))
    page.get_by_label("with failures").click()
    page.get_by_role("link", name="parser").wait_for(state="detached")
    assert "failed=1" in page.url
    found = [row[0] for row in cells(page, "Sessions, newest first")]
    assert (found[0], found[-1], "parser" in found) == (demo, "s", False)
    again = open_page(told, page.url.removeprefix(told.origin))
    assert [row[0] for row in cells(again, "Sessions, newest first")] == found
    page.go_back()
    page.get_by_role("link", name="parser").wait_for()
    page.goto(told.url("/", status="closed"))
    assert texts(page.locator(".empty p")) == ["None of 4 sessions is like this.", "Show all"]


@pytest.mark.parametrize(("label", "name"), [("with evictions", "evicted"), ("with unverified inputs", "unverified")])
def test_sessions_that_forgot_or_trust_too_much_can_be_picked_out(told: Served, open_page: Open, label: str, name: str) -> None:
    page = open_page(told)
    page.get_by_label(label).click()
    page.get_by_role("link", name="s", exact=True).wait_for(state="detached")
    assert [row[0] for row in cells(page, "Sessions, newest first")] == ["parser"]
    assert page.get_by_label(label).is_checked()
    page.get_by_label("with failures").click()
    page.locator(".empty").wait_for()
    assert f"failed=1&{name}=1" in page.url
    assert texts(page.locator(".empty p")) == ["None of 4 sessions is like this.", "Show all"]


def test_an_empty_store_teaches_the_next_step(vacant: Served, open_page: Open) -> None:
    page = open_page(vacant)
    assert texts(page.locator(".empty code")) == ["turnlog demo", "turnlog run python app.py", "turnlog import FILE"]
    for path in ("/compare", "/sql", "/health"):
        page.goto(vacant.origin + path)
        assert page.locator("h1").count() == 1


def test_a_session_shows_its_turns_and_its_log(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told, f"/session?id={demo}")
    assert texts(page.locator(".turns .asked")) == ASKED[::-1]
    assert texts(page.locator("h3")) == [f"turn {turn} {ASKED[turn - 1]}" for turn in (4, 3, 2, 1)]
    with queries.reading(Settings(directory=told.directory)) as db:
        log, bars = queries.log(db, demo, limit=100), queries.turn_bars(db, demo, last=4)
    assert texts(page.locator(".log .id")) == [plain(commit.commit_id[:7]) for commit in log]
    assert page.locator(".log .id").evaluate_all("links => links.map(link => link.href)") == [
        told.url("/commit", session=demo, id=commit.commit_id) for commit in log
    ]
    second = page.locator(".log li", has=page.get_by_text("run_tests", exact=True)).nth(1)
    assert "ATTEMPT 2" in texts(second.locator(".flag"))
    assert texts(page.locator(".turns li").nth(2).locator(".flag")) == [f"{bars[1].failures} FAILED", "1 RETRIED"]
    for turn, bar in enumerate(reversed(bars)):
        drawn = (
            page.locator(".turns li").nth(turn).locator("rect").evaluate_all("found => found.map(each => each.classList[0])")
        )
        assert drawn[0] == "model"
        assert ("tool" in drawn) == (bar.tool_ms > bar.duration_ms / 1000)


def test_failures_retries_evictions_and_doubts_are_marked(told: Served, open_page: Open) -> None:
    page = open_page(told, "/session?id=parser")
    assert facts(page)[:7] == [
        "idle",
        "builder",
        "2 turns",
        "7 commits",
        "1 eviction",
        "1 unverified",
        "1,200 tokens in, 34 out",
    ]
    assert texts(page.locator(".turns .marks")) == ["EVICTED", ""]
    assert texts(page.locator(".log .what")) == [
        "decision answer It passes.",
        "eviction 1 message, 1 result, 1 decision, 1 file",
        "decision answer It is written.",
        'write_file {"path":"parser.py"} wrote it',
        "decision call write_file Now the parser.",
        'read_page {"path":"grammar.md"} expr := term',
        "decision call read_page First the grammar.",
    ]
    page.goto(told.url("/session", id="s"))
    assert texts(page.locator(".turns .marks")) == ["RETRY 2/2", "1 FAILED", ""]
    assert 'run TIMEOUT {"target":"tests"} no end in sight' in texts(page.locator(".log .what"))


def test_a_commit_shows_all_that_is_known_of_it(told: Served, demo: str, open_page: Open) -> None:
    commit = commit_of(told, demo, "write_file", 3)
    page = open_page(told, f"/commit?session={demo}&id={commit.commit_id}")
    assert page.locator("h1").inner_text() == f"write_file{commit.commit_id}"
    assert page.locator(".card", has=page.get_by_role("heading", name="Input")).locator("pre").inner_text() == (
        "path: wordcount.py\ncontent:\nfrom collections import Counter\n\n\ndef count(text):\n    return Counter(text.split())"
    )
    output = page.locator(".card", has=page.get_by_role("heading", name="Output"))
    assert output.locator("pre").inner_text() == "wrote 5 lines to wordcount.py"
    assert texts(page.locator(".hash")) == [commit.input_hash, commit.output_hash]
    delta = json.loads(commit.delta)
    assert cells(page, "Changes of entries") == [
        ["set", "tool", "write_file", "", "", "ok", "transient"],
        ["set", "file", "wordcount.py", "write", "both", delta[1]["value"], "durable"],
    ]
    decided = page.locator(".card", has=page.get_by_role("heading", name="Decision")).locator("dd")
    assert texts(decided)[:3] == ["call write_file", "Counter replaces the loop.", "scripted-coder"]
    context = cells(page, "Messages in the context")
    assert [row[1] for row in context[:2]] == ["user", "assistant"]
    assert context[0][4] == REQUESTS[0]
    assert page.get_by_role("link", name="open the trace").get_attribute("href") == TRACES.format(trace_id=commit.trace_id)
    page.locator("summary").click()
    assert ["gen_ai.tool.type", "function"] in cells(page, "Attributes")


def test_a_commit_shows_the_path_from_what_nobody_verified(told: Served, open_page: Open) -> None:
    source, commit = commit_of(told, "parser", "read_page", 1), commit_of(told, "parser", "write_file", 1)
    page = open_page(told, f"/commit?session=parser&id={commit.commit_id}")
    built = page.locator(".card", has=page.get_by_role("heading", name="Built on")).locator("li")
    path = built.first.locator("a").evaluate_all("links => links.map(link => new URL(link.href).searchParams.get('id'))")
    assert (path[0], path[-1]) == (source.commit_id, commit.commit_id)
    assert ["3", "tool", "UNVERIFIED", "read_page ID", "expr := term"] in cells(page, "Messages in the context")


@pytest.mark.parametrize("template", ["javascript:{trace_id}", "http://localhost/trace", "{trace_id}"])
def test_an_address_of_traces_that_makes_no_sense_is_a_problem(monkeypatch: pytest.MonkeyPatch, template: str) -> None:
    monkeypatch.setenv("TURNLOG_TRACE_URL", template)
    problem = "TURNLOG_TRACE_URL must be an http address with {trace_id} in it; there are no links to traces"
    assert (read_settings().trace_url, read_settings().problems) == ("", (problem,))


def test_two_turns_are_compared_with_the_texts_that_changed(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told, f"/diff?session={demo}&a=2&b=3")
    assert facts(page)[:2] == ["+3 added", "~2 changed"]
    changed = [row for row in cells(page, "Entries that differ") if row[0] == "~ changed"]
    assert changed[0] == ["~ changed", "decision", "how to count", "a plain dict collections.Counter", "ID turn 3"]
    assert changed[1][:3] == ["~ changed", "file", "wordcount.py"]
    lines = page.locator(".diff").inner_text().splitlines()
    assert [line for line in lines if line.startswith("-")] == [
        "-    found = {}",
        "-    for word in text.split():",
        "-        found[word] = found.get(word, 0) + 1",
        "-    return found",
    ]
    assert "+    return Counter(text.split())" in lines
    assert ["ID", "3", "how to count", "collections.Counter", "it counts in C, and large texts make that matter"] in cells(
        page, "Decisions"
    )
    follow(page.get_by_role("link", name="Earlier"))
    assert page.locator("h1").inner_text() == "Turn 1 → turn 2"
    page.goto(told.url("/diff", session=demo, a=4, b=1))
    assert facts(page)[0].startswith("-"), "backwards, what was added is removed"


def test_a_turn_and_its_retry_are_shown_to_where_they_part(told: Served, open_page: Open) -> None:
    page = open_page(told, "/session?id=s&turn=3")
    follow(page.get_by_role("link", name="compare with the first attempt"))
    assert page.locator("h1").inner_text() == "Turn 2 and its retry, turn 3"
    assert plain(page.locator(".card").first.inner_text()) == (
        "They part PARTED at step 3: tool result (the same call came back differently). Show it "
        "What came out @@ -0,0 +1 @@ +3 passed"
    )
    assert cells(page, "Steps side by side") == [
        ["1", "=", "ID decision call read, run", "ID decision call read, run"],
        ["2", "=", 'ID read {"path":"plan.md"} step one', 'ID read {"path":"plan.md"} step one'],
        ["3", "≠", "ID run TIMEOUT no end in sight", 'ID run {"target":"tests"} 3 passed'],
        ["4", "=", "ID decision answer", "ID decision answer"],
    ]
    assert page.locator("#parted td").first.inner_text() == "3"
    assert facts(page)[-1] == "~1 changed"
    assert cells(page, "Entries that differ") == [["~ changed", "tool", "run", "timeout run ID", "ok run ID"]]


def test_two_sessions_are_compared_and_the_divergence_is_in_view(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told, "/compare")
    page.get_by_label("Session").fill(demo)
    page.get_by_label("and", exact=True).fill("parser")
    follow(page.get_by_role("button", name="Compare"))
    page.wait_for_url("**a=demo**")
    assert "PARTED at turn 1, step 1: " in plain(page.locator(".card").first.inner_text())
    seen = page.locator("#parted").bounding_box()
    assert seen is not None
    assert 0 <= seen["y"] <= 844
    both = texts(page.get_by_role("table", name="Steps side by side").locator("thead th"))
    assert both == ["Step", "Same", demo, "parser"]
    differ = cells(page, "Entries that differ")
    assert ["- removed", "decision", "how to count", "collections.Counter ID", "-"] in differ
    assert ["+ added", "tool", "read_page", "-", "ok read_page ID"] in differ
    commits = page.get_by_role("table", name="Entries that differ").locator("a.id")
    assert {link.split("session=")[1].split("&")[0] for link in commits.evaluate_all("all => all.map(each => each.href)")} == {
        demo,
        "parser",
    }


def test_the_working_set_is_a_heat_strip_that_leads_to_blame(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told, f"/files?session={demo}")
    assert cells(page, "Working set") == [
        ["wordcount.py", "file", "www·", "write", "both", "3", "write_file ID"],
        ["test_wordcount.py", "file", "·w··", "create", "both", "1", "write_file ID"],
    ]
    follow(page.get_by_role("link", name="turn 3: write, both wordcount.py"))
    changes = cells(page, "Changes, newest first")
    assert [row[1:3] for row in changes] == [["wordcount.py", what] for what in ("write", "write", "create")]
    assert changes[0][5:] == [f"turn 3 of {demo}", "Counter replaces the loop. ID"]
    assert page.locator("tr.chosen").count() == 1
    follow(page.get_by_role("link", name="In all sessions"))
    assert len(cells(page, "Changes, newest first")) == 6
    page.goto(told.url("/files", session="parser"))
    assert texts(page.locator("td .declared")) == ["w", "r"], "nobody saw these files on disk"


def test_state_is_shown_at_any_turn_with_a_slider(told: Served, demo: str, open_page: Open) -> None:
    page = open_page(told, f"/state?session={demo}")
    page.evaluate("window.marker = 1")
    assert ["wordcount.py", "write sha256:ID", "durable", "3", "write_file ID"] in cells(page, "file entries")
    slider = page.get_by_role("slider", name="After turn")
    for turn in ("3", "2", "1"):
        slider.press("ArrowLeft")
        page.locator("h1", has_text=f"after turn {turn}").wait_for()
        assert page.url.endswith(f"turn={turn}")
    assert cells(page, "file entries") == [["wordcount.py", "create sha256:ID", "durable", "1", "write_file ID"]]
    assert page.locator("output").inner_text() == "1 of 4"
    assert page.evaluate("[window.marker, document.activeElement.id]") == [1, "turn"]


def test_state_shows_what_fell_out_of_the_context(told: Served, open_page: Open) -> None:
    page = open_page(told, "/state?session=parser")
    assert [[row[0], *row[2:5]] for row in cells(page, "Out of context")] == [
        ["decision", "call read_page - First the grammar.", "2", "trimmed"],
        ["file", "read by read_page", "2", "trimmed"],
        ["result", "expr := term", "2", "trimmed"],
        ["message", "call read_page - First the grammar.", "2", "trimmed"],
    ]
    page.goto(told.url("/context", session="parser"))
    assert [row[1] for row in cells(page, "Messages in the context")] == ["user", "assistant", "tool", "assistant", "user"]


def ask(page: Page, statement: str) -> None:
    page.get_by_label("One reading statement").fill(statement)
    with page.expect_navigation():
        page.get_by_label("One reading statement").press("Control+Enter")


def test_sql_answers_as_a_table_a_chart_csv_and_json(told: Served, open_page: Open) -> None:
    page = open_page(told, "/sql")
    ask(page, "select tool, sum(calls) as calls from tool_stats where session_id = 's' group by tool order by tool")
    assert cells(page, "Result") == [["read", "3"], ["run", "3"]]
    with page.expect_download() as comma:
        page.get_by_role("link", name="CSV").click()
    assert list(csv.reader(io.StringIO(comma.value.path().read_text()))) == [["tool", "calls"], ["read", "3"], ["run", "3"]]
    with page.expect_download() as dump:
        page.get_by_role("link", name="JSON").click()
    assert json.loads(dump.value.path().read_text()) == {
        "columns": ["tool", "calls"],
        "rows": [["read", 3], ["run", 3]],
        "more": False,
    }
    follow(page.get_by_role("link", name="Chart"))
    assert cells(page, "calls by tool") == [["read", "", "3"], ["run", "", "3"]]
    assert "as=chart" in page.url


def test_the_ten_saved_questions_answer(told: Served, open_page: Open) -> None:
    page = open_page(told, "/sql")
    names = texts(page.locator(".plain a"))
    assert len(names) == 10
    for name in names:
        follow(page.get_by_role("link", name=name, exact=True))
        assert page.locator("[role=alert]").count() == 0, name
        assert page.locator(".result, .empty").count() > 0, name
        assert texts(page.locator(".plain a[aria-current]")) == [name]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("delete from raw.spans", "Write one SELECT"),
        ("select * from read_csv('/etc/passwd')", "disabled"),
        ("select 1; select 2", "one"),
        ("select repeat('x', 3000000000)", ""),
        ("select count(*) from range(1000000) a, range(1000000) b, range(1000) c", "10 s"),
    ],
)
def test_sql_is_sandboxed_and_bounded(told: Served, open_page: Open, statement: str, problem: str) -> None:
    page = open_page(told, "/sql", expect_errors=True)
    page.set_default_timeout(60_000)
    ask(page, statement)
    refused = plain(page.get_by_role("alert").inner_text())
    assert refused.startswith("REFUSED ")
    assert problem in refused or problem.replace("10 s", "MS") in refused


def test_sql_shows_so_many_rows_and_no_more(told: Served, open_page: Open) -> None:
    page = open_page(told, "/sql")
    ask(page, "from range(100000)")
    assert plain(page.locator(".result span").first.inner_text()) == "500 rows, and there are more in MS"
    assert len(cells(page, "Result")) == 500


def test_every_view_answers_as_the_page_asks_it(told: Served, open_page: Open) -> None:
    page = open_page(told, "/sql")
    asked = page.locator(".views a").evaluate_all("all => all.map(each => new URL(each.href).searchParams.get('q'))")
    assert len(asked) == len(schema.questions())
    for statement in asked:
        with queries.reading(Settings(directory=told.directory)) as db:
            sandbox.answer(db, statement)


def test_csv_says_values_as_the_table_does_and_no_text_is_a_formula(told: Served) -> None:
    statement = """select '=cmd()' as "@x", -1 as less, true as is, [1, null] as some, '-' as dash, null as none"""
    answer = told.ask(f"/sql.csv?{urlencode({'q': statement})}", Authorization=f"Bearer {told.token}")
    assert answer.text == "'@x,less,is,some,dash,none\r\n'=cmd(),-1,true,\"[1,null]\",'-,\r\n"


def test_the_schema_of_the_page_is_that_of_the_views(told: Served) -> None:
    shown = {question.name: question.columns for question in schema.questions() if question.kind == "view"}
    with queries.reading(Settings(directory=told.directory)) as db:
        real = {name: [row[0] for row in db.execute(f"describe {name}").fetchall()] for name in shown}
    assert shown == real


def test_health_is_doctor_as_a_page(told: Served, open_page: Open) -> None:
    page = open_page(told, "/health")
    report = told.json("/health")
    store = texts(page.locator(".card", has=page.get_by_role("heading", name="The store")).locator("dd"))
    assert [str(told.directory), "4", f"{report['totals']['spans']:,}"] == [store[0], store[2], store[4]]
    assert [row[0] for row in cells(page, "Frameworks")] == [each["framework"] for each in report["frameworks"]]
    assert ["TURNLOG_TRACE_URL", TRACES, "set"] in cells(page, "Settings")
