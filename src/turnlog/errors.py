"""What turnlog's own tools raise on purpose. Each message says what, where and what to do.

Nothing here is ever raised into an instrumented application, where telemetry failures are logged once and counted; but for
IllegalTransition and SessionLeased, which answer calls that the application itself made, and ReplayDiverged, which `--replay`
asked for.
"""


class TurnlogError(Exception):
    """Base of everything that the CLI prints in one line before it exits with 1."""


def is_interrupt(error: BaseException) -> bool:
    """Whether it is Ctrl-C, for which DuckDB raises an error of its own while a statement runs."""
    return isinstance(error, KeyboardInterrupt) or (isinstance(error, RuntimeError) and str(error) == "Query interrupted")


def is_of_duckdb(error: Exception) -> bool:
    """Whether DuckDB itself raised it, told without loading it."""
    return type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb")


def unreadable(error: Exception) -> str:
    """What to do when DuckDB itself could not read the store."""
    return (
        f"the store could not be read: {str(error).splitlines()[0]}. If it is corrupt, move away the file that "
        "`turnlog path database` prints: what the journals still hold is loaded into a new one"
    )


class StoreLocked(TurnlogError):
    """Another process kept the store busy for longer than the caller's patience."""


class StoreNotWritable(TurnlogError):
    """The store's directory cannot be written."""


class NotAStore(TurnlogError):
    """The store's file exists but is not a database that turnlog can read."""


class SchemaTooNew(TurnlogError):
    """The store was written by a newer turnlog."""


class SchemaTooOld(TurnlogError):
    """The store was written by an older turnlog and has not been migrated yet."""


class LongTail(TurnlogError):
    """So much is unloaded that a reader should load first."""


class NotFound(TurnlogError):
    """A session, turn or commit that the caller named does not exist."""


class StatementRefused(TurnlogError):
    """A statement that the read-only sandbox does not run."""


class MissingExtra(TurnlogError):
    """An optional dependency is not installed."""


class SessionLeased(TurnlogError):
    """Another process writes the session that one wants to resume."""


class NotCaptured(TurnlogError):
    """The content that somebody wants to go on from was not kept."""


class IllegalTransition(TurnlogError):
    """A lifecycle state that may not follow the session's present one."""


class ReplayDiverged(BaseException):
    """The program asked for what the recording does not have.

    No Exception: an SDK would take it for a failed connection and try again, an agent for a failed tool, and go on diverging.
    """
