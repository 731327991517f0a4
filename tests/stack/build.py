"""Builds the real collector and the real Jaeger that the tests of this folder run: once, from pinned source.

    python tests/stack/build.py         build what is missing, and print where it is

They are kept outside of the tree, in ${XDG_CACHE_HOME:-~/.cache}/turnlog-test-stack. Go keeps what it fetched and compiled in
its own caches, so a build that was broken off goes on where it stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_OTELCOL = "0.159.0"
_PROVIDERS = "1.65.0"
_CORE = "go.opentelemetry.io/collector"
_CONTRIB = "github.com/open-telemetry/opentelemetry-collector-contrib"
# What collector-config.yaml uses, and nothing else: the whole of otelcol-contrib takes an hour to compile.
_MANIFEST = {
    "dist": {"name": "otelcol", "version": _OTELCOL, "output_path": "made", "build_tags": "grpcnotrace"},
    "extensions": [
        f"{_CONTRIB}/extension/healthcheckextension v{_OTELCOL}",
        f"{_CONTRIB}/extension/storage/filestorage v{_OTELCOL}",
    ],
    "receivers": [f"{_CORE}/receiver/otlpreceiver v{_OTELCOL}"],
    "processors": [
        f"{_CORE}/processor/memorylimiterprocessor v{_OTELCOL}",
        f"{_CONTRIB}/processor/redactionprocessor v{_OTELCOL}",
        f"{_CONTRIB}/processor/tailsamplingprocessor v{_OTELCOL}",
        f"{_CONTRIB}/processor/transformprocessor v{_OTELCOL}",
    ],
    "connectors": [
        f"{_CORE}/connector/forwardconnector v{_OTELCOL}",
        f"{_CONTRIB}/connector/spanmetricsconnector v{_OTELCOL}",
    ],
    "exporters": [
        f"{_CORE}/exporter/otlpexporter v{_OTELCOL}",
        f"{_CORE}/exporter/otlphttpexporter v{_OTELCOL}",
        f"{_CONTRIB}/exporter/prometheusexporter v{_OTELCOL}",
    ],
    "providers": [
        f"{_CORE}/confmap/provider/envprovider v{_PROVIDERS}",
        f"{_CORE}/confmap/provider/fileprovider v{_PROVIDERS}",
    ],
}
# Jaeger's module path has no /v2, so Go cannot name its v2 tags. v1.76.0 and v2.13.0 are one commit; the module proxy that
# CI reaches has none later.
_JAEGER_MODULE = "github.com/jaegertracing/jaeger@v1.76.0"
_JAEGER = "2.13.0"


class Missing(Exception):
    """A part of the stack is not there; the text says why, and what to do."""


class _Part(NamedTuple):
    name: str
    version: str
    build: Callable[[Path], Path]
    digest: str = ""

    @property
    def binary(self) -> Path:
        return _cache() / "-".join(filter(None, (self.name, self.version, self.digest))) / self.name


def binary(name: str) -> Path:
    """Where a part of the stack is, once a build that is running has ended. Starts none: whoever wants those minutes asks."""
    found = _PARTS[name].binary
    if not found.exists() and _cache().exists():
        with _sole_build():
            pass
    if found.exists():
        return found
    if shutil.which("go") is None:
        raise Missing(f"{name} is built from source and there is no Go here: install Go 1.25, then python tests/stack/build.py")
    raise Missing(f"{name} is not built yet: python tests/stack/build.py")


def main() -> int:
    with _sole_build():
        missing = [part for part in _PARTS.values() if not part.binary.exists()]
        if missing and shutil.which("go") is None:
            print("the test stack is built from source, and there is no Go here: install Go 1.25 or later", file=sys.stderr)
            return 1
        # Side by side: one compiles while the other waits for the module proxy.
        with ThreadPoolExecutor(len(_PARTS)) as pool:
            failures = list(filter(None, pool.map(_make, missing)))
    for part in _PARTS.values():
        if part.binary.exists():
            print(part.binary)
    for failure in failures:
        print(failure, file=sys.stderr)
    return bool(failures)


@contextmanager
def _sole_build() -> Iterator[None]:
    _cache().mkdir(parents=True, exist_ok=True)
    with (_cache() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build of the test stack is running; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(part: _Part) -> str:
    """Build one part; what went wrong, or nothing."""
    print(f"building {part.name} {part.version}: some minutes, once", flush=True)
    began = time.monotonic()
    scratch = part.binary.parent / "making"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        part.build(scratch).rename(part.binary)
    except subprocess.CalledProcessError as error:
        return f"{part.name} {part.version} was not built: {' '.join(error.cmd)}\n{error.stdout}{error.stderr}"
    shutil.rmtree(scratch)
    print(f"built {part.name} {part.version} in {time.monotonic() - began:.0f} s", flush=True)
    return ""


def _build_otelcol(scratch: Path) -> Path:
    # JSON is YAML, which is what the builder reads.
    gomods = {
        key: value if isinstance(value, dict) else [{"gomod": module} for module in value] for key, value in _MANIFEST.items()
    }
    (scratch / "builder.yaml").write_text(json.dumps(gomods))
    _go("run", "-trimpath", f"{_CORE}/cmd/builder@v{_OTELCOL}", "--config", "builder.yaml", folder=scratch)
    return scratch / "made" / "otelcol"


def _build_jaeger(scratch: Path) -> Path:
    # `go install` refuses a module with replacements in its go.mod.
    source = json.loads(_go("mod", "download", "-json", _JAEGER_MODULE, folder=scratch))["Dir"]
    _go("build", "-trimpath", "-ldflags=-s -w", "-o", str(scratch / "jaeger"), "./cmd/jaeger", folder=Path(source))
    return scratch / "jaeger"


def _go(*arguments: str, folder: Path) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    command = ["go", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnlog-test-stack"


_PARTS = {
    part.name: part
    for part in (
        _Part("otelcol", _OTELCOL, _build_otelcol, hashlib.sha256(json.dumps(_MANIFEST).encode()).hexdigest()[:8]),
        _Part("jaeger", _JAEGER, _build_jaeger),
    )
}


if __name__ == "__main__":
    sys.exit(main())
