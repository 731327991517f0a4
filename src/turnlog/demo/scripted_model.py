"""A model on loopback that says what a script tells it to: OpenAI's chat completions and responses, Anthropic's messages and
Gemini's generateContent, whole or streamed.

The demo and the tests run real SDKs and real agents against it, offline and without a key. It knows nothing of turnlog.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from turnlog.demo import anthropic_wire, gemini_wire
from turnlog.demo.reply import Reply, ToolCall, pieces

__all__ = ["Reply", "Request", "Script", "ScriptedModel", "ToolCall"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    body: Json


Script = Iterable[Reply | str] | Callable[[Json], Reply | str]


class ScriptedModel:
    """`with ScriptedModel(["Hello."]) as model: OpenAI(base_url=model.base_url, api_key="none")`, or
    `Anthropic(base_url=model.url, api_key="none")`."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._answer = script if callable(script) else None
        self._replies: Iterator[Reply | str] = iter(()) if callable(script) else iter(script)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="turnlog-scripted-model", daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, request: Request) -> tuple[Reply, int]:
        """The next reply and its number, with every tool call given an id."""
        with self._lock:
            number = next(self._numbers)
            self.requests.append(request)
            # 400 and not 500: SDKs retry the latter, and a test would hang instead of saying what is wrong.
            missing = Reply(f"the script has no reply for request {number}", status=400)
            reply = self._answer(request.body) if self._answer else next(self._replies, missing)
        if isinstance(reply, str):
            reply = Reply(reply)
        calls = [
            ToolCall(call.name, call.arguments, call.id or f"call_{number}_{index}")
            for index, call in enumerate(reply.tool_calls)
        ]
        return replace(reply, tool_calls=calls), number


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Agents that begin all at once: the standard library lets 5 wait, and drops the others for a second.
    request_queue_size = 128

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the play, not a traceback on stderr."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Longer than httpx keeps a connection, which is 5 s: else a client writes into one that has just been closed.
    timeout = 30
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/embeddings"):
            self._send_json(_embeddings(body))
            return
        if path.endswith("/count_tokens"):
            self._send_json({"input_tokens": len(body["messages"])})
            return
        route = next((parts for ending, parts in _ROUTES.items() if path.endswith(ending)), None)
        if route is None:
            self._send_json(_error(f"no such path: {path}", 404), 404)
            return
        answer, events, error = route
        reply, number = self.server.model.reply_to(Request(path, body))
        if reply.delay:
            self.server.model.closing.wait(reply.delay)
        if reply.status != 200:
            self._send_json(error(reply.text or "scripted error", reply.status), reply.status)
        elif body.get("stream") or path.endswith(_STREAMED):
            self._send_events(events(reply, number, body), drop=reply.drop)
        elif reply.drop:
            self.close_connection = True
        else:
            self._send_json(answer(reply, number, body))

    def _send_json(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        # Clients that retry would otherwise sleep for half a second and more.
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(data)

    def _send_events(self, events: list[Json | str], drop: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        # Chunked, because only then can a client tell a broken stream from a finished one.
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events[: len(events) // 2] if drop else events:
            name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            data = event if isinstance(event, str) else json.dumps(event)
            self._send_chunk(f"{name}data: {data}\n\n".encode())
        if drop:
            self.close_connection = True
        else:
            self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _error(message: str, status: int) -> Json:
    return {"error": {"message": message, "type": "scripted", "code": "scripted", "param": None}}


def _embeddings(body: Json) -> Json:
    inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": index, "embedding": [0.1, 0.2, 0.3]} for index in range(len(inputs))]
    usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
    return {"object": "list", "model": body.get("model", "scripted"), "data": data, "usage": usage}


def _chat(reply: Reply, number: int, body: Json) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in reply.tool_calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply), "logprobs": None}
    return {**_chat_head(number, body), "object": "chat.completion", "choices": [choice], "usage": _chat_usage(reply)}


def _chat_events(reply: Reply, number: int, body: Json) -> list[Json | str]:
    head = {**_chat_head(number, body), "object": "chat.completion.chunk"}

    def chunk(delta: Json, finish_reason: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    events: list[Json | str] = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in pieces(reply.reasoning)]
    events += [chunk({"content": piece}) for piece in pieces(reply.text)]
    for index, call in enumerate(reply.tool_calls):
        function = {"name": call.name, "arguments": ""}
        events.append(chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}))
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in pieces(json.dumps(call.arguments))
        ]
    events.append(chunk({}, _finish_reason(reply)))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append({**head, "choices": [], "usage": _chat_usage(reply)})
    return [*events, "[DONE]"]


def _chat_head(number: int, body: Json) -> Json:
    return {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": body.get("model", "scripted")}


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _chat_usage(reply: Reply) -> Json:
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
    }


def _response(reply: Reply, number: int, body: Json) -> Json:
    output: list[Json] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        output.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary})
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        output.append(
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
        )
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        for index, call in enumerate(reply.tool_calls)
    ]
    conversation = body.get("conversation")
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": output,
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens, "cache_write_tokens": reply.cache_write_tokens},
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": 1,
        "top_p": 1,
        "previous_response_id": body.get("previous_response_id"),
        "conversation": {"id": conversation} if isinstance(conversation, str) else conversation,
    }


def _compaction(reply: Reply, number: int, body: Json) -> Json:
    """All that users said, then one item that stands for the rest."""
    given = body.get("input") or []
    kept = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    output = [
        {"type": "message", "id": f"msg_{number}_{index}", "role": "user", "status": "completed", "content": _input_parts(item)}
        for index, item in enumerate(kept)
        if item.get("role") == "user"
    ]
    return {
        "id": f"resp_{number}",
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": [*output, {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": reply.text}],
        "usage": _response(reply, number, body)["usage"],
    }


def _input_parts(item: Json) -> list[Json]:
    content = item["content"]
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else content


def _response_events(reply: Reply, number: int, body: Json) -> list[Json | str]:
    response = _response(reply, number, body)
    started = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
    ]
    for index, item in enumerate(response["output"]):
        events += _item_events(index, item)
    events.append({"type": "response.completed", "response": response})
    return [{**event, "sequence_number": sequence} for sequence, event in enumerate(events)]


def _item_events(index: int, item: Json) -> Iterator[Json]:
    at: Json = {"item_id": item["id"], "output_index": index}
    opened = {"type": "response.output_item.added", "output_index": index}
    if item["type"] == "reasoning":
        at["summary_index"] = 0
        part = item["summary"][0]
        yield {**opened, "item": {**item, "summary": []}}
        yield {**at, "type": "response.reasoning_summary_part.added", "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield {**at, "type": "response.reasoning_summary_text.delta", "delta": piece}
        yield {**at, "type": "response.reasoning_summary_text.done", "text": part["text"]}
        yield {**at, "type": "response.reasoning_summary_part.done", "part": part}
    elif item["type"] == "message":
        at["content_index"] = 0
        part = item["content"][0]
        yield {**opened, "item": {**item, "content": [], "status": "in_progress"}}
        yield {**at, "type": "response.content_part.added", "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield {**at, "type": "response.output_text.delta", "delta": piece, "logprobs": []}
        yield {**at, "type": "response.output_text.done", "text": part["text"], "logprobs": []}
        yield {**at, "type": "response.content_part.done", "part": part}
    else:
        arguments = item["arguments"]
        yield {**opened, "item": {**item, "arguments": "", "status": "in_progress"}}
        for piece in pieces(arguments):
            yield {**at, "type": "response.function_call_arguments.delta", "delta": piece}
        yield {**at, "type": "response.function_call_arguments.done", "name": item["name"], "arguments": arguments}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


# Of these APIs only Gemini's says in the path, and not in the body, that it wants a stream.
_STREAMED = ":streamGenerateContent"
_GEMINI = (gemini_wire.content, gemini_wire.content_events, gemini_wire.error)
_ROUTES: dict[str, tuple[Callable[..., Json], Callable[..., list[Json | str]], Callable[[str, int], Json]]] = {
    "/chat/completions": (_chat, _chat_events, _error),
    "/responses": (_response, _response_events, _error),
    "/responses/compact": (_compaction, _response_events, _error),
    "/messages": (anthropic_wire.message, anthropic_wire.message_events, anthropic_wire.error),
    ":generateContent": _GEMINI,
    _STREAMED: _GEMINI,
}
