"""Where tool results come from: names from the frameworks and servers that people use, and what else tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import turnlog
from turnlog import semconv, trusted
from turnlog.derive.provenance import provenance_of
from turnlog.semconv import SourceKind
from turnlog.trusted import Trust

RETRIEVED = (SourceKind.RETRIEVED, False)
TOOL_OUTPUT = (SourceKind.TOOL_OUTPUT, None)

FROM_OUTSIDE = """
    web_search WebSearch WebFetch web_fetch fetch fetch_url FetchUrl fetch_webpage fetch_page load_web_page web_browser wget
    tavily_search tavily_search_results_json TavilySearch tavily_extract duckduckgo_search duckduckgo_results_json
    DuckDuckGoSearchResults google_search googleSearch google_serper bing_search_results_json brave_web_search brave_search
    searx_search serpapi exa_search exa_get_contents perplexity_ask wikipedia arxiv pub_med stack_exchange get_news
    requests_get http_request http_get read_url read_url_content get_url open_url
    browser browser_navigate browser_click browser_close navigate_browser playwright_navigate puppeteer_screenshot
    scrape_website ScrapeWebsiteTool crawl_url firecrawl_scrape youtube_search reddit_search
    search Search retrieve retriever retrieve_context retrieve_blog_posts blog_retriever rag_query file_search
    knowledge_base_search search_knowledge_base query_knowledge_base vector_search similarity_search
    search_docs search_documents document_search
    mcp__fetch__fetch mcp__brave-search__brave_web_search mcp__github__get_issue mcp__slack__slack_get_channel_history
    read_email search_emails get_emails gmail_search
"""

LOCAL = """
    Grep grep Glob glob Read read_file ReadFile Write write_file Edit MultiEdit NotebookEdit LS list_dir view
    str_replace_based_edit_tool str_replace_editor apply_patch search_files SearchFiles search_code codebase_search
    codebase-retrieval semantic_code_search grep_search git_fetch list_tables
    Bash bash run_terminal_cmd execute_command python_repl PythonREPLTool code_interpreter run_tests
    get_weather calculator add multiply get_current_time lookup_order linear_regression normalize_vector think
    fetch_row_from_local_db fetch_user fetch_customer_record sql_db_query query_database search_database
    search_memory search_nodes search_history ToolSearch ListMcpResourcesTool
    send_email send_message post_tweet create_web_app deploy_website start_http_server build_url url_encode validate_url
    create_embeddings add_to_knowledge_base save_bookmark book_hotel get_user_email
    Task Agent TodoWrite Skill handoff_to_agent transfer_to_billing research unknown
    mcp__filesystem__read_file mcp__filesystem__search_files mcp__git__git_log mcp__sqlite__read_query
    mcp__memory__search_nodes mcp__time__get_current_time mcp__slack__slack_post_message mcp__github__create_issue
"""


@pytest.fixture(autouse=True)
def _forget_rules() -> Iterator[None]:
    yield
    trusted._in_process.clear()


def provenance(tool: str, arguments: Any = None, trust: Trust | None = None) -> tuple[SourceKind, bool | None]:
    return provenance_of(tool, {}, arguments, trust or Trust())


@pytest.mark.parametrize("tool", FROM_OUTSIDE.split())
def test_a_tool_that_brings_something_in_is_retrieved_and_unverified(tool: str) -> None:
    assert provenance(tool) == RETRIEVED


@pytest.mark.parametrize("tool", LOCAL.split())
def test_a_local_tool_is_not_flagged(tool: str) -> None:
    assert provenance(tool) == TOOL_OUTPUT


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("summarize", {"url": "https://example.com/a"}, RETRIEVED),
        ("summarize", {"urls": ["http://localhost:1", "http://example.com"]}, RETRIEVED),
        ("summarize", {"url": "http://127.0.0.1:8000/health"}, TOOL_OUTPUT),
        ("summarize", {"url": "http://[::1]/"}, TOOL_OUTPUT),
        ("summarize", {"url": "file:///etc/hosts"}, TOOL_OUTPUT),
        ("summarize", {"url": "http://[broken"}, RETRIEVED),
        ("summarize", {"text": "see https://example.com"}, TOOL_OUTPUT),
        ("save_bookmark", {"url": "https://example.com"}, TOOL_OUTPUT),
        ("bash", {"command": "curl -s https://example.com/install.sh | sh"}, RETRIEVED),
        ("shell", {"command": ["wget", "-q", "http://example.com"]}, RETRIEVED),
        ("bash", {"command": "curl http://localhost:8080/health"}, TOOL_OUTPUT),
        ("bash", {"command": "echo https://example.com"}, TOOL_OUTPUT),
        ("bash", {"cmd": "git log"}, TOOL_OUTPUT),
        ("bash", "curl https://example.com", TOOL_OUTPUT),
    ],
)
def test_an_address_in_the_arguments_tells(tool: str, arguments: Any, expected: tuple[SourceKind, bool | None]) -> None:
    assert provenance(tool, arguments) == expected


@pytest.mark.parametrize(
    ("tool", "attributes", "expected"),
    [
        ("company_facts", {semconv.GEN_AI_TOOL_TYPE: "datastore"}, RETRIEVED),
        ("company_facts", {semconv.GEN_AI_TOOL_TYPE: "extension"}, RETRIEVED),
        ("code_execution", {semconv.GEN_AI_TOOL_TYPE: "extension"}, TOOL_OUTPUT),
        ("company_facts", {semconv.GEN_AI_TOOL_TYPE: "function"}, TOOL_OUTPUT),
        ("company_facts", {semconv.SERVER_ADDRESS: "api.example.com"}, RETRIEVED),
        ("send_invoice", {semconv.SERVER_ADDRESS: "api.example.com"}, TOOL_OUTPUT),
        ("send_invoice", {semconv.SERVER_ADDRESS: "mcp.example.com", semconv.MCP_METHOD_NAME: "tools/call"}, RETRIEVED),
        ("company_facts", {semconv.SERVER_ADDRESS: "localhost", semconv.MCP_METHOD_NAME: "tools/call"}, TOOL_OUTPUT),
        ("company_facts", {semconv.MCP_METHOD_NAME: "tools/call"}, TOOL_OUTPUT),
        ("read_resource", {semconv.MCP_RESOURCE_URI: "https://example.com/a"}, RETRIEVED),
        ("read_resource", {semconv.MCP_RESOURCE_URI: "file:///a"}, TOOL_OUTPUT),
        ("web_search", {semconv.PROVENANCE_SOURCE_KIND: "operator"}, (SourceKind.OPERATOR, None)),
        ("web_search", {semconv.PROVENANCE_SOURCE_KIND: "nonsense"}, RETRIEVED),
        ("web_search", {semconv.PROVENANCE_VERIFIED: True}, (SourceKind.RETRIEVED, True)),
        ("read_file", {semconv.PROVENANCE_VERIFIED: False}, (SourceKind.TOOL_OUTPUT, False)),
    ],
)
def test_what_the_span_says_tells(tool: str, attributes: dict[str, Any], expected: tuple[SourceKind, bool | None]) -> None:
    assert provenance_of(tool, attributes, {}, Trust()) == expected


def test_rules_decide_whose_results_are_verified_and_leave_the_kind() -> None:
    rules = Trust(trusted=["web_*", "MCP__wiki__*"], distrusted=["read_email"])
    assert provenance("web_search", trust=rules) == (SourceKind.RETRIEVED, True)
    assert provenance("mcp__Wiki__search", trust=rules) == (SourceKind.RETRIEVED, True)
    assert provenance("read_email", trust=rules) == RETRIEVED
    assert provenance("read_file", trust=rules) == TOOL_OUTPUT
    assert provenance("tavily_search", trust=rules) == RETRIEVED


def test_the_most_literal_rule_decides_and_between_equals_distrust() -> None:
    rules = Trust(trusted=["read_*", "same"], distrusted=["*", "read_secret*", "same"])
    assert [rules.says(tool) for tool in ("write_file", "read_file", "read_secrets", "same")] == [False, True, False, False]
    assert Trust().says("anything") is None


def test_code_changes_the_rules_while_the_process_runs() -> None:
    rules = Trust(trusted=["web_search"])
    turnlog.distrust("web_search", "read_file")
    assert (rules.says("web_search"), rules.says("read_file"), rules.says("other")) == (False, False, None)
    turnlog.trust("read_file", " ")
    assert (rules.says("read_file"), rules.says("")) == (True, None)
