"""The page's server: every route renders one function of `queries`, as HTML and, with `.json`, as data."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from turnlog.cli.render import record, to_json
from turnlog.errors import NotFound, TurnlogError, is_of_duckdb, unreadable
from turnlog.settings import Settings
from turnlog.web import commit, diff, files, health, session, sessions, side_by_side, sql, state
from turnlog.web.asking import Ask
from turnlog.web.html import join, said
from turnlog.web.page import Page, a, empty, heading, whole
from turnlog.web.watching import Watch

View = Callable[[Ask], Page]
VIEWS: dict[str, View] = {
    "/sessions": sessions.sessions,
    "/session": session.session,
    "/commit": commit.commit,
    "/diff": diff.diff,
    "/compare": side_by_side.compare,
    "/files": files.working_set,
    "/blame": files.blame,
    "/state": state.state,
    "/context": state.context,
    "/sql": sql.sql,
    "/health": health.health,
}
_PART = "x-turnlog-part"
_SEEN = "x-turnlog-seen"
_THEME = "turnlog_theme"
_STILL_THERE = 15.0
_STILL_WAITING = 0.3


def make_token() -> str:
    return secrets.token_urlsafe(32)


def create_app(settings: Settings, stopping: Callable[[], bool]) -> Starlette:
    """`stopping`: whether pages that follow what is written are to be let go, which they never ask for."""
    watch = Watch(settings)
    server = Server(settings, watch, stopping)

    async def live(request: Request) -> Response:
        return StreamingResponse(_changes(request, watch, stopping), media_type="text/event-stream")

    async def failed(request: Request, page: Page) -> Response:
        if request.url.path.endswith(".json"):
            return Response(to_json(page.data), page.status, media_type="application/json")
        return HTMLResponse(whole(page, await watch.state(), request.cookies.get(_THEME, "")), page.status)

    async def nowhere(request: Request, _: Exception) -> Response:
        return await failed(request, _error_page(f"there is nothing at {request.url.path}.", 404))

    async def broken(request: Request, error: Exception) -> Response:
        told = f"this page failed ({type(error).__name__}): what happened is in the terminal where `turnlog ui` runs."
        return await failed(request, _error_page(told, 500))

    pages = {"/": sessions.sessions, **VIEWS}
    routes: list[BaseRoute] = [Route(path, _html(view, server), methods=["GET"]) for path, view in pages.items()]
    routes += [Route(f"{path}.json", _json(view, server), methods=["GET"]) for path, view in VIEWS.items()]
    routes.append(Route("/sql.csv", _csv(server), methods=["GET"]))
    static = StaticFiles(directory=Path(__file__).parent / "static")
    routes += [Route("/live", live, methods=["GET"]), Mount("/static", static)]
    # It leaves event streams as they are. Level 1: what takes longer to pack than to send is not worth it.
    packing = Middleware(GZipMiddleware, compresslevel=1)
    return Starlette(routes=routes, middleware=[packing], exception_handlers={404: nowhere, 500: broken})


class Server(NamedTuple):
    """What every route answers with. `stopping`: whether whoever waits is to be let go."""

    settings: Settings
    watch: Watch
    stopping: Callable[[], bool]

    async def ask(self, view: View, request: Request) -> Page:
        """The view, unless nobody waits for it any more: a statement that runs for them is stopped then."""
        gone = threading.Event()
        work = asyncio.ensure_future(run_in_threadpool(_ask, view, self.settings, request, gone.is_set))
        while not (await asyncio.wait({work}, timeout=_STILL_WAITING))[0]:
            if self.stopping() or await request.is_disconnected():
                gone.set()
        return work.result()


def _html(view: View, server: Server) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        seen = await server.watch.state()
        page = await server.ask(view, request)
        if request.headers.get(_PART):
            return HTMLResponse(page.body, page.status, {_SEEN: seen})
        return HTMLResponse(whole(page, seen, request.cookies.get(_THEME, "")), page.status)

    return answer


def _json(view: View, server: Server) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        page = await server.ask(view, request)
        return Response(to_json(_plain(page.data)), page.status, media_type="application/json")

    return answer


def _csv(server: Server) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        page = await server.ask(sql.sql, request)
        if "columns" not in page.data:
            return PlainTextResponse(page.data.get("problem") or "the statement is missing", 400)
        return Response(sql.as_csv(page.data["columns"], page.data["rows"]), media_type="text/csv")

    return answer


def _ask(view: View, settings: Settings, request: Request, given_up: Callable[[], bool]) -> Page:
    try:
        with Ask(settings, request.query_params, given_up) as ask:
            return view(ask)
    except TurnlogError as error:
        return _error_page(str(error), 404 if isinstance(error, NotFound) else 503)
    except Exception as error:
        if not is_of_duckdb(error):
            raise
        return _error_page(unreadable(error), 503)


def _error_page(message: str, status: int) -> Page:
    title = {404: "Not found", 500: "Failed"}.get(status, "Cannot read")
    return Page(title, join(heading(title), empty(said(message), a("/", "All sessions"))), {"error": message}, status=status)


def _plain(data: object) -> object:
    if isinstance(data, list):
        return [_plain(each) for each in data]
    if isinstance(data, dict):
        return {name: _plain(each) for name, each in data.items()}
    return record(data) if hasattr(data, "_asdict") else data


async def _changes(request: Request, watch: Watch, stopping: Callable[[], bool]) -> AsyncIterator[str]:
    """One event whenever something was written since the page was made, however much it was."""
    seen = request.query_params.get("seen") or await watch.state()
    yield "retry: 2000\n\n"
    quiet = 0.0
    while not stopping() and not await request.is_disconnected():
        now = await watch.state()
        if now != seen:
            seen, quiet = now, 0.0
            yield "event: changed\ndata: \n\n"
        elif quiet >= _STILL_THERE:
            quiet = 0.0
            yield ": still there\n\n"
        await asyncio.sleep(watch.every)
        quiet += watch.every
