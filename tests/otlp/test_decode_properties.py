"""Whatever OpenTelemetry's SDK encodes is decoded to the same; whatever bytes come, the decoder answers or refuses."""

from __future__ import annotations

import contextlib
from typing import Any

from google.protobuf.json_format import MessageToJson
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode

from turnlog import otlp
from turnlog.otlp import JSON, PROTOBUF, Malformed
from turnlog.received import KINDS, STATUSES, ReceivedEvent, ReceivedLink, ReceivedSpan

texts = st.text(max_size=20)
times = st.integers(1, 2**63 - 1)
trace_ids = st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}")
span_ids = st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}")
scalars = texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
attributes = st.dictionaries(texts, values, max_size=5)
spans = st.builds(
    lambda span, early, late, remote: ReceivedSpan(
        **span, start_ns=min(early, late), end_ns=max(early, late), has_remote_parent=remote and bool(span["parent_id"])
    ),
    st.fixed_dictionaries(
        {
            "trace_id": trace_ids,
            "span_id": span_ids,
            "parent_id": st.just("") | span_ids,
            "name": texts,
            "kind": st.sampled_from(KINDS),
            "status": st.sampled_from(STATUSES),
            "scope": texts,
            "attributes": attributes,
            "events": st.lists(st.builds(ReceivedEvent, texts, times, attributes), max_size=2).map(tuple),
            "links": st.lists(st.builds(ReceivedLink, trace_ids, span_ids), max_size=2).map(tuple),
            "resource": st.dictionaries(texts.filter(bool), texts | st.integers(0, 9), max_size=2),
        }
    ),
    times,
    times,
    st.booleans(),
)


def _context(trace_id: str, span_id: str, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=is_remote)


def as_in_the_sdk(span: ReceivedSpan) -> ReadableSpan:
    resource: Any = dict(span.resource)
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id, span.has_remote_parent) if span.parent_id else None,
        resource=Resource(resource),
        attributes=span.attributes,
        events=[Event(event.name, event.attributes, event.at_ns) for event in span.events],
        links=[Link(_context(*link)) for link in span.links],
        kind=SpanKind[span.kind.upper()],
        status=Status(StatusCode[span.status.upper()]),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=InstrumentationScope(span.scope),
    )


def _ordered(found: list[ReceivedSpan]) -> list[str]:
    return sorted(map(repr, found))


@given(st.lists(spans, max_size=4))
def test_what_the_sdk_encodes_is_decoded_to_the_same(sent: list[ReceivedSpan]) -> None:
    request = encode_spans([as_in_the_sdk(span) for span in sent])
    binary = otlp.decode(request.SerializeToString(), PROTOBUF)
    text = otlp.decode(MessageToJson(request).encode(), JSON)
    assert _ordered(binary.spans) == _ordered(sent)
    assert text.spans == binary.spans
    assert (binary.rejected, binary.cut) == (text.rejected, text.cut) == (0, 0)


@given(st.lists(spans, min_size=1, max_size=2), st.data())
def test_damaged_bytes_are_refused_or_decoded_and_nothing_else(sent: list[ReceivedSpan], data: st.DataObject) -> None:
    request = encode_spans([as_in_the_sdk(span) for span in sent])
    for body, form in ((request.SerializeToString(), PROTOBUF), (MessageToJson(request).encode(), JSON)):
        place = data.draw(st.integers(0, len(body) - 1))
        damage = data.draw(st.binary(max_size=4))
        with contextlib.suppress(Malformed):
            otlp.decode(body[:place] + damage + body[place + data.draw(st.integers(0, 4)) :], form)
