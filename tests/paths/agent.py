"""The agent of tests/vocabulary, under whatever instrumentation its launcher brings; and under those that TOLD_BY names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from opentelemetry import trace

sys.path.insert(0, str(Path(__file__).parent.parent))

from turnlog.demo.scripted_model import ScriptedModel
from vocabulary.agent import SCRIPT, activate, langchain

for peer in os.environ.get("TOLD_BY", "").split():
    activate(peer, trace.get_tracer_provider())  # type: ignore[arg-type]
with ScriptedModel(SCRIPT) as model:
    langchain(model)
