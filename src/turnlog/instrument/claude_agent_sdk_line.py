"""What Claude Code's CLI and the SDK say to each other over one connection, in the order in which it is said.

Every frame is read where the SDK reads it, whether the application ever asks for it or not: hooks (prompts, tools, sub-agents),
messages (model calls, results, compaction) and permission requests, each told to the turn that it belongs to.
"""

from __future__ import annotations

import contextvars
import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, set_span_in_context

from turnlog import semconv
from turnlog.content import as_text
from turnlog.instrument.anthropic_messages import message, tool_facts
from turnlog.instrument.calls import Account, Frame, Start, suppressed
from turnlog.instrument.claude_agent_sdk_agent import CANCELLED, PROVIDER, Agent, Histories, Json, Tool, texts
from turnlog.operation import Operation
from turnlog.semconv import CommitKind, DeltaOp, EntryKind, GenAiOperation, LifecycleState

_MOST_PROMPTS = 100
_AGENT_TOOLS = ("Agent", "Task")


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What the application sent, and where it was when it did."""

    content: Any
    at_ns: int
    context: contextvars.Context
    muted: bool

    @property
    def text(self) -> str:
        parts = message({"role": "user", "content": self.content})["parts"]
        return "".join(part["content"] for part in parts if part["type"] == "text")


@dataclass(frozen=True, slots=True)
class _Question:
    call: str
    agent: Agent
    tool: Tool | None


class Line:
    """`listener` is the hook whose calls count: the CLI calls the application's own for the same events. `resumes` is the
    session that the application told the CLI to go on with."""

    def __init__(self, account: Account, histories: Histories, listener: Any, resumes: str, instructions: str) -> None:
        self.callbacks: Mapping[str, Any] = {}
        self._account = account
        self._histories = histories
        self._listener = listener
        self._resumes = resumes
        self._instructions = instructions
        self._over = self._interrupted = self._muted = False
        self._preserved: set[str] | None = None
        self._context = contextvars.copy_context()
        self._prompts: deque[_Prompt] = deque(maxlen=_MOST_PROMPTS)
        self._session = ""
        self._sessions: dict[str, contextvars.Context] = {}
        self._turn: Agent | None = None
        self._agents: dict[str, Agent] = {}
        self._call_of_task: dict[str, str] = {}
        self._agent_of_call: dict[str, Agent] = {}
        self._questions: dict[str, _Question] = {}

    def wrote(self, data: str) -> None:
        if self._over or (data.startswith('{"type": "control_response"') and not self._questions):
            return
        frame = json.loads(data)
        match frame.get("type"):
            case "user":
                content = frame["message"]["content"]
                self._prompts.append(_Prompt(content, time.time_ns(), contextvars.copy_context(), suppressed()))
            case "control_request" if frame["request"].get("subtype") == "interrupt":
                self._interrupted = self._turn is not None
            case "control_response":
                answer = frame["response"]
                self._answered(answer["request_id"], (answer.get("response") or {}).get("behavior") or answer["subtype"])

    def heard(self, frame: Json) -> None:
        if self._over:
            return
        match frame.get("type"):
            case "control_request":
                self._requested(frame["request_id"], frame["request"])
            case "control_cancel_request":
                self._answered(frame["request_id"], CANCELLED)
            case "assistant" if (agent := self._agent_of(frame)) is not None:
                self._said(agent, frame)
            case "user" if not frame.get("isReplay") and (agent := self._agent_of(frame)) is not None:
                self._told(agent, frame)
            case "stream_event" if (agent := self._agent_of(frame)) is not None:
                agent.streams(frame["event"])
            case "system":
                self._noticed(frame)
            case "result":
                self._end_turn(frame)
                self._muted = False
            case "conversation_reset":
                self.close_sessions()

    def finish(self, error: BaseException | None = None) -> None:
        """The connection is over, and whatever still ran on it."""
        if self._over:
            return
        self._over = True
        for agent in self._agents.values():
            agent.finish()
        if self._turn is not None:
            if error is not None and not isinstance(error, GeneratorExit):
                self._turn.operation.fail(error)
            self._turn.finish()

    def close_sessions(self) -> None:
        while self._sessions:
            session, context = self._sessions.popitem()
            attributes = {
                semconv.COMMIT_KIND: CommitKind.LIFECYCLE.value,
                semconv.LIFECYCLE_STATE: LifecycleState.CLOSED.value,
                semconv.GEN_AI_CONVERSATION_ID: session,
            }
            context.run(Operation.start, "session closed", attributes, tracer=self._account.tracer, parent=Context()).end()

    def tool_for(self, server: str, request: Json) -> Tool | None:
        """The tool call that a request to a server in this process is."""
        if request.get("method") != "tools/call":
            return None
        params = request.get("params") or {}
        call = (params.get("_meta") or {}).get("claudecode/toolUseId")
        names = (f"mcp__{server}__{params.get('name')}", params.get("name"))
        arguments = params.get("arguments") or {}
        for tool in self._tools():
            if tool.call == call or (call is None and tool.name in names and tool.arguments == arguments):
                return tool
        return None

    def _tools(self) -> list[Tool]:
        agents = [*self._agents.values(), *([self._turn] if self._turn is not None else [])]
        return [tool for agent in agents for tool in agent.tools.values()]

    def _requested(self, request_id: str, request: Json) -> None:
        match request.get("subtype"):
            case "hook_callback" if self.callbacks.get(request["callback_id"]) is self._listener:
                self._hooked(request["input"])
            case "can_use_tool":
                self._ask(request_id, request)

    def _hooked(self, event: Json) -> None:
        agent = self._agents.get(event.get("agent_id") or "") or self._turn
        match event["hook_event_name"]:
            case "UserPromptSubmit":
                self._begin_turn(event["session_id"], event["prompt"])
            case "SubagentStart":
                self._begin_agent(event["agent_id"], event["agent_type"])
            case "SubagentStop":
                self._end_agent(event["agent_id"], event.get("last_assistant_message"))
            case "PreToolUse" if agent is not None:
                agent.begin_tool(event["tool_use_id"], event["tool_name"], event.get("tool_input"))
            case "PostToolUse" if agent is not None:
                agent.end_tool(event["tool_use_id"], event.get("tool_response"))
            case "PostToolUseFailure" if agent is not None:
                kind = CANCELLED if event.get("is_interrupt") else "tool_error"
                agent.end_tool(event["tool_use_id"], None, kind, str(event.get("error") or ""))

    def _noticed(self, frame: Json) -> None:
        match frame.get("subtype"):
            case "init":
                self._begin_unannounced(frame["session_id"])
            case "task_started":
                self._call_of_task[frame["task_id"]] = frame.get("tool_use_id") or ""
            case "compact_boundary" if not frame.get("parent_tool_use_id"):
                self._begin_unannounced(frame["session_id"])
                kept = (frame.get("compact_metadata") or {}).get("preserved_messages") or {}
                self._preserved = {*(kept.get("uuids") or ()), *(kept.get("all_uuids") or ())}

    def _begin_unannounced(self, session: str) -> None:
        """A prompt that no hook told of: the CLI's own commands have none, and hooks can be off."""
        if self._turn is None and not self._muted and self._prompts:
            self._begin_turn(session, self._prompts[0].text)

    def _begin_turn(self, session: str, text: str) -> None:
        if self._turn is not None and self._turn.prompt == text and not self._turn.calls:
            return
        self._end_turn({})
        found = next((prompt for prompt in self._prompts if prompt.text == text), None)
        while found is not None and self._prompts.popleft() is not found:
            pass
        # What the CLI says to itself, as when a task in the background is done, goes on where the application last spoke.
        prompt = found or _Prompt(text, time.time_ns(), self._context, self._muted)
        self._context, self._muted, self._session = prompt.context, prompt.muted, session
        if prompt.muted:
            return
        known = {semconv.GEN_AI_CONVERSATION_ID: session}
        if self._resumes and self._resumes != session:
            known[semconv.SESSION_PREVIOUS_ID] = self._resumes
        said = {"role": "user", "content": prompt.content}
        operation = self._invoke("claude", known, said, start_ns=prompt.at_ns)
        history = self._histories.of(session, self._resumes)
        self._turn = Agent(self._start, operation, "claude", history=history, prompt=text)
        self._turn.instructions = self._instructions
        if not text.startswith("/"):
            history.append(said)
        self._sessions[session] = self._context

    def _end_turn(self, result: Json) -> None:
        turn, self._turn = self._turn, None
        interrupted, self._interrupted = self._interrupted, False
        self._call_of_task.clear()
        if turn is None:
            return
        turn.cost(result.get("usage") or {}, result.get("stop_reason"))
        text = result.get("result") or ""
        if text:
            turn.reply(text)
        if interrupted:
            turn.operation.fail_with(CANCELLED)
        elif result.get("is_error"):
            subtype = str(result.get("subtype") or "")
            kind = subtype if subtype != "success" else str(result.get("terminal_reason") or "error")
            turn.operation.fail_with(kind, text or "; ".join(map(str, result.get("errors") or ())))
        turn.finish()

    def _begin_agent(self, agent_id: str, name: str) -> None:
        call = self._call_of_task.pop(agent_id, "")
        runs = [tool for tool in self._tools() if tool.name in _AGENT_TOOLS and not tool.agent_id]
        tool = next((tool for tool in runs if (tool.call == call if call else tool.argument("subagent_type") == name)), None)
        above = tool.operation if tool is not None else self._turn.operation if self._turn is not None else None
        if above is None:
            return
        prompt = str(tool.argument("prompt") or "") if tool is not None else ""
        operation = self._invoke(name, {semconv.GEN_AI_AGENT_ID: agent_id}, {"role": "user", "content": prompt}, above)
        self._agents[agent_id] = agent = Agent(self._start, operation, name, history=[], prompt=prompt)
        if tool is not None:
            tool.agent_id = agent_id
            self._agent_of_call[tool.call] = agent

    def _end_agent(self, agent_id: str, text: str | None) -> None:
        agent = self._agents.pop(agent_id, None)
        if agent is None:
            return
        self._agent_of_call = {call: one for call, one in self._agent_of_call.items() if one is not agent}
        if text:
            agent.says_last(text)
            agent.reply(text)
        agent.finish()

    def _agent_of(self, frame: Json) -> Agent | None:
        call = frame.get("parent_tool_use_id")
        if call:
            return self._agents.get(frame.get("agent_id") or "") or self._agent_of_call.get(call)
        if frame["type"] == "assistant":
            self._begin_unannounced(frame["session_id"])
        return self._turn

    def _said(self, agent: Agent, frame: Json) -> None:
        said: Json = frame["message"]
        if said.get("model") != "<synthetic>":
            agent.says(said, frame.get("uuid"))
        elif kind := frame.get("api_error_type") or frame.get("error"):
            agent.fails_to_say(str(kind), texts(said))

    def _told(self, agent: Agent, frame: Json) -> None:
        content, uuid = frame["message"]["content"], frame.get("uuid")
        if self._preserved is not None and agent is self._turn:
            agent.compact(content, uuid, self._preserved)
            self._preserved = None
            return
        agent.reads(content, uuid)
        for block in content if isinstance(content, list) else ():
            if block.get("type") != "tool_result":
                continue
            call = block["tool_use_id"]
            if not block.get("is_error"):
                agent.end_tool(call, block.get("content"))
            elif self._interrupted:
                agent.end_tool(call, None, CANCELLED)
            else:
                kind = "permission_denied" if call in agent.tools and agent.tools[call].denied else "tool_error"
                agent.end_tool(call, None, kind, as_text(tool_facts(block).content[semconv.GEN_AI_TOOL_CALL_RESULT]))

    def _ask(self, request_id: str, request: Json) -> None:
        agent = self._agents.get(request.get("agent_id") or "") or self._turn
        if agent is None:
            return
        call = str(request.get("tool_use_id") or request_id)
        self._questions[request_id] = _Question(call, agent, agent.hold_tool(call))
        asked = f"allow {request.get('tool_name')} {as_text(request.get('input'))}"
        self._note("pending", DeltaOp.SET, call, asked, agent)

    def _answered(self, request_id: str, answer: str) -> None:
        if (question := self._questions.pop(request_id, None)) is None:
            return
        self._note("resolve", DeltaOp.DROP, question.call, answer, question.agent)
        if (tool := question.tool) is not None:
            question.agent.begin_tool(tool.call, tool.name, tool.arguments)
            question.agent.tools[tool.call].denied = answer == "deny"

    def _note(self, name: str, op: DeltaOp, key: str, value: str, agent: Agent) -> None:
        change = {"op": op.value, "kind": EntryKind.PENDING.value, "key": key, "value": value}
        attributes = {semconv.COMMIT_KIND: CommitKind.NOTE.value}
        self._start(name, attributes, {semconv.COMMIT_DELTA: [change]}, agent.operation).end()

    def _invoke(
        self, name: str, known: Json, said: Json, above: Operation | None = None, start_ns: int | None = None
    ) -> Operation:
        attributes = {
            semconv.GEN_AI_OPERATION_NAME: GenAiOperation.INVOKE_AGENT.value,
            semconv.GEN_AI_PROVIDER_NAME: PROVIDER,
            semconv.GEN_AI_AGENT_NAME: name,
            **known,
        }
        content = {semconv.GEN_AI_INPUT_MESSAGES: [message(said)]} if said["content"] else {}
        return self._start(f"invoke_agent {name}".rstrip(), attributes, content, above, start_ns=start_ns)

    def _start(
        self,
        name: str,
        attributes: Json,
        content: Json,
        above: Operation | None,
        kind: SpanKind = SpanKind.INTERNAL,
        start_ns: int | None = None,
    ) -> Operation:
        """Start an operation as the application would have where it sent the prompt."""
        self._account.calls += 1

        def start() -> Operation:
            known = Start(name, {semconv.GEN_AI_CONVERSATION_ID: self._session, **attributes}, content, kind)
            with Frame(None if above is None else set_span_in_context(above.span)):
                return self._account.start(known, start_ns=start_ns)

        return self._context.run(start)
