"""Records the Vercel AI SDK's own spans of tests/frameworks/scenario.py: `python vercel_ai.py SCRIPT FILE`.

SCRIPT is vercel_ai.mjs, copied beside the `node_modules` that it names. FILE is kept, so that the tests need no Node.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "frameworks"))

from scenario import SESSION, answer

from turnlog.demo.scripted_model import ScriptedModel

if __name__ == "__main__":
    script, file = sys.argv[1:]
    with ScriptedModel(answer) as model:
        subprocess.run(["node", script, model.base_url, SESSION, file], check=True)
