"""Every setting in one frozen value. This is the only module that reads the environment."""

import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote

_TRUE = {"1", "true", "yes", "on"}
# So many seconds after the last of it came, nobody waits for the rest of a trace.
ORPHANED_AFTER = 3600.0
_FALSE = {"", "0", "false", "no", "off"}
REPLAY_MARK = "~replay-"
# The sides of a replay that can be live, in the words of the user and in those of the recorded calls.
LIVE = {"model": "model", "tools": "tool"}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Capture(StrEnum):
    """How much content is kept; see the README's privacy section."""

    NONE = "none"
    SUMMARY = "summary"
    FULL = "full"


class Observe(StrEnum):
    """What is watched while a tool call runs; see the README on files."""

    OFF = "off"
    WRITES = "writes"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Settings:
    directory: Path
    session: str = ""
    capture: Capture = Capture.SUMMARY
    content_on_spans: bool = False
    hash_key: str = ""
    disabled: bool = False
    fsync: bool = False
    load_interval: float = 5.0
    rotate_bytes: int = 16 * 1024 * 1024
    patience: float = 10.0
    observe: Observe = Observe.WRITES
    watch: tuple[Path, ...] = ()
    trust: tuple[str, ...] = ()
    distrust: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    exports_here: bool = False
    otlp_headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    replay: str = ""
    replay_from: int = 0
    replay_live: tuple[str, ...] = ()
    lease: tuple[int, int, str] | None = None
    trace_url: str = ""
    problems: tuple[str, ...] = ()

    @property
    def database(self) -> Path:
        return self.directory / "store.duckdb"

    @property
    def replay_suffix(self) -> str:
        """What tells the sessions of a replay from those that it replays; empty when this is none."""
        return self.session[self.session.rindex(REPLAY_MARK) :] if self.replay and REPLAY_MARK in self.session else ""

    @property
    def lock(self) -> Path:
        return self.directory / "store.lock"

    @property
    def archive(self) -> Path:
        return self.directory / "archive"

    @property
    def leases(self) -> Path:
        """Who is the one writer of which session."""
        return self.directory / "leases"

    @property
    def journals(self) -> Path:
        return self.directory / "journal"

    @property
    def inbox(self) -> Path:
        """Spans as they arrived, until their state is in the journal."""
        return self.directory / "inbox" / "journal"

    @property
    def set_aside(self) -> Path:
        return self.directory / "journal" / "bad"


def read_settings() -> Settings:
    """The settings that the environment asks for. A value that makes no sense falls back to a safe one, and is a problem."""
    env = os.environ
    base = env.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    message_content = env.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    problems: list[str] = []
    return Settings(
        directory=Path(env.get("TURNLOG_DIR") or Path(base) / "turnlog").expanduser(),
        session=_session(),
        capture=_capture(problems),
        content_on_spans=message_content in {"true", "span_only", "span_and_event"},
        hash_key=env.get("TURNLOG_HASH_KEY", ""),
        disabled=_flag("TURNLOG_DISABLED", problems) or _flag("OTEL_SDK_DISABLED", problems),
        fsync=_flag("TURNLOG_FSYNC", problems),
        load_interval=_number("TURNLOG_LOAD_INTERVAL", 5.0, problems),
        rotate_bytes=int(_number("TURNLOG_ROTATE_MB", 16.0, problems) * 1024 * 1024),
        patience=_number("TURNLOG_PATIENCE", 10.0, problems),
        observe=_observe(problems),
        watch=tuple(Path(part).expanduser() for part in env.get("TURNLOG_WATCH", "").split(os.pathsep) if part.strip()),
        trust=_names("TURNLOG_TRUST"),
        distrust=_names("TURNLOG_DISTRUST"),
        exporters=_exporters(),
        exports_here="turnlog" in env.get("OTEL_TRACES_EXPORTER", "").replace(" ", "").split(","),
        otlp_headers=_otlp_headers(problems),
        replay=env.get("TURNLOG_REPLAY", ""),
        replay_from=int(_number("TURNLOG_REPLAY_FROM_TURN", 0.0, problems)) if env.get("TURNLOG_REPLAY_FROM_TURN") else 0,
        replay_live=_live(problems),
        lease=_lease(),
        trace_url=_trace_url(problems),
        problems=tuple(problems),
    )


def _trace_url(problems: list[str]) -> str:
    """Where a trace can be looked at: `http://localhost:16686/trace/{trace_id}`."""
    value = os.environ.get("TURNLOG_TRACE_URL", "")
    if value and not (value.startswith(("http://", "https://")) and "{trace_id}" in value):
        problems.append("TURNLOG_TRACE_URL must be an http address with {trace_id} in it; there are no links to traces")
        return ""
    return value


def _exporters() -> tuple[str, ...]:
    """Where else spans go when turnlog brings the TracerProvider: OpenTelemetry's own variables decide, as in its SDK."""
    env = os.environ
    endpoint = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    names = [name.strip() for name in env.get("OTEL_TRACES_EXPORTER", "otlp" if endpoint else "").split(",")]
    protocol = env.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or env.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "grpc"
    otlp = "otlp_proto_http" if protocol.startswith("http") else "otlp_proto_grpc"
    return tuple(otlp if name == "otlp" else name for name in names if name not in ("", "none", "turnlog"))


def _lease() -> tuple[int, int, str] | None:
    """The descriptor, the epoch and the session of the lease that `turnlog run --resume` took for this program."""
    descriptor, _, rest = os.environ.get("TURNLOG_LEASE", "").partition(":")
    epoch, _, session = rest.partition(":")
    return (int(descriptor), int(epoch), session) if descriptor.isdigit() and epoch.isdigit() else None


def _otlp_headers(problems: list[str]) -> tuple[tuple[str, str], ...]:
    """`name=value,name=value`, the values as in a URL. They may be secret: no problem repeats them."""
    traces, all_signals = "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"
    variable = traces if os.environ.get(traces) else all_signals
    found = []
    for part in _names(variable):
        name, equals, value = (unquote(piece).strip() for piece in part.partition("="))
        if equals and _HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable():
            found.append((name.lower(), value))
        else:
            problems.append(f"a part of {variable} is no header like name=value: left out")
    return tuple(found)


def _names(variable: str) -> tuple[str, ...]:
    return tuple(name for part in os.environ.get(variable, "").split(",") if (name := part.strip()))


def _session() -> str:
    name, replayed = os.environ.get("TURNLOG_SESSION", ""), os.environ.get("TURNLOG_REPLAY", "")
    # A replay never goes on with what it replays.
    return name if not replayed or REPLAY_MARK in name else f"{name or replayed}{REPLAY_MARK}{os.getpid():x}"


def _live(problems: list[str]) -> tuple[str, ...]:
    found = _names("TURNLOG_REPLAY_LIVE")
    problems += [f"TURNLOG_REPLAY_LIVE={name} is none of model, tools: left out" for name in found if name not in LIVE]
    return tuple(LIVE[name] for name in found if name in LIVE)


def _capture(problems: list[str]) -> Capture:
    if os.environ.get("TURNLOG_REPLAY"):
        # What is compared with a recording is recorded as that was.
        return Capture.FULL
    level = os.environ.get("TURNLOG_CAPTURE", "").strip().lower() or Capture.SUMMARY
    if level in set(Capture):
        return Capture(level)
    problems.append(f"TURNLOG_CAPTURE={level} is none of {', '.join(Capture)}: no content is kept")
    return Capture.NONE


def _observe(problems: list[str]) -> Observe:
    level = os.environ.get("TURNLOG_OBSERVE", "").strip().lower() or Observe.WRITES
    level = Observe.OFF if level in _FALSE else Observe.WRITES if level in _TRUE else level
    if level in set(Observe):
        return Observe(level)
    problems.append(f"TURNLOG_OBSERVE={level} is none of {', '.join(Observe)}: taken as {Observe.WRITES}")
    return Observe.WRITES


def _flag(variable: str, problems: list[str]) -> bool:
    value = os.environ.get(variable, "").strip().lower()
    if value not in _TRUE | _FALSE:
        problems.append(f"{variable}={value} is neither 1 nor 0: taken as 0")
    return value in _TRUE


def _number(variable: str, default: float, problems: list[str]) -> float:
    value = os.environ.get(variable, "").strip()
    try:
        number = float(value) if value else default
    except ValueError:
        number = 0.0
    if number > 0 and number < float("inf"):
        return number
    problems.append(f"{variable}={value} is no positive number: taken as {default:g}")
    return default
