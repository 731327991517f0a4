"""Rows of spans: what is too large or of the wrong type costs itself, never the row."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace import TracerProvider

from turnlog import semconv
from turnlog.content import ContentPolicy
from turnlog.journal.record import ROW_LIMIT, TEXT_LIMIT, span_row
from turnlog.settings import Capture, Settings

POLICY = ContentPolicy(Settings(directory=Path("unused")))
TRACER = TracerProvider(shutdown_on_exit=False).get_tracer("scope")


def row_of(name: str = "name", **attributes: Any) -> dict[str, Any]:
    span = TRACER.start_span(name, attributes={key.replace("__", "."): value for key, value in attributes.items()})
    span.end()
    line = span_row(span, "end", POLICY)  # type: ignore[arg-type]
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and len(line) <= ROW_LIMIT + 1
    row: dict[str, Any] = orjson.loads(line)
    return row


def test_a_span_is_one_line_of_columns_and_attributes() -> None:
    with TRACER.start_as_current_span("outer") as outer:
        row = row_of("inner", gen_ai__tool__name="t", gen_ai__usage__input_tokens=7, custom="x")
    assert {key: value for key, value in row.items() if not key.endswith(("_ns", "trace_id", "span_id"))} == {
        "record": "end",
        "parent_id": f"{outer.get_span_context().span_id:016x}",
        "name": "inner",
        "span_kind": "internal",
        "status": "unset",
        "scope": "scope",
        "tool": "t",
        "input_tokens": 7,
        "attributes": {"custom": "x"},
    }
    assert 0 < row["start_ns"] <= row["end_ns"] <= time.time_ns()


def test_links_and_events_are_kept() -> None:
    span = TRACER.start_span("linked")
    other = TRACER.start_span("other")
    span.add_link(other.get_span_context())
    span.add_event("happened", {"n": 1}, timestamp=5)
    row = orjson.loads(span_row(span, "start", POLICY))  # type: ignore[arg-type]
    context = other.get_span_context()
    assert row["links"] == [{"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}]
    assert row["events"] == [{"name": "happened", "at_ns": 5, "attributes": {"n": 1}}]
    assert row["end_ns"] == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (semconv.GEN_AI_USAGE_INPUT_TOKENS, "many"),
        (semconv.GEN_AI_USAGE_INPUT_TOKENS, 1.5),
        (semconv.GEN_AI_USAGE_INPUT_TOKENS, True),
        (semconv.GEN_AI_TOOL_NAME, 7),
        (semconv.COMMIT_DELTA, "no json"),
        (semconv.COMMIT_DELTA, '{"op":"set"}'),
        (semconv.DECISION_ALTERNATIVES, 3),
    ],
)
def test_a_value_that_its_column_does_not_take_stays_an_attribute(key: str, value: Any) -> None:
    row = row_of(**{key: value})
    assert row["attributes"] == {key: value}


def test_a_delta_is_structure_whether_it_came_as_text_or_not() -> None:
    delta = '[{"op":"set","kind":"fact","key":"k","value":"v","tier":"durable"}]'
    assert row_of(**{semconv.COMMIT_DELTA: delta})["delta"] == orjson.loads(delta)


def test_fifty_megabytes_in_an_attribute_are_cut_counted_and_redacted() -> None:
    huge = "password=hunter2 " + "x" * 50_000_000
    row = row_of(huge=huge, small="kept")
    assert row["lost"] == 1
    assert row["attributes"]["small"] == "kept"
    head, _, mark = row["attributes"]["huge"].partition("… (+")
    assert head.startswith("password=[REDACTED:credential] xxx")
    assert len(head) < TEXT_LIMIT + 40
    assert mark == f"{len(huge) - TEXT_LIMIT:,} chars)"


def test_many_large_attributes_are_dropped_together_and_counted() -> None:
    row = row_of(gen_ai__tool__name="t", **{f"a{n}": "x" * 60_000 for n in range(20)})
    assert (row["tool"], row["lost"], "attributes" in row) == ("t", 1, False)


def test_a_huge_name_is_cut() -> None:
    assert len(row_of("n" * 5_000_000)["name"]) < TEXT_LIMIT + 40


def test_surrogates_and_bytes_are_written_as_valid_text() -> None:
    row = row_of("na\ud800me", text="a\udcffb", raw=b"\xff\xfe")
    assert (row["name"], row["attributes"]["text"]) == ("na?me", "a?b")


SAID_BESIDE_US = {
    "llm.input_messages.0.message.content": "the prompt",
    "llm.model_name": "m",
    "gen_ai.prompt.0.content": "the prompt",
    "traceloop.entity.input": "the prompt",
    "traceloop.entity.name": "agent",
}


@pytest.mark.parametrize(
    ("capture", "kept"),
    [
        (Capture.NONE, {"llm.model_name": "m", "traceloop.entity.name": "agent"}),
        (Capture.SUMMARY, {"llm.model_name": "m", "traceloop.entity.name": "agent"}),
        (Capture.FULL, SAID_BESIDE_US),
    ],
)
def test_prompts_that_another_instrumentation_flattens_onto_a_span_are_content(capture: Capture, kept: dict[str, str]) -> None:
    span = TRACER.start_span("theirs", attributes=SAID_BESIDE_US)
    policy = ContentPolicy(Settings(directory=Path("unused"), capture=capture))
    assert orjson.loads(span_row(span, "end", policy))["attributes"] == kept  # type: ignore[arg-type]
