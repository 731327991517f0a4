"""A store that receives: the lock, the intake and the server of one directory, put together and taken apart in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from turnlog.background import BackgroundLoader
from turnlog.errors import TurnlogError
from turnlog.intake import Intake
from turnlog.receiver.guard import Guard
from turnlog.receiver.lock import sole_server
from turnlog.receiver.server import Receiver
from turnlog.settings import Settings


class CannotListen(TurnlogError):
    """The address or the port is not to be had."""


@contextmanager
def receiving(settings: Settings, guard: Guard, host: str, port: int) -> Iterator[Receiver]:
    """Receive for this store. At the end, requests that run are finished first, then what they brought is derived."""
    with sole_server(settings.directory) as tell, closing(Intake(settings)) as intake:
        receiver = _listening(intake, guard, host, port)
        tell(receiver.url)
        loader = BackgroundLoader(settings, intake.journal)
        intake.start()
        receiver.left = intake.taken
        receiver.start()
        loader.start()
        try:
            yield receiver
        finally:
            receiver.stop()
            loader.finish()


def _listening(intake: Intake, guard: Guard, host: str, port: int) -> Receiver:
    try:
        return Receiver(intake, guard, host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotListen(
            f"cannot listen on port {port} of {host}: {reason}. Choose one with --port; 0 takes a free one."
        ) from None
