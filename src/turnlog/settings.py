"""Every setting in one frozen value. This is the only module that reads the environment."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_TRUE = {"1", "true", "yes", "on"}


class Capture(StrEnum):
    """How much content is kept; see the README's privacy section."""

    NONE = "none"
    SUMMARY = "summary"
    FULL = "full"


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
    exporters: tuple[str, ...] = ()

    @property
    def database(self) -> Path:
        return self.directory / "store.duckdb"

    @property
    def lock(self) -> Path:
        return self.directory / "store.lock"

    @property
    def journals(self) -> Path:
        return self.directory / "journal"

    @property
    def set_aside(self) -> Path:
        return self.directory / "journal" / "bad"


def read_settings() -> Settings:
    """The settings that the environment asks for. A value that makes no sense falls back to the safe default."""
    env = os.environ
    base = env.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    capture = env.get("TURNLOG_CAPTURE", "summary").strip().lower()
    message_content = env.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    return Settings(
        directory=Path(env.get("TURNLOG_DIR") or Path(base) / "turnlog").expanduser(),
        session=env.get("TURNLOG_SESSION", ""),
        capture=Capture(capture) if capture in set(Capture) else Capture.NONE,
        content_on_spans=message_content in {"true", "span_only", "span_and_event"},
        hash_key=env.get("TURNLOG_HASH_KEY", ""),
        disabled=_flag(env.get("TURNLOG_DISABLED")) or _flag(env.get("OTEL_SDK_DISABLED")),
        fsync=_flag(env.get("TURNLOG_FSYNC")),
        load_interval=_number(env.get("TURNLOG_LOAD_INTERVAL"), 5.0),
        rotate_bytes=int(_number(env.get("TURNLOG_ROTATE_MB"), 16.0) * 1024 * 1024),
        patience=_number(env.get("TURNLOG_PATIENCE"), 10.0),
        exporters=_exporters(),
    )


def _exporters() -> tuple[str, ...]:
    """Where else spans go when turnlog brings the TracerProvider: OpenTelemetry's own variables decide, as in its SDK."""
    env = os.environ
    endpoint = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    names = [name.strip() for name in env.get("OTEL_TRACES_EXPORTER", "otlp" if endpoint else "").split(",")]
    protocol = env.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or env.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "grpc"
    otlp = "otlp_proto_http" if protocol.startswith("http") else "otlp_proto_grpc"
    return tuple(otlp if name == "otlp" else name for name in names if name not in ("", "none", "turnlog"))


def _flag(value: str | None) -> bool:
    return (value or "").strip().lower() in _TRUE


def _number(value: str | None, default: float) -> float:
    try:
        number = float(value or default)
    except ValueError:
        return default
    return number if number > 0 else default
