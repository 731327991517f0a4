"""What OpenTelemetry's zero-code loader calls: one instrumentor per framework, around the same instrumentation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

from turnlog.instrument import FRAMEWORKS, instrument, uninstrument
from turnlog.instrument.core import Framework


class _Instrumentor(BaseInstrumentor):  # type: ignore[misc]
    framework: Framework

    def instrumentation_dependencies(self) -> Collection[str]:
        return [self.framework.requires]

    def _instrument(self, **kwargs: Any) -> None:
        from turnlog import runtime

        provider = kwargs.get("tracer_provider")
        if runtime.attach(provider):
            instrument(self.framework.name, tracer_provider=provider)

    def _uninstrument(self, **kwargs: Any) -> None:
        uninstrument(self.framework.name)


# BaseInstrumentor makes one instance per class, so each framework needs a class.
INSTRUMENTORS = {
    framework.instrumentor: type(framework.instrumentor, (_Instrumentor,), {"framework": framework}) for framework in FRAMEWORKS
}
