"""A turn of Claude Code, or a sub-agent in one: its messages as far as they were heard, its model calls and its tools.

A model's message comes in one frame per block, and tools that it asks for may run before it is whole: a model call is over when
the next begins, and ended when its last block came.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import SpanKind

from turnlog import semconv
from turnlog.instrument.anthropic_messages import message, message_facts, tool_facts
from turnlog.instrument.calls import learn
from turnlog.instrument.late import end
from turnlog.operation import Messages, Operation, error_type, hear
from turnlog.semconv import GenAiOperation, Outcome

Json = dict[str, Any]
# Name, attributes, content, the operation above, kind, start.
Starts = Callable[..., Operation]

PROVIDER = "anthropic"
CANCELLED = "cancelled"
_MOST_SESSIONS = 100
_OUTPUT = ("output_tokens", "output_tokens_details")


class Histories(OrderedDict[str, list[Json]]):
    """The messages of each session, for a later connection that goes on with it."""

    def of(self, session: str, previous: str) -> list[Json]:
        if session not in self:
            self[session] = list(self.get(previous, ()))
        self.move_to_end(session)
        while len(self) > _MOST_SESSIONS:
            self.popitem(last=False)
        return self[session]


@dataclass(slots=True, eq=False)
class Tool:
    """A tool call. `raised` is what a tool in this process raised: the CLI only hears its text. `agent_id`: the sub-agent that
    it runs. `denied`: somebody was asked, and it may not run."""

    call: str
    name: str
    arguments: Any
    operation: Operation
    agent_id: str = ""
    denied: bool = False
    raised: BaseException | None = None

    def argument(self, name: str) -> Any:
        return self.arguments.get(name) if isinstance(self.arguments, dict) else None


@dataclass(slots=True, eq=False)
class _Chat:
    operation: Operation
    said: Json
    last_ns: int
    unanswered: set[str] = field(default_factory=set)


class Agent:
    """`since_ns`: when the model had all that it answers to next."""

    def __init__(self, start: Starts, operation: Operation, name: str, *, history: list[Json], prompt: str) -> None:
        self.operation = operation
        self.prompt = prompt
        self.history = history
        self.tools: dict[str, Tool] = {}
        self.calls = 0
        self.instructions = ""
        self.compacted = False
        self.since_ns = time.time_ns()
        self._start = start
        self._name = {semconv.GEN_AI_PROVIDER_NAME: PROVIDER, semconv.GEN_AI_AGENT_NAME: name}
        self._chat: _Chat | None = None
        self._latest: Json = _nothing()

    def finish(self) -> None:
        """End what still ran in it; how it ended itself is for others to say."""
        self._end_chat()
        for call in list(self.tools):
            self.end_tool(call, None, CANCELLED)
        end(self.operation)

    def reply(self, text: str) -> None:
        said = message({"role": "assistant", "content": text})
        self.operation.set(content={semconv.GEN_AI_OUTPUT_MESSAGES: [said]})

    def says(self, said: Json, uuid: str | None = None) -> None:
        """A frame of a message. A sub-agent's tool can be heard of before the message that asks for it."""
        chat = self._chat
        known = self._latest.get("id")
        if chat is None or (known != said.get("id") if known else not _calls(said) & _calls(chat.said)):
            chat = self._begin_chat()
        _join(chat, said, uuid)

    def says_last(self, text: str) -> None:
        """The CLI tells of the calls of a sub-agent, but of its words only when asked to."""
        if self._chat is None or self._chat.unanswered or text not in texts(self._chat.said):
            _join(self._begin_chat(), {"content": [{"type": "text", "text": text}]}, None)

    def fails_to_say(self, kind: str, text: str) -> None:
        chat = self._begin_chat()
        self.history.pop()
        chat.operation.fail_with(kind, text)
        self._end_chat()

    def streams(self, event: Json) -> None:
        chat = self._chat
        match event.get("type"):
            case "message_start":
                _join(self._begin_chat(), {**event["message"], "content": []}, None)
            case "message_delta" if chat is not None:
                chat.said["usage"] |= {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
                chat.said["stop_reason"] = event["delta"].get("stop_reason")
            case "message_stop" if chat is not None and chat.said["content"]:
                chat.last_ns = time.time_ns()
                self._end_chat()

    def cost(self, usage: Json, stop_reason: str | None) -> None:
        """Of each model call the CLI only tells what went in, unless it streams; what came out is told for the turn."""
        if self._chat is not None and "output_tokens" not in self._chat.said["usage"]:
            self._chat.said["usage"] |= {key: usage[key] for key in _OUTPUT if key in usage}
            self._chat.said.setdefault("stop_reason", stop_reason)

    def reads(self, content: Any, uuid: str | None) -> None:
        """What comes into the model's context: results of its tools, and what is said in the user's name."""
        self.since_ns = time.time_ns()
        self.history.append({"role": "user", "content": content, "uuids": [uuid]})
        for block in content if isinstance(content, list) else ():
            if self._chat is not None and block.get("type") == "tool_result":
                self._chat.unanswered.discard(block["tool_use_id"])

    def compact(self, summary: Any, uuid: str | None, preserved: set[str]) -> None:
        self._end_chat()
        kept = [each for each in self.history if not preserved.isdisjoint(each.get("uuids") or ())]
        self.history[:] = [{"role": "user", "content": summary, "uuids": [uuid]}, *kept]
        self.compacted = True

    def begin_tool(self, call: str, name: str, arguments: Any) -> None:
        if call not in _calls(self._latest):
            chat = self._chat if self._chat is not None and self._chat.unanswered else self._begin_chat()
            _join(chat, {"content": [{"type": "tool_use", "id": call, "name": name, "input": arguments}]}, None)
        if self._chat is not None:
            _tell(self._chat)
            hear(self._chat.operation)
        attributes = {
            semconv.GEN_AI_OPERATION_NAME: GenAiOperation.EXECUTE_TOOL.value,
            **self._name,
            semconv.GEN_AI_TOOL_NAME: name,
            semconv.GEN_AI_TOOL_TYPE: "function",
            semconv.GEN_AI_TOOL_CALL_ID: call,
        }
        content = {semconv.GEN_AI_TOOL_CALL_ARGUMENTS: arguments}
        operation = self._start(f"execute_tool {name}", attributes, content, self.operation)
        self.tools[call] = Tool(call, name, arguments, operation)

    def hold_tool(self, call: str) -> Tool | None:
        """Somebody is asked whether it may run: it has not begun, and begins anew if it may."""
        tool = self.tools.pop(call, None)
        if tool is not None:
            tool.operation.set(content={semconv.COMMIT_OUTCOME: Outcome.IN_FLIGHT.value})
            tool.operation.end()
        return tool

    def end_tool(self, call: str, response: Any, kind: str = "", text: str = "") -> None:
        tool = self.tools.pop(call, None)
        if tool is None:
            return
        if isinstance(response, list | str):
            response = tool_facts({"content": response}).content[semconv.GEN_AI_TOOL_CALL_RESULT]
        if response is not None:
            tool.operation.set(content={semconv.GEN_AI_TOOL_CALL_RESULT: response})
        if kind:
            raised = tool.raised if kind != CANCELLED else None
            tool.operation.fail_with(error_type(raised) if raised is not None else kind, text)
        tool.operation.end()

    def _begin_chat(self) -> _Chat:
        self._end_chat()
        if not self.history and self.prompt:
            self.history.append({"role": "user", "content": self.prompt})
        attributes: Json = {semconv.GEN_AI_OPERATION_NAME: GenAiOperation.CHAT.value, **self._name}
        content: Json = {semconv.GEN_AI_INPUT_MESSAGES: Messages(list(self.history), message)}
        if self.instructions:
            content[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = [{"type": "text", "content": self.instructions}]
        if self.compacted:
            attributes[semconv.GEN_AI_CONVERSATION_COMPACTED] = True
            self.compacted = False
        operation = self._start("chat", attributes, content, self.operation, SpanKind.CLIENT, self.since_ns)
        self._latest = _nothing()
        self._chat = _Chat(operation, self._latest, time.time_ns())
        self.calls += 1
        self.history.append(self._latest)
        return self._chat

    def _end_chat(self) -> None:
        chat, self._chat = self._chat, None
        if chat is not None:
            _tell(chat)
            chat.operation.end(chat.last_ns)


def texts(said: Json) -> str:
    return "".join(block.get("text", "") for block in said["content"] if block.get("type") == "text")


def _nothing() -> Json:
    return {"role": "assistant", "content": [], "usage": {}}


def _calls(said: Json) -> set[str]:
    return {block["id"] for block in said["content"] if block.get("type") == "tool_use"}


def _join(chat: _Chat, said: Json, uuid: str | None) -> None:
    """Add a frame's blocks to the message that they are of."""
    whole, known = chat.said, _calls(chat.said)
    whole |= {key: said[key] for key in ("id", "model", "stop_reason") if said.get(key)}
    # What came out is a placeholder until the message is whole.
    whole["usage"] |= {key: value for key, value in (said.get("usage") or {}).items() if key not in _OUTPUT}
    if uuid:
        whole.setdefault("uuids", []).append(uuid)
    whole["content"] += [block for block in said["content"] if block.get("type") != "tool_use" or block["id"] not in known]
    chat.unanswered |= _calls(said) - known
    chat.last_ns = time.time_ns()


def _tell(chat: _Chat) -> None:
    if chat.said["content"]:
        learn(chat.operation, message_facts(chat.said))
    if model := chat.said.get("model"):
        chat.operation.span.update_name(f"chat {model}")
        chat.operation.set({semconv.GEN_AI_REQUEST_MODEL: model})
