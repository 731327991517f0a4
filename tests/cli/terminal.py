"""The command line on a terminal: what a person sees and types."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType

from programs import environment
from turnlog.settings import Settings

_PATIENCE = 60.0


class Terminal:
    """One `turnlog` command on a pseudo-terminal of a given width."""

    def __init__(self, *words: str, settings: Settings, columns: int = 80, **more: str) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns)
        env = {name: value for name, value in environment(settings.directory).items() if name not in ("NO_COLOR", "COLUMNS")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnlog", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**env, "TERM": "xterm", "TZ": "UTC", **more},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._seen = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def expect(self, text: str) -> None:
        """Read on until the text has been shown; what was before it is forgotten."""
        deadline = time.monotonic() + _PATIENCE
        while text.encode() not in self._seen:
            assert time.monotonic() < deadline and self._read(), f"{text!r} is not in {self._seen!r}"
        self._seen = self._seen.partition(text.encode())[2]

    def all(self) -> str:
        """All that is shown until the command ends."""
        deadline = time.monotonic() + _PATIENCE
        while self._read():
            assert time.monotonic() < deadline
        return self._seen.decode().replace("\r\n", "\n")

    def wait(self) -> int:
        self.all()
        return self.process.wait(_PATIENCE)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], _PATIENCE)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self._seen += data
        return bool(data)
