"""What is left after a program ends in a bad way right after its tool calls: turnlog's commits, and an exporter's spans.

`python tests/bench/crash.py [--quick]`. One program, one TracerProvider, recorded twice: by turnlog, and by an exporter that
writes a file behind the SDK's BatchSpanProcessor.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measure import print_machine, print_table

_TOOL_CALLS = 100


def _raise() -> None:
    raise RuntimeError("nobody catches this")


ENDINGS: dict[str, Callable[[], object]] = {
    "kill -9": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "os._exit": lambda: os._exit(1),
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "uncaught exception": _raise,
    "normal exit": lambda: None,
}


def run_program(ending: str, folder: Path) -> None:
    """The child: tool calls, then the end."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    import turnlog

    class FileExporter(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            with (folder / "exported").open("a") as file:
                file.writelines(f"{span.name}\n" for span in spans)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(FileExporter()))
    trace.set_tracer_provider(provider)
    turnlog.init(directory=folder)

    @turnlog.tool
    def write_file(path: str, content: str) -> str:
        return f"wrote {len(content)} characters to {path}"

    with turnlog.turn("please write the files"):
        for number in range(_TOOL_CALLS):
            write_file(f"notes_{number}.md", "remember this")
        ENDINGS[ending]()


def count_commits(folder: Path) -> int:
    from turnlog import queries
    from turnlog.settings import Settings

    with queries.reading(Settings(directory=folder)) as db:
        commits = queries.log(db, queries.find_session(db), limit=10 * _TOOL_CALLS, kind="tool")
    return len({commit.commit_id for commit in commits if commit.outcome == "ok"})


def count_exported(folder: Path) -> int:
    file = folder / "exported"
    return file.read_text().count("execute_tool") if file.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("ENDING", "DIRECTORY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_program(options.child[0], Path(options.child[1]))
        return
    print_machine()
    rows = []
    for ending in ENDINGS:
        kept = []
        for _ in range(1 if options.quick else 5):
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                command = [sys.executable, __file__, "--child", ending, scratch]
                code = subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
                kept.append((count_commits(folder), count_exported(folder)))
        commits, exported = (" ".join(str(count) for count in sorted(set(counts))) for counts in zip(*kept, strict=True))
        rows.append([ending, str(code), commits, exported, len(kept)])
    head = ("the program ends by", "exit code", "turnlog's commits", "BatchSpanProcessor's spans", "runs")
    print_table(f"Kept of {_TOOL_CALLS} tool calls", head, rows)


if __name__ == "__main__":
    main()
