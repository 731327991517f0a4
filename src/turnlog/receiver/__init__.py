"""OTLP over HTTP in: any SDK and any collector sends its traces here, and is told that they are kept once they are."""

from __future__ import annotations

from turnlog.receiver.guard import Guard, guard_for
from turnlog.receiver.server import Counts, Receiver
from turnlog.receiver.serving import receiving

__all__ = ["Counts", "Guard", "Receiver", "guard_for", "receiving"]
