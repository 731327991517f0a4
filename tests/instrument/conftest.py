"""Frameworks hooked for one test, and what was recorded and complained about meanwhile."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import TracerProvider

from instrument.recorder import Recorder
from recording import Recording
from turnlog.demo.scripted_model import Reply, ScriptedModel
from turnlog.instrument import instrument, uninstrument_all


class Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider()
    yield provider
    provider.shutdown()


@pytest.fixture
def recorder(provider: TracerProvider) -> Recorder:
    recorder = Recorder()
    provider.add_span_processor(recorder)
    return recorder


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Answers from `model.script`, which a test fills."""
    script: list[Reply | str] = []
    with ScriptedModel(lambda body: script.pop(0)) as model:
        model.script = script
        yield model


@pytest.fixture
def recorded(request: pytest.FixtureRequest, recording: Recording) -> Iterator[Recording]:
    """The module's FRAMEWORKS, hooked as in an application: with sessions, turns and commits."""
    instrument(*request.module.FRAMEWORKS, tracer_provider=recording.provider)
    yield recording
    uninstrument_all()
    assert recording.processor.troubles == {}


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What turnlog, OpenTelemetry and LangChain log at warning or above while the test runs."""
    handler = Complaints()
    loggers = [logging.getLogger(name) for name in ("turnlog", "opentelemetry", "langchain_core")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.lines
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.fixture
def instrumented(
    request: pytest.FixtureRequest, provider: TracerProvider, recorder: Recorder, complaints: list[str]
) -> Iterator[Recorder]:
    """The module's FRAMEWORKS, hooked for one test that must leave no complaint and no open span."""
    names: Sequence[str] = request.module.FRAMEWORKS
    instrument(*names, tracer_provider=provider)
    yield recorder
    uninstrument_all()
    gc.collect()
    assert complaints == []
    assert len(recorder.spans) == recorder.started
