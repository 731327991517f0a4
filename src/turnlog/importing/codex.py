"""Codex's rollouts: the lines below ~/.codex/sessions, one file a thread.

Each line holds an item of the responses API, or an event about one. Before August 2025 the items stood there bare and without
times; those are counted from the session's beginning, a millisecond apart, for the order is known and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from turnlog import semconv
from turnlog.importing.source import Source
from turnlog.importing.transcript import CANCELLED, Agent, Answer, Call, Context, Message, Turn
from turnlog.importing.values import cause, nanoseconds
from turnlog.instrument.openai_messages import item_message
from turnlog.received import ReceivedSpan

Json = Mapping[str, Any]
NAME, PROVIDER = "codex", "openai"
_LINES = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
# What the model says, and what its provider did for it.
_SAID = _CALLS | {"reasoning", "web_search_call", "tool_search_call", "image_generation_call"}
# What Codex itself tells the model in the user's name.
_HARNESS = re.compile(r"\s*(?:<[a-z_]+[ >]|# AGENTS\.md instructions)")
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_REFUSED = re.compile(r"(?i)unsupported call: |failed to parse function arguments|apply_patch verification failed")
_DENIED = re.compile(r"(?i)(?:exec command |patch )?rejected by user")
_TIMED_OUT = re.compile(r"(?i)command timed out after")
_HEAD = 400
_NO_LINE = (KeyError, TypeError, ValueError, AttributeError)
# What Codex tells of a command comes before what the command says.
_WORDS_OF_EXEC = "\nOutput:\n"


def is_codex(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if str(value.get("type")) in _LINES and isinstance(value.get("payload"), dict):
        return True
    is_old_head = "instructions" in value and isinstance(value.get("id"), str) and "timestamp" in value
    is_oldest = isinstance(value.get("session"), dict) and isinstance(value.get("items"), list)
    return is_old_head or is_oldest or value.get("record_type") == "state"


def read(source: Source) -> Iterator[ReceivedSpan]:
    thread: _Thread | None = None
    place = 0
    for place, line in source.records():
        if not isinstance(line, dict):
            source.reject(place, "no line of a rollout")
            continue
        for each in _lines(line):
            try:
                if thread is None:
                    thread = _Thread(each)
                else:
                    yield from thread.take(each)
            except _NO_LINE as error:
                source.reject(place, f"no line of a rollout: {cause(error)}")
    if thread is not None:
        try:
            yield from thread.finish()
        except _NO_LINE as error:
            source.reject(place, f"no turn in a rollout: {cause(error)}")
        source.unfinished += thread.unfinished


def _lines(line: Json) -> Iterator[Json]:
    """Lines in today's form, whatever form they came in."""
    if "payload" in line:
        yield line
    elif isinstance(line.get("items"), list):
        yield {"type": "session_meta", "timestamp": line["session"]["timestamp"], "payload": line["session"]}
        for item in line["items"]:
            yield {"type": "response_item", "payload": item}
    elif "instructions" in line and "timestamp" in line and "role" not in line:
        yield {"type": "session_meta", "timestamp": line["timestamp"], "payload": line}
    elif "type" in line:
        yield {"type": "response_item", "payload": line}


class _Thread:
    def __init__(self, line: Json) -> None:
        if line["type"] != "session_meta":
            raise ValueError("a rollout begins with its session")
        meta = line["payload"]
        self.unfinished = 0
        self._at_ns = nanoseconds(line.get("timestamp") or meta["timestamp"])
        resource = {
            "service.name": NAME,
            "service.version": meta.get("cli_version"),
            "process.working_directory": meta.get("cwd"),
        }
        previous = meta.get("forked_from_id") or meta.get("parent_thread_id")
        known = {semconv.SESSION_PREVIOUS_ID: str(previous)} if previous else {}
        self._resource = {key: value for key, value in resource.items() if value}
        self._agent = Agent(NAME, str(meta["id"]), PROVIDER, self._resource, known=known)
        base = meta.get("base_instructions") or meta.get("instructions")
        text = base.get("text") if isinstance(base, Mapping) else base
        self._instructions = [{"type": "text", "content": text}] if text else None
        self._model = ""
        self._history: list[Message] = []
        self._asked_at: list[int] = []
        self._compacted = False
        self._turn_key = ""
        self._turn: Turn | None = None
        self._answer: Answer | None = None
        self._is_said = False
        self._since_ns = self._at_ns
        self._outcomes: dict[str, tuple[int | None, bool]] = {}
        self._count = 0

    def take(self, line: Json) -> Iterator[ReceivedSpan]:
        self._count += 1
        stamp = line.get("timestamp")
        self._at_ns = nanoseconds(stamp) if stamp else self._at_ns + 1_000_000
        payload = line["payload"]
        match line["type"]:
            case "turn_context":
                self._model = str(payload.get("model") or self._model)
                if cwd := payload.get("cwd"):
                    self._resource.setdefault("process.working_directory", cwd)
            case "response_item":
                yield from self._item(payload)
            case "compacted":
                self._compact(payload)
            case "token_usage_record":
                self._cost(payload.get("usage"), payload.get("response_id"))
            case "event_msg":
                yield from self._event(payload)

    def finish(self) -> Iterator[ReceivedSpan]:
        """Tell the last turn, unless it may still be going on."""
        if self._turn is not None and self._turn.may_go_on:
            self.unfinished = 1
            self._turn = None
        yield from self._end_turn()

    def _item(self, item: Json) -> Iterator[ReceivedSpan]:
        kind = str(item.get("type") or "message")
        if kind in _SAID or (kind == "message" and item.get("role") == "assistant"):
            self._say(kind, item)
        elif kind.endswith("_output"):
            self._result(item)
        elif kind == "message":
            said = item_message(item)
            if said["role"] == "user" and not _HARNESS.match(_text(said)):
                yield from self._ask(said, item)
            self._read(said)

    def _ask(self, said: Message, item: Json) -> Iterator[ReceivedSpan]:
        turn = self._turn
        # What is said while a turn goes on is part of it; only turns with a name tell that they do.
        if turn is not None and self._turn_key and turn.key == self._turn_key:
            return
        yield from self._end_turn()
        self._asked_at.append(len(self._history))
        key = self._turn_key or str(item.get("id") or self._count)
        self._turn = Turn(key, said, self._at_ns, self._at_ns)

    def _say(self, kind: str, item: Json) -> None:
        turn = self._turn
        if turn is None:
            # A rollout can begin in the middle of a turn.
            self._asked_at.append(len(self._history))
            key, nothing = self._turn_key or str(self._count), {"role": "user", "parts": []}
            turn = self._turn = Turn(key, nothing, self._at_ns, self._at_ns)
        turn.end_ns = self._at_ns
        answer = self._answer
        if answer is None or self._is_said:
            attributes: dict[str, Any] = {
                semconv.GEN_AI_RESPONSE_MODEL: self._model or None,
                semconv.GEN_AI_SYSTEM_INSTRUCTIONS: self._instructions,
                semconv.GEN_AI_CONVERSATION_COMPACTED: self._compacted or None,
            }
            key = str(item.get("id") or item.get("call_id") or self._count)
            answer = self._answer = Answer(key, self._since_ns, self._at_ns, Context(self._history), attributes)
            answer.said = {"role": "assistant", "parts": []}
            self._history.append(answer.said)
            self._is_said = self._compacted = False
            turn.answers.append(answer)
        answer.end_ns = self._at_ns
        if answer.said is not None:
            answer.said["parts"].extend(item_message(item)["parts"])
        if kind in _CALLS:
            part = item_message(item)["parts"][0]
            call = str(item.get("call_id") or item.get("id") or self._count)
            turn.calls[call] = Call(call, str(part["name"]), part["arguments"], self._at_ns)

    def _result(self, item: Json) -> None:
        self._is_said = True
        call_id = str(item.get("call_id") or "")
        result, exit_code, succeeded = _output(item.get("output"))
        said = {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]}
        call = self._turn.calls.get(call_id) if self._turn is not None else None
        if call is not None and self._turn is not None:
            self._turn.end_ns = call.end_ns = self._at_ns
            seen_code, seen_success = self._outcomes.pop(call_id, (None, None))
            code = exit_code if exit_code is not None else seen_code
            call.error = _error_of(result, code, succeeded if succeeded is not None else seen_success)
            call.attributes = {} if code is None else {semconv.PROCESS_EXIT_CODE: code}
            call.result = result
            call.error_text = result.partition(_WORDS_OF_EXEC)[2] or result if call.error and isinstance(result, str) else ""
        self._read(said)

    def _read(self, said: Message) -> None:
        self._is_said = True
        self._history.append(said)
        self._since_ns = self._at_ns

    def _event(self, event: Json) -> Iterator[ReceivedSpan]:
        turn = self._turn
        match event.get("type"):
            case "task_started" | "turn_started":
                yield from self._end_turn()
                self._turn_key = str(event.get("turn_id") or "")
            case "task_complete" | "turn_complete":
                yield from self._end_turn()
                self._turn_key = ""
            case "turn_aborted" if turn is not None:
                turn.error, turn.end_ns = CANCELLED, self._at_ns
                yield from self._end_turn()
                self._turn_key = ""
            case "error" if turn is not None:
                turn.error, turn.error_text, turn.end_ns = "error", str(event.get("message") or ""), self._at_ns
            case "token_count":
                self._cost((event.get("info") or {}).get("last_token_usage"))
            case "thread_rolled_back":
                self._roll_back(int(event.get("num_turns") or 0))
            case "exec_command_end" | "patch_apply_end":
                code = event.get("exit_code")
                failed = event.get("success") is False or code not in (None, 0)
                self._outcomes[str(event.get("call_id"))] = (code, not failed)
            case "item_completed" if isinstance(event.get("item"), Mapping) and "status" in event["item"]:
                item = event["item"]
                self._outcomes[str(item.get("id"))] = (item.get("exit_code"), item["status"] not in ("failed", "declined"))

    def _cost(self, usage: Any, response_id: Any = None) -> None:
        answer = self._answer
        if answer is None or not isinstance(usage, Mapping):
            return
        self._is_said = True
        if semconv.GEN_AI_USAGE_INPUT_TOKENS in answer.attributes:
            return
        answer.attributes |= {
            semconv.GEN_AI_RESPONSE_ID: response_id,
            semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.get("input_tokens"),
            semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.get("output_tokens"),
            semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: usage.get("cached_input_tokens"),
            semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: usage.get("reasoning_output_tokens"),
        }

    def _compact(self, payload: Json) -> None:
        kept = payload.get("replacement_history")
        summary = {"role": "user", "parts": [{"type": "text", "content": str(payload.get("message") or "")}]}
        self._history = [item_message(item) for item in kept] if kept else [summary]
        self._asked_at.clear()
        self._is_said = self._compacted = True

    def _roll_back(self, turns: int) -> None:
        if 0 < turns <= len(self._asked_at):
            self._history = self._history[: self._asked_at[-turns]]
            del self._asked_at[-turns:]

    def _end_turn(self) -> Iterator[ReceivedSpan]:
        turn, self._turn = self._turn, None
        self._answer = None
        self._outcomes.clear()
        if turn is not None and (turn.answers or turn.error):
            yield from self._agent.tell(turn)


def _text(said: Message) -> str:
    return "".join(part["content"] for part in said["parts"] if part.get("type") == "text")


def _output(output: Any) -> tuple[Any, int | None, bool | None]:
    """What a tool gave, the exit code of its command, and whether it succeeded, as far as its form says so."""
    succeeded = None
    if isinstance(output, Mapping):
        succeeded = output.get("success")
        output = output.get("content", output)
    if isinstance(output, list):
        texts = [str(each.get("text") or "") for each in output if isinstance(each, Mapping)]
        output = "".join(texts) or output
    if isinstance(output, str) and output.startswith("{"):
        try:
            held = orjson.loads(output)
        except ValueError:
            held = None
        if isinstance(held, Mapping) and isinstance(held.get("metadata"), Mapping) and "output" in held:
            return held["output"], held["metadata"].get("exit_code"), succeeded
    found = _EXIT.search(output, 0, _HEAD) if isinstance(output, str) else None
    return output, int(found[1]) if found else None, succeeded


def _error_of(result: Any, code: int | None, succeeded: bool | None) -> str:
    head = result[:_HEAD] if isinstance(result, str) else ""
    if _DENIED.match(head):
        return "permission_denied"
    if _TIMED_OUT.search(head):
        return "timeout"
    return "tool_error" if succeeded is False or code not in (None, 0) or _REFUSED.match(head) else ""
