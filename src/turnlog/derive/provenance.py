"""Where a tool's result comes from and whether anybody vouches for it. Pure.

What was fetched from outside (web, search, browser, retrieval, remote servers) is `retrieved` and unverified; what a tool of
the application or of this machine says is `tool_output`, and nothing is said about it. In order: what the span states, the
rules of trust, the kind and address of the tool, an address in its arguments, the words of its name. A doubtful name is left
alone, because a flag on everything is a flag on nothing: searching files, code, memory or a database is local, and so is
`fetch_row`; `file_search` is the hosted retrieval tool; tools that send, write or convert bring nothing in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from turnlog import semconv
from turnlog.semconv import SourceKind
from turnlog.trusted import Trust


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WEB = _words_of(
    "web webpage webpages website websites www internet online http https news rss wiki wikipedia arxiv pubmed google bing "
    "brave duckduckgo ddg tavily serp serpapi serper exa jina firecrawl perplexity searx searxng youtube reddit hackernews "
    "crawl crawler scrape scraper scraping browse browsing curl wget"
)
# A browser's tools answer with the page, whatever they do to it.
_BROWSERS = _words_of("browser playwright puppeteer selenium")
_SERVICES = _words_of(
    "github gitlab bitbucket slack discord telegram whatsapp gmail outlook email emails mail inbox notion confluence jira "
    "zendesk intercom hubspot salesforce dropbox sharepoint onedrive sentry twitter linkedin airtable"
)
_KNOWLEDGE = _words_of("rag retriever vectorstore vectordb knowledge knowledgebase kb")
_VECTORS = _words_of("vector vectors embedding embeddings")
_SEEKING = _words_of("search retrieve retrieval semantic similarity")
_READING = _words_of("search retrieve fetch get read list query find view check open load download lookup visit summarize")
_PAGES = _words_of(
    "fetch download url urls uri link links page pages site html article articles feed content contents document documents "
    "docs resource resources tool mcp get"
)
_LOCAL = _words_of(
    "file files filesystem fs dir directory directories folder folders path paths code codebase repo repository workspace "
    "project symbol symbols definition definitions reference references local db database sql sqlite table tables row rows "
    "column columns schema cache memory memories node nodes env environment config settings log logs history state "
    "conversation conversations chat text string regex pattern grep glob tool tools process processes disk notebook git "
    "commit commits branch diff test tests todo todos task tasks line lines"
)
_SENDING = _words_of(
    "create write send update delete remove add save insert put upload publish deploy build generate make start stop edit "
    "install merge push reply schedule cancel approve close encode decode validate parse shorten render convert"
)
_SENDING_FIRST = _SENDING | {"post", "set", "log", "test", "book", "format", "run"}
_COMPUTING = _words_of("code python interpreter shell bash computer image")
_KNOWN = _words_of("file_search requests_get requests_post requests_put requests_patch pub_med stack_exchange")

_ADDRESSES = ("url", "urls", "uri", "uris", "link", "links", "href", "website", "page_url", "web_url", "endpoint")
_DOWNLOAD = re.compile(r"\b(?:curl|wget|aria2c|lynx|w3m|https?)\s[^|;&]*?((?:https?|ftp)://[^\s'\"|;&)]+)")
_ADDRESS_NAMES = frozenset(_ADDRESSES)
_KINDS = frozenset(SourceKind)
_REMOTE_SCHEMES = {"http", "https", "ftp", "ftps", "ws", "wss"}
_HERE = {"", "localhost", "::1", "0.0.0.0", "host.docker.internal"}  # noqa: S104 - an address to compare with


def provenance_of(tool: str, attributes: Mapping[str, Any], arguments: Any, trust: Trust) -> tuple[SourceKind, bool | None]:
    """The kind of source that a tool's result is, and whether it is verified; None when nobody has said either way."""
    stated = str(attributes.get(semconv.PROVENANCE_SOURCE_KIND, ""))
    if stated in _KINDS:
        kind = SourceKind(stated)
    else:
        kind = SourceKind.RETRIEVED if _from_outside(tool, attributes, arguments) else SourceKind.TOOL_OUTPUT
    verified = attributes.get(semconv.PROVENANCE_VERIFIED)
    if not isinstance(verified, bool):
        verified = trust.says(tool)
    return kind, False if verified is None and kind is SourceKind.RETRIEVED else verified


def _from_outside(tool: str, attributes: Mapping[str, Any], arguments: Any) -> bool:
    address = attributes.get(semconv.SERVER_ADDRESS)
    is_remote = isinstance(address, str) and not _is_here(address)
    if is_remote and any(key.startswith("mcp.") for key in attributes):
        return True
    if _is_outside(attributes.get(semconv.MCP_RESOURCE_URI)) or _downloads(arguments):
        return True
    if _brings_in(tool):
        return True
    if _sends(tool):
        return False
    words = _words(tool)
    kind = attributes.get(semconv.GEN_AI_TOOL_TYPE)
    return (
        is_remote
        or kind == "datastore"
        or (kind == "extension" and not words & _COMPUTING)
        or any(_is_outside(value) for value in _addresses(arguments))
    )


@functools.lru_cache(4096)
def _brings_in(tool: str) -> bool:
    """What the words of the name say."""
    words = _words(tool)
    if tool.lower() in _KNOWN or words & _BROWSERS:
        return True
    if _sends(tool):
        return False
    if words & (_WEB | _KNOWLEDGE) or (words & _VECTORS and words & _READING):
        return True
    # An address book has an email in every row; a mailbox is read.
    if words & _SERVICES and words & (_READING - {"get"} if "email" in words else _READING):
        return True
    if words & _SEEKING:
        return not words & _LOCAL
    if words & {"url", "urls", "webpage"}:
        return bool(words & _READING)
    return bool(words & {"fetch", "download"}) and words <= _PAGES


@functools.lru_cache(4096)
def _sends(tool: str) -> bool:
    words = [word.lower() for word in _WORD.findall(tool)]
    return bool(words) and (words[0] in _SENDING_FIRST or not _SENDING.isdisjoint(words))


@functools.lru_cache(4096)
def _words(tool: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(tool))


def _addresses(arguments: Any) -> Iterator[Any]:
    if isinstance(arguments, Mapping) and not _ADDRESS_NAMES.isdisjoint(arguments):
        for key in _ADDRESSES:
            value = arguments.get(key)
            yield from value[:8] if isinstance(value, list) else (value,)


def _downloads(arguments: Any) -> bool:
    """Whether a shell command fetches something; what it does to it afterwards is not looked at."""
    command = arguments.get("command", arguments.get("cmd")) if isinstance(arguments, Mapping) else None
    if isinstance(command, list):
        command = " ".join(part for part in command if isinstance(part, str))
    if not isinstance(command, str) or "://" not in command:
        return False
    return any(_is_outside(found) for found in _DOWNLOAD.findall(command[:4096]))


def _is_outside(address: Any) -> bool:
    if not isinstance(address, str) or "://" not in address:
        return False
    try:
        parts = urlsplit(address)
        return parts.scheme.lower() in _REMOTE_SCHEMES and not _is_here(parts.hostname or "")
    except ValueError:
        return True


def _is_here(host: str) -> bool:
    host = host.strip("[]").lower()
    return host in _HERE or host.startswith("127.") or host.endswith(".localhost")
