"""What the MCP server's answers cost in tokens, at 10, 1,000 and 100,000 commits of one session.

`python tests/bench/mcp_tokens.py [--quick]`. Counted with o200k_base and cl100k_base (of `splintr-rs`, which brings them), and
as turnlog estimates them; the budget is the default of 2,000. CPU is the server's for one answer. `--quick` stops at 1,000
commits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from measure import print_machine, print_table
from splintr import Tokenizer

from mcp_server.long_session import questions, write_session
from turnlog import queries
from turnlog.mcp_server.paging import DEFAULT
from turnlog.mcp_server.server import Turnlog
from turnlog.settings import Settings
from turnlog.store.loader import load
from turnlog.tokens import estimate

_SIZES = (10, 1_000, 100_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    sizes = _SIZES[:2] if parser.parse_args().quick else _SIZES
    o200k, cl100k = Tokenizer.from_pretrained("o200k_base"), Tokenizer.from_pretrained("cl100k_base")
    print_machine()
    rows, exceeded = [], 0
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(directory=Path(folder) / "turnlog")
            write_session(settings, size)
            load(settings, patience=30)
            server = Turnlog(settings)
            with queries.reading(settings) as db:
                session = queries.find_session(db)
                commit = next(row for row in queries.log(db, session, limit=50) if row.tool)
                path = queries.working_set(db, session, 10**6)[-1].key
            for tool, arguments in questions(commit.commit_id, path).items():
                began = time.process_time()
                text = getattr(server, tool)(**arguments)
                took = time.process_time() - began
                counts = [len(each.encode(text)) for each in (o200k, cl100k)]
                exceeded += max(counts) > DEFAULT
                rows.append((f"{size:,}", tool, *(f"{count:,}" for count in counts), f"{estimate(text):,}", f"{took:.2f} s"))
    print_table(f"answers within {DEFAULT:,} tokens", ("commits", "tool", "o200k_base", "cl100k_base", "estimate", "CPU"), rows)
    print(f"{exceeded} of {len(rows)} answers exceed {DEFAULT:,} tokens")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
