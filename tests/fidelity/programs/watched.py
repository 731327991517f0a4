"""A build whose commands say nothing of the files that they write; its user has turnlog watch the folder."""

import subprocess
import sys

import turnlog

MAKE = "from pathlib import Path; Path('out').mkdir(exist_ok=True); Path('out/app.bin').write_text('{}')"


@turnlog.tool
def build(version):
    subprocess.run([sys.executable, "-c", MAKE.format(version)], check=True)


with turnlog.session("builds"):
    for version in ("1.0", "1.1"):
        with turnlog.turn(input=f"Build {version}."):
            build(version)
