"""What the page says of a session in which much happens: renames, sub-agents, evictions, doubts, open work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recording import Recording, assistant, user
from store.story import Story, change, touch
from turnlog import semconv
from turnlog.semconv import GenAiOperation
from turnlog.settings import Settings
from turnlog.store.loader import load
from turnlog.web.texts import laid_out
from web.conftest import Open
from web.reading import cells, facts, follow, plain, texts
from web.serving import Served, serve

DUCKS, TEMPLATE = ("<li>ducks</li>\n<li>geese</li>\n", "{% for note in notes %}\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`site` writes a page, renames it, writes it again and leaves work open; `plan` decides twice; `talk` is recorded."""
    directory = tmp_path_factory.mktemp("site")
    settings = Settings(directory=directory)
    story = Story(settings)
    blobs = {
        "ducks": f'{{"path":"index.html","content":{DUCKS!r}}}',
        "template": f'{{"path":"home.html","content":{TEMPLATE!r}}}',
    }
    for digest, text in blobs.items():
        story.row(record="blob", hash=digest, start_ns=1, text=text.replace("'", '"'))
    story.chat("asks", "site", "t1", choice="call write", reason="First the page.")
    story.tool("writes", "site", "t1", "write_file", touch("create", "index.html", "v1"), input_hash="ducks")
    renamed = [touch("rename", "home.html", "v1") | {"renamed_from": "index.html"}, touch("delete", "index.html")]
    story.tool("renames", "site", "t2", "rename_file", *renamed, input_summary="index.html home.html")
    story.tool("writes again", "site", "t3", "write_file", touch("write", "home.html", "v2"), input_hash="template")
    story.tool("delegates", "site", "t3", "research")
    story.chat("thinks inside", "site", "t3", choice="answer", inside="delegates")
    story.span("is asked", "inner", "i1", operation="invoke_agent", agent="researcher", turn_input="which?", inside="delegates")
    story.note("waits", "site", "t4", change("pending", "approval", "publish it"))
    timeout = {"outcome": "timeout", "error_type": "TimeoutError", "status_message": "no end", "output_summary": "no end"}
    story.tool("fails", "site", "t4", "upload", **timeout)
    named = {"decision_about": "renderer", "delta": [change("decision", "renderer", "jinja2")]}
    why = {"choice": "jinja2", "reason": "40 notes", "alternatives": ["plain HTML", "markdown"]}
    story.span("decides", "plan", "p1", commit_kind="decision", **named, **why)
    story.chat("steps", "plan", "p1", choice="call write", delta=[change("decision", "0123456789abcdef", "call write")])
    story.writer.close()
    recording = Recording(settings)
    read = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "read", "arguments": {"path": "a.md"}}]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "swans"}]}
    with recording.agent("which birds?", conversation="talk", name="birder"):
        recording.chat([user("which birds?")], [read])
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: {"path": "a.md"}, semconv.GEN_AI_TOOL_CALL_RESULT: "swans"}
        tool = {semconv.GEN_AI_TOOL_NAME: "read", semconv.GEN_AI_TOOL_CALL_ID: "c1"}
        recording.start(GenAiOperation.EXECUTE_TOOL, content, tool).end()
        recording.chat([user("which birds?"), read, result], [assistant("Swans.")])
    with recording.agent("sure?", conversation="talk", name="birder"):
        recording.chat([user("which birds?"), user("sure?")], [assistant("Yes.")])
    recording.journal.close()
    recording.close()
    load(settings, patience=5)
    with serve(directory) as served:
        yield served


def test_a_renamed_file_is_compared_with_what_it_held_under_its_old_name(site: Served, open_page: Open) -> None:
    page = open_page(site, "/diff?session=site&a=2&b=3")
    lines = page.locator(".diff").inner_text().splitlines()
    assert [line for line in lines if line.startswith(("+", "-"))] == [
        "-path: index.html",
        "+path: home.html",
        "-<li>ducks</li>",
        "-<li>geese</li>",
        "+{% for note in notes %}",
    ]


def test_a_rename_is_told_as_one(site: Served, open_page: Open) -> None:
    page = open_page(site, "/blame?session=site&path=home.html")
    assert [row[1:3] for row in cells(page, "Changes, newest first")] == [
        ["home.html", "write"],
        ["home.html", "rename from index.html"],
        ["index.html", "create"],
    ]


def test_what_a_tool_call_ran_hangs_on_it_and_open_work_is_marked(site: Served, open_page: Open) -> None:
    page = open_page(site, "/session?id=site")
    assert texts(page.locator(".turns .marks")) == ["1 FAILED 1 OPEN", "", "", ""]
    assert [what for what in texts(page.locator(".log .what")) if "↳" in what] == ["↳ decision answer"]
    follow(page.get_by_role("link", name="inner"))
    assert page.locator("h1").inner_text() == "inner"


def test_what_is_flagged_leads_to_where_it_is_told(site: Served, open_page: Open) -> None:
    page = open_page(site, "/session?id=site")
    follow(page.get_by_role("link", name="1 failed", exact=True))
    assert page.url.endswith("#failures")
    assert cells(page, "Last failures") == [["ID", "4", "upload", "TIMEOUT", "no end", ""]]
    ((status, turn, action, since, commit),) = cells(page, "Open work")
    assert (status, turn, action, since[:4], commit) == ("PENDING", "4", "publish it", "2026", "ID")


def test_a_failed_call_shows_no_error_as_its_output(site: Served, open_page: Open) -> None:
    page = open_page(site, "/session?id=site")
    follow(page.locator(".log li", has_text="upload").locator("a"))
    assert plain(page.locator(".notice").inner_text()) == "TIMEOUT TimeoutError: no end"
    assert plain(page.locator(".card", has=page.locator("h2", has_text="Output")).inner_text()) == "Output Nothing."


def test_a_decision_is_told_with_what_it_is_about_and_instead_of_what(site: Served, open_page: Open) -> None:
    page = open_page(site, "/state?session=plan")
    assert cells(page, "decision entries") == [["renderer", "jinja2", "40 notes", "1", "ID"]]
    assert page.locator("summary").inner_text() == "1 choice of a model call"
    follow(page.get_by_role("row", name="renderer").locator("a"))
    told = plain(page.locator(".card", has=page.locator("h2", has_text="Decision")).inner_text())
    assert told == "Decision About renderer Choice jinja2 Instead of plain HTML, markdown Reason 40 notes"


def test_an_eviction_tells_what_left_and_why(site: Served, open_page: Open) -> None:
    page = open_page(site, "/session?id=talk")
    follow(page.locator(".log li", has_text="eviction").locator("a.id"))
    gone = cells(page, "What left the context")
    assert ["result", "swans", "read ID", "1", "summarised"] in gone
    assert {row[4] for row in gone} == {"summarised"}


def test_messages_are_told_as_what_was_said() -> None:
    says, calls = (
        '{"type":"text","content":"I read."}',
        '{"type":"tool_call","id":"c","name":"read","arguments":{"path":"a"}}',
    )
    assert (
        laid_out(f'[{{"role":"assistant","parts":[{says},{calls}]}}]')
        == 'assistant: I read.\nassistant: calls read {"path":"a"}'
    )
    assert laid_out('{"role":"tool","parts":[{"type":"tool_call_response","id":"c","response":"swans"}]}') == "tool: swans"
    assert laid_out('{"parts":[1,{"type":"image","uri":"x"}]}') == ': 1\n: {"type":"image","uri":"x"}'


def test_two_sessions_are_told_in_all(site: Served, open_page: Open) -> None:
    page = open_page(site, "/compare?a=site&b=plan")
    assert [row[:2] for row in cells(page, "Both in all")][:2] == [["turns", "4"], ["failed", "1"]]
    assert facts(page)[0].startswith("+")


@pytest.mark.parametrize("view", ["/session?id=site", "/state?session=site", "/context?session=site"])
def test_a_turn_that_is_not_there_is_not_found(site: Served, view: str) -> None:
    answer = site.ask(f"{view}&turn=99", Authorization=f"Bearer {site.token}")
    assert answer.status == 404
    assert "session site has turns 1 to 4; there is no turn 99." in answer.text
