"""Prints pip constraints that pin every dependency with a lower bound to that bound."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in project["dependencies"] + extras["openai"] + extras["anthropic"] + extras["langchain"] + extras["demo"]:
    match = re.match(r"([\w-]+) >= ([\w.]+), <", requirement)
    if match:
        sys.stdout.write(f"{match[1]}=={match[2]}\n")
