"""Claude Code's transcripts: the lines below ~/.claude/projects, one file a session, sub-agents in it or in files of their own.

A message of the model comes in one line per block, and a tool may have run before the next line of the same message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from turnlog import semconv
from turnlog.importing.claude_code_files import agent_file, agent_files, has_session
from turnlog.importing.source import Source
from turnlog.importing.transcript import CANCELLED, Agent, Answer, Call, Context, Message, Turn
from turnlog.importing.values import cause, nanoseconds
from turnlog.instrument.anthropic_messages import message, message_facts, tool_facts
from turnlog.received import ReceivedSpan

Json = Mapping[str, Any]
NAME, PROVIDER = "claude-code", "anthropic"
_KINDS = {"user", "assistant", "system", "summary", "attachment", "file-history-snapshot", "queue-operation", "progress"}
_SYNTHETIC = "<synthetic>"
# What the CLI writes in the user's name.
_OUTPUTS = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>", "<local-command-caveat>")
_INTERRUPTED = "[Request interrupted by user"
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>.*?(?:<command-args>(.*?)</command-args>|$)", re.DOTALL)
_DENIED = ("The user doesn't want to", "Permission to use", "Claude requested permissions", "User rejected")
_TIMED_OUT = re.compile(r"\A(?:Exit code \d+\s+)?(?:Error: )?Command timed out")
_AGENT_TOOLS = ("Agent", "Task")
_SUB_AGENT = "sub-agent"
_NO_LINE = (KeyError, TypeError, ValueError, AttributeError)


def is_claude_code(value: Any) -> bool:
    if not isinstance(value, dict) or str(value.get("type")) not in _KINDS:
        return False
    return "sessionId" in value or "leafUuid" in value or "messageId" in value


def read(source: Source) -> Iterator[ReceivedSpan]:
    """A session's own file. Files of its sub-agents lie beside it and are read with the call that ran them."""
    threads: dict[str, _Thread] = {}
    latest: _Thread | None = None
    place = 0
    # A sub-agent's file whose session is gone is all there is of it.
    is_alone = source.path is not None and source.path.name.startswith("agent-") and not has_session(source.path)
    for place, line in source.records():
        if not isinstance(line, dict) or not isinstance(line.get("type"), str):
            source.reject(place, "no line of a transcript")
            continue
        session = line.get("sessionId")
        if not isinstance(session, str) or line["type"] not in ("user", "assistant", "system", "attachment"):
            continue
        if is_alone:
            line["isSidechain"] = False
        try:
            if latest is None or latest.session != session:
                latest = threads[session] = threads.get(session) or _Thread(session, line, source, latest)
            yield from latest.take(line)
        except _NO_LINE as error:
            source.reject(place, f"no line of a transcript: {cause(error)}")
    for thread in threads.values():
        try:
            yield from thread.finish()
        except _NO_LINE as error:
            source.reject(place, f"no turn in a transcript: {cause(error)}")
        source.unfinished += thread.unfinished


class _Thread:
    """The lines of one session, or of a sub-agent: what the model was told so far, and the turn that is going on."""

    def __init__(
        self, session: str, line: Json, source: Source, before: _Thread | None = None, agent: Agent | None = None
    ) -> None:
        self.session = session
        self.unfinished = 0
        resource = {"service.name": NAME, "service.version": line.get("version"), "process.working_directory": line.get("cwd")}
        known = {semconv.SESSION_PREVIOUS_ID: before.session} if before is not None else None
        plain = {key: value for key, value in resource.items() if value}
        self._agent = agent or Agent(NAME, session, PROVIDER, plain, known=known)
        self._is_inner = agent is not None
        if before is not None:
            before._end_answer()
        self._source = source
        self._history: list[Message] = list(before._history) if before is not None else []
        self._uuids: list[set[str]] = list(before._uuids) if before is not None else []
        self._lengths: dict[str, int] = {}
        self._compacted = False
        self._preserved: set[str] = set()
        self._asked: tuple[str, Message, int] | None = None
        self._turn: Turn | None = None
        self._answer: Answer | None = None
        self._raw: dict[str, Any] = {}
        self._answer_uuids: set[str] = set()
        self._after: list[tuple[Message, set[str]]] = []
        self._since_ns = 0
        self._sidechains: dict[str, _Thread] = {}
        self._side_calls: set[str] = set()
        self._read_files = {source.path}
        self._told_calls: set[str] = set()

    def take(self, line: Json) -> Iterator[ReceivedSpan]:
        if line.get("isSidechain") and not self._is_inner:
            self._aside(line)
            return
        at_ns = nanoseconds(line["timestamp"])
        match line["type"]:
            case "user":
                yield from self._user(line, at_ns)
            case "assistant":
                self._assistant(line, at_ns)
            case "system" if line.get("subtype") == "compact_boundary":
                kept = (line.get("compactMetadata") or {}).get("preservedMessages") or {}
                self._preserved = {*(kept.get("uuids") or ()), *(kept.get("allUuids") or ())}
            case "attachment" if (line.get("attachment") or {}).get("type") == "queued_command":
                # Said while the turn went on, and read by the model in its course.
                self._add(message({"role": "user", "content": line["attachment"].get("prompt")}), {str(line.get("uuid"))})
        if uuid := line.get("uuid"):
            self._lengths[uuid] = len(self._history) + (self._answer is not None) + len(self._after)

    def finish(self, *, always: bool = False) -> Iterator[ReceivedSpan]:
        """Tell the last turn, unless it may still be going on."""
        self._end_answer()
        if self._turn is not None and not always and self._turn.may_go_on:
            self.unfinished = 1
            self._turn = None
        yield from self._end_turn()
        if not self._is_inner:
            yield from self._read_others()

    def _user(self, line: Json, at_ns: int) -> Iterator[ReceivedSpan]:
        content = line["message"]["content"]
        uuid = str(line.get("uuid") or "")
        if line.get("isCompactSummary"):
            self._compact(content, uuid)
            return
        blocks = content if isinstance(content, list) else ()
        results = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_result"]
        for block in results:
            self._result(block, line, at_ns)
        said = message({"role": "user", "content": content})
        text = "".join(part["content"] for part in said["parts"] if part["type"] == "text")
        if text.startswith(_INTERRUPTED):
            self._interrupt(at_ns)
        elif not results and not line.get("isMeta") and not text.startswith(_OUTPUTS) and said["parts"]:
            key = uuid if self._is_inner else str(line.get("promptId") or uuid)
            # Several lines can be of one prompt.
            if key not in (self._turn and self._turn.key, self._asked and self._asked[0]):
                yield from self._end_turn()
                self._go_back(line)
                self._asked = (key, _command(said, text), at_ns)
        if said["parts"]:
            self._add(said, {uuid})
        self._since_ns = at_ns

    def _assistant(self, line: Json, at_ns: int) -> None:
        raw = line["message"]
        if raw.get("model") == _SYNTHETIC and not line.get("isApiErrorMessage"):
            return
        turn = self._begin_turn(line, at_ns)
        turn.end_ns = max(turn.end_ns, at_ns)
        if line.get("isApiErrorMessage"):
            self._fail(turn, line, at_ns)
            return
        key = str(raw.get("id") or line.get("uuid"))
        answer = self._answer
        if answer is None or answer.key != key:
            self._end_answer()
            attributes = {semconv.GEN_AI_CONVERSATION_COMPACTED: True} if self._compacted else {}
            self._compacted = False
            answer = self._answer = Answer(key, self._since_ns or at_ns, at_ns, Context(self._history), dict(attributes))
            turn.answers.append(answer)
            self._raw = {"role": "assistant", "content": []}
            self._answer_uuids = set()
        self._raw |= {name: raw[name] for name in ("id", "model", "stop_reason", "usage") if raw.get(name)}
        blocks = raw["content"] if isinstance(raw["content"], list) else [{"type": "text", "text": raw["content"]}]
        self._raw["content"] += blocks
        self._answer_uuids.add(str(line.get("uuid") or ""))
        answer.end_ns = max(answer.end_ns, at_ns)
        for block in blocks:
            if block.get("type") == "tool_use":
                turn.calls.setdefault(block["id"], Call(block["id"], block["name"], block.get("input"), at_ns))

    def _result(self, block: Json, line: Json, at_ns: int) -> None:
        turn = self._turn
        call = turn.calls.get(block["tool_use_id"]) if turn is not None else None
        if turn is None or call is None:
            return
        turn.end_ns = max(turn.end_ns, at_ns)
        result = tool_facts(block).content[semconv.GEN_AI_TOOL_CALL_RESULT]
        call.end_ns = at_ns
        more = line.get("toolUseResult")
        if block.get("is_error"):
            text = result if isinstance(result, str) else orjson.dumps(result).decode()
            interrupted = isinstance(more, Mapping) and more.get("interrupted")
            call.error = CANCELLED if interrupted else _error_of(text)
            call.error_text = text
        else:
            call.result = result
        if isinstance(more, Mapping) and isinstance(more.get("agentId"), str):
            self._read_agent(turn, call, more["agentId"], str(more.get("agentType") or ""))

    def _fail(self, turn: Turn, line: Json, at_ns: int) -> None:
        self._end_answer()
        kind = line.get("apiErrorType") or line.get("error") or "api_error"
        said = message(line["message"])
        text = "".join(part["content"] for part in said["parts"] if part["type"] == "text")
        answer = Answer(
            str(line.get("uuid")), self._since_ns or at_ns, at_ns, Context(self._history), {}, None, str(kind), text
        )
        turn.answers.append(answer)
        turn.error, turn.error_text = str(kind), text

    def _interrupt(self, at_ns: int) -> None:
        turn = self._begin_turn({}, at_ns) if self._turn is not None or self._asked is not None else None
        if turn is not None:
            turn.end_ns = max(turn.end_ns, at_ns)
            turn.error = CANCELLED

    def _begin_turn(self, line: Json, at_ns: int) -> Turn:
        if self._turn is None:
            # A transcript can begin in the middle of a turn.
            key, asked, asked_ns = self._asked or (str(line.get("uuid") or ""), {"role": "user", "parts": []}, at_ns)
            self._turn = Turn(key, asked, asked_ns, at_ns)
            self._asked = None
        elif self._turn.error and line:
            # The CLI went on by itself: what failed was tried again.
            self._turn.error = self._turn.error_text = ""
        return self._turn

    def _end_turn(self) -> Iterator[ReceivedSpan]:
        self._end_answer()
        turn, self._turn = self._turn, None
        if turn is None:
            return
        for thread in self._sidechains.values():
            turn.inner += thread.finish(always=True)
        self._sidechains.clear()
        self._told_calls.update(turn.calls)
        yield from self._agent.tell(turn)

    def _end_answer(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            facts = message_facts(self._raw)
            answer.attributes |= {name: value for name, value in facts.attributes.items() if value is not None}
            answer.said = facts.content[semconv.GEN_AI_OUTPUT_MESSAGES][0]
            self._history.append({"role": "assistant", "parts": answer.said["parts"]})
            self._uuids.append(self._answer_uuids)
        for said, uuids in self._after:
            self._history.append(said)
            self._uuids.append(uuids)
        self._after.clear()

    def _add(self, said: Message, uuids: set[str]) -> None:
        if self._answer is not None:
            self._after.append((said, uuids))
        else:
            self._history.append(said)
            self._uuids.append(uuids)

    def _compact(self, summary: Any, uuid: str) -> None:
        self._end_answer()
        kept = [index for index, uuids in enumerate(self._uuids) if not self._preserved.isdisjoint(uuids)]
        self._history = [message({"role": "user", "content": summary}), *(self._history[index] for index in kept)]
        self._uuids = [{uuid}, *(self._uuids[index] for index in kept)]
        self._lengths.clear()
        self._preserved = set()
        self._compacted = True

    def _go_back(self, line: Json) -> None:
        """A prompt that follows an earlier line begins another branch there: what was said since is out of the context."""
        length = self._lengths.get(str(line.get("parentUuid")))
        if length is not None and any(said["role"] == "assistant" for said in self._history[length:]):
            self._history, self._uuids = self._history[:length], self._uuids[:length]

    def _aside(self, line: Json) -> None:
        """A sub-agent's line in the session's own file: it belongs to the call whose prompt it begins with."""
        turn = self._turn
        if turn is None:
            return
        thread = self._sidechains.get(str(line.get("agentId") or line.get("parentUuid") or ""))
        if thread is None:
            prompt = line["message"]["content"] if line["type"] == "user" else None
            call = next((each for each in turn.calls.values() if self._runs(each, prompt)), None)
            if call is None:
                return
            self._side_calls.add(call.id)
            thread = self._begin(line, self._inner_agent(turn.key, call.id, _kind_of(call))(line))
            if agent := line.get("agentId"):
                self._sidechains[agent] = thread
        if not line.get("agentId"):
            # Without an id it is followed from line to line.
            self._sidechains = {key: each for key, each in self._sidechains.items() if each is not thread}
            self._sidechains[str(line["uuid"])] = thread
        turn.inner += thread.take(line)

    def _runs(self, call: Call, prompt: Any) -> bool:
        given = call.arguments.get("prompt") if isinstance(call.arguments, Mapping) else None
        return call.name in _AGENT_TOOLS and call.id not in self._side_calls and prompt is not None and given == prompt

    def _read_agent(self, turn: Turn, call: Call, agent: str, kind: str) -> None:
        """The sub-agent's own file, if it is there; an agent that goes on in the background is read once."""
        main = self._source.path
        path = agent_file(main, self.session, agent) if main is not None else None
        if path is not None and path not in self._read_files:
            turn.inner += self._read_file(path, self._inner_agent(turn.key, call.id, kind or _kind_of(call)))

    def _read_others(self) -> Iterator[ReceivedSpan]:
        """Sub-agents that no result tells of: they were stopped, or their session was."""
        main = self._source.path
        for path, call, kind in agent_files(main, self.session) if main is not None else ():
            # One of a turn that may still be going on is told with it.
            is_over = call in self._told_calls if call else not self.unfinished
            if is_over and path not in self._read_files:
                yield from self._read_file(path, partial(self._other_agent, call=call, kind=kind))

    def _read_file(self, path: Path, agent_of: Callable[[Json], Agent]) -> Iterator[ReceivedSpan]:
        self._read_files.add(path)
        thread: _Thread | None = None
        with path.open("rb") as raw:
            inner = Source(raw, path, lambda _: None)
            for place, line in inner.records():
                if not isinstance(line, dict) or line.get("type") not in ("user", "assistant", "system"):
                    continue
                thread = thread or self._begin(line, agent_of(line))
                try:
                    yield from thread.take(line)
                except _NO_LINE as error:
                    inner.reject(place, f"no line of a transcript: {cause(error)}")
        for place, reason in inner.bad:
            self._source.reject(place, f"{reason} ({path.name})")
        if thread is not None:
            yield from thread.finish(always=True)

    def _begin(self, line: Json, agent: Agent) -> _Thread:
        thread = _Thread(self.session, line, self._source, agent=agent)
        thread._read_files = self._read_files
        return thread

    def _inner_agent(self, turn: str, call: str, kind: str) -> Callable[[Json], Agent]:
        above = (self._agent.trace_id(turn), self._agent.span_id("call", call))

        def make(line: Json) -> Agent:
            known = {semconv.GEN_AI_AGENT_ID: line["agentId"]} if line.get("agentId") else {}
            return Agent(kind, self.session, PROVIDER, self._agent.resource, key=call, above=above, known=known)

        return make

    def _other_agent(self, line: Json, call: str, kind: str) -> Agent:
        if call and line.get("promptId"):
            return self._inner_agent(str(line["promptId"]), call, kind or _SUB_AGENT)(line)
        return Agent(kind or _SUB_AGENT, self.session, PROVIDER, self._agent.resource, key=str(line.get("agentId")))


def _kind_of(call: Call) -> str:
    given = call.arguments if isinstance(call.arguments, Mapping) else {}
    return str(given.get("subagent_type") or _SUB_AGENT)


def _command(said: Message, text: str) -> Message:
    """A command as it was typed; the model reads it in tags."""
    found = _COMMAND.search(text)
    if found is None:
        return said
    return {"role": "user", "parts": [{"type": "text", "content": f"{found[1]} {found[2] or ''}".rstrip()}]}


def _error_of(text: str) -> str:
    if text.startswith(_DENIED):
        return "permission_denied"
    return "timeout" if _TIMED_OUT.match(text) else "tool_error"
