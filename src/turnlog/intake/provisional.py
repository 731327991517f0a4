"""What can be said of traces that have not arrived whole: a file that readers lay over the journal, made anew each time.

It is derived as the rest is, without the memory of earlier conversations; what it says is replaced when the trace is whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from turnlog.content import ContentPolicy
from turnlog.intake.player import Player
from turnlog.journal.frame import encode_frame
from turnlog.received import ReceivedSpan
from turnlog.running import KnownSpans
from turnlog.settings import Settings

# It takes time from the intake: no more than a tenth.
_SHARE = 10
_SOONEST = 1.0


class Provisional:
    def __init__(self, settings: Settings, policy: ContentPolicy, process_id: str) -> None:
        self._policy = policy
        self._path = settings.journals / f"{process_id}.provisional"
        self._due_at = 0.0
        self._is_there = False

    def move(self, process_id: str) -> None:
        """In a forked child: the file is the parent's."""
        self._path, self._is_there = self._path.with_stem(process_id), False

    def forget(self, process_id: str) -> None:
        """What a receiver that is dead has told."""
        self._path.with_stem(process_id).unlink(missing_ok=True)

    def is_due(self) -> bool:
        return time.monotonic() >= self._due_at

    def tell(self, traces: Sequence[Sequence[ReceivedSpan]], known: KnownSpans) -> None:
        began = time.monotonic()
        frames: list[bytes] = []

        def keep(payload: bytes, rows: int) -> bool:
            frames.append(encode_frame(payload, rows))
            return True

        if traces:
            player = Player(self._policy, keep, known.copy())
            for spans in traces:
                player.play(spans)
            player.flush()
        if frames or self._is_there:
            self._write(frames)
        self._due_at = time.monotonic() + max(_SOONEST, _SHARE * (time.monotonic() - began))

    def _write(self, frames: list[bytes]) -> None:
        self._is_there = bool(frames)
        if not frames:
            self._path.unlink(missing_ok=True)
            return
        unborn = self._path.with_suffix(".unborn")
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(unborn, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(frames)
        unborn.rename(self._path)
