"""Files into the store: what the readers give goes to the intake in batches, and what was read of each file is told."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from turnlog.errors import TurnlogError
from turnlog.importing import TRANSCRIPTS, UnknownFormat, files_below, read
from turnlog.importing.source import Bad, Source
from turnlog.intake import Intake
from turnlog.received import ReceivedSpan
from turnlog.settings import Settings

STDIN = "-"
_BATCH = 512


@dataclass(slots=True)
class FileRead:
    """What became of one file. `error` says why no more of it was read; `is_other`: it holds something else altogether.
    `unfinished` turns may still be going on."""

    name: str
    format: str = ""
    spans: int = 0
    unfinished: int = 0
    bad_count: int = 0
    bad: list[Bad] = field(default_factory=list)
    error: str = ""
    is_other: bool = False


@dataclass(slots=True)
class Progress:
    """`total_bytes` is 0 where nobody knows. `is_read`: what is left is to derive. `left_out`: spans of traces in which no
    agent worked, known when all is over."""

    total_bytes: int
    bytes: int = 0
    spans: int = 0
    left_out: int = 0
    is_read: bool = False

    @classmethod
    def over(cls, names: list[str]) -> Progress:
        return cls(0 if STDIN in names else sum(Path(name).stat().st_size for name in names if Path(name).is_file()))


def found_files(names: Iterable[str]) -> list[str]:
    """Files as they are named, and of folders what can hold spans; a folder without any stands for itself."""
    found: list[str] = []
    for name in names:
        path = Path(name)
        found += [*map(str, files_below(path))] or [name] if name != STDIN and path.is_dir() else [name]
    return list(dict.fromkeys(found))


def load_files(
    names: list[str], settings: Settings, format: str, progress: Progress, tell: Callable[[Progress], None]
) -> Iterator[FileRead]:
    """Read file after file. All of it is in the store's journal once the iterator is exhausted."""
    with closing(Intake(settings, durable=False)) as intake:
        for name in names:
            yield _load(name, intake, format, progress, tell)
        progress.is_read = True
        tell(progress)
        intake.settle(everything=True)
        progress.left_out = intake.nobodys


def _load(name: str, intake: Intake, format: str, progress: Progress, tell: Callable[[Progress], None]) -> FileRead:
    done = FileRead(name)

    def advanced(count: int) -> None:
        progress.bytes += count
        progress.is_read = 0 < progress.total_bytes <= progress.bytes
        tell(progress)

    source: Source | None = None
    try:
        with sys.stdin.buffer if name == STDIN else Path(name).open("rb") as raw:
            source = Source(raw, None if name == STDIN else Path(name), advanced)
            done.format, spans = read(source, format)
            comes_whole = done.format in TRANSCRIPTS
            for batch in _turns(spans) if comes_whole else _batches(spans):
                intake.take(batch)
                if comes_whole:
                    # Nothing of these turns is still to come: their contexts need not be held any longer.
                    intake.settle(everything=True)
                done.spans += len(batch)
                progress.spans += len(batch)
                tell(progress)
    except FileNotFoundError:
        done.error = "there is no such file or folder"
    except IsADirectoryError:
        done.error = "there is nothing to import in it"
    except OSError as error:
        done.error = error.strerror or str(error)
    except (TurnlogError, EOFError, zlib.error) as error:
        done.error, done.is_other = str(error), isinstance(error, UnknownFormat)
    if source is not None:
        done.bad, done.bad_count, done.unfinished = source.bad, source.bad_count, source.unfinished
    if done.bad and not done.spans and not done.error:
        done.error = f"nothing in it could be read: {done.bad[0].reason}"
    return done


def _batches(spans: Iterator[ReceivedSpan]) -> Iterator[list[ReceivedSpan]]:
    while batch := list(islice(spans, _BATCH)):
        yield batch


def _turns(spans: Iterator[ReceivedSpan]) -> Iterator[list[ReceivedSpan]]:
    """Whole turns, each of which begins with its outermost span."""
    batch: list[ReceivedSpan] = []
    for span in spans:
        if not span.parent_id and len(batch) >= _BATCH:
            yield batch
            batch = []
        batch.append(span)
    if batch:
        yield batch
