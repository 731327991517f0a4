"""Who writes a journal: enough to tell a dead writer from a live one, also after its pid was used again."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import NamedTuple

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


class Process(NamedTuple):
    id: str
    host: str
    boot: str
    pid: int
    started: int
    namespace: str = ""

    def is_gone(self) -> bool:
        """True when this process provably no longer runs. Of another host or namespace nothing can be proved."""
        if self.host != platform.node() or not self.started:
            return False
        if self.boot and self.boot != _boot():
            return True
        # Containers on the host's network share its name, not its process numbers.
        if self.namespace != _namespace():
            return False
        return started_at(self.pid) not in (self.started, None)


def current_process() -> Process:
    pid = os.getpid()
    host = platform.node()
    started = started_at(pid) or 0
    # The clock and the noise keep ids apart where the pid and its start time are all that containers share.
    name = "".join(letter if letter.isalnum() else "-" for letter in host)[:40] or "host"
    identity = f"{name}_{pid}_{time.time_ns():x}_{os.urandom(3).hex()}"
    return Process(identity, host, _boot(), pid, started, _namespace())


def started_at(pid: int) -> int | None:
    """When the kernel started a process, in clock ticks; -1 when there is none, None when it cannot be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return -1 if Path("/proc/self/stat").exists() else None
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return -1 if state in "ZX" else int(fields[18])


def command_of(pid: int) -> str:
    """What a process of this machine runs, in a few words; empty when it cannot be told."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")[:3]
    except OSError:
        return ""
    named = words[: 3 if words[1:2] == ["-m"] else 2]
    return " ".join([Path(word).name if n == 0 else " ".join(word.split()) for n, word in enumerate(named) if word])


def _namespace() -> str:
    try:
        return str(_NAMESPACE.readlink())
    except OSError:
        return ""


def _boot() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
