"""turnlog beside an application's own OpenTelemetry set-up: init() adds to the TracerProvider that is there."""

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import turnlog
from turnlog.demo.scripted_model import ScriptedModel

mine = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(mine))
trace.set_tracer_provider(provider)

turnlog.init()

with ScriptedModel(["Paris."]) as model, turnlog.session("geography"):
    client = OpenAI(base_url=model.base_url, api_key="none")
    completion = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "What is the capital of France?"}]
    )
    print(completion.choices[0].message.content)

for span in mine.get_finished_spans():
    print(f"my own exporter saw {span.name!r} of session {span.attributes['session.id']!r}")
