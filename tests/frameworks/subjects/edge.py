"""The model's edge inside the process, for thousands of calls: what the scripted model says, with a new number each time."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import urllib.request
from typing import Any

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

_RESULT = re.compile(rb"function_call_output|tool_result|tool_call_id")


def transport(sdk: Any, path: str) -> Any:
    """For clients of an SDK. A request without a tool's result is answered with a call of `echo` when it offers tools."""
    # Newer SDKs bring an httpx of their own.
    http = importlib.import_module(sdk.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
    said = _said(path)
    numbers = itertools.count(1)

    def answer(request: Any) -> Any:
        given = json.loads(request.content)
        calls = bool(given.get("tools")) and not _RESULT.search(request.content)
        streams = bool(given.get("stream"))
        number = str(next(numbers)).encode()
        body = re.sub(rb'"((?:chatcmpl-|msg_|resp_|fc_)\w+)"', rb'"\1_%s"' % number, said[streams, calls])
        kind = "text/event-stream" if streams else "application/json"
        return http.Response(200, headers={"content-type": kind}, content=body.replace(b"NUMBER", number))

    return http.MockTransport(answer)


def _said(path: str) -> dict[tuple[bool, bool], bytes]:
    calling = Reply("I call NUMBER.", tool_calls=[ToolCall("echo", {"who": "NUMBER"}, "call_NUMBER")])
    with ScriptedModel(lambda body: calling if body["calls"] else Reply("I have nothing to say about NUMBER.")) as model:

        def ask(streams: bool, calls: bool) -> bytes:
            body = json.dumps({"model": "scripted", "stream": streams, "calls": calls}).encode()
            with urllib.request.urlopen(urllib.request.Request(f"{model.base_url}{path}", body)) as response:
                return response.read()

        return {(streams, calls): ask(streams, calls) for streams in (False, True) for calls in (False, True)}
