"""Who writes a journal: enough to tell a dead writer from a live one, also after its pid was used again."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import NamedTuple

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Process(NamedTuple):
    id: str
    host: str
    boot: str
    pid: int
    started: int

    def is_gone(self) -> bool:
        """True when this process provably no longer runs. On another host, or where /proc is missing, nothing is provable."""
        if self.host != platform.node() or not self.started:
            return False
        if self.boot and self.boot != _boot():
            return True
        return started_at(self.pid) not in (self.started, None)


def current_process() -> Process:
    pid = os.getpid()
    host = platform.node()
    started = started_at(pid) or 0
    # The clock and the noise keep ids apart where the pid and its start time are all that containers share.
    name = "".join(letter if letter.isalnum() else "-" for letter in host)[:40] or "host"
    identity = f"{name}_{pid}_{time.time_ns():x}_{os.urandom(3).hex()}"
    return Process(identity, host, _boot(), pid, started)


def started_at(pid: int) -> int | None:
    """The kernel's start time of a process in clock ticks; -1 when there is no such process, None when it cannot be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return -1 if Path("/proc/self/stat").exists() else None
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def _boot() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
