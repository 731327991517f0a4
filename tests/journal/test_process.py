"""Telling a dead writer from a live one, and saying so only when it can be proved."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time

import pytest

from turnlog.journal.process import Process, current_process, started_at

HERE = current_process()


def test_this_process_is_not_gone() -> None:
    assert (HERE.pid, HERE.host) == (os.getpid(), platform.node())
    assert not HERE.is_gone()


def test_two_identities_are_never_equal() -> None:
    assert len({current_process().id for _ in range(100)}) == 100


def test_an_identity_can_name_a_file() -> None:
    assert "/" not in HERE.id
    assert "." not in HERE.id


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"started": HERE.started + 1}, True),
        ({"boot": "another boot"}, True),
        ({"boot": ""}, False),
        ({"host": "elsewhere", "pid": 1 << 30}, False),
        ({"started": 0, "pid": 1 << 30}, False),
        ({"pid": 1 << 30}, True),
        ({"namespace": "pid:[1]", "pid": 1 << 30}, False),
    ],
    ids=["pid used again", "rebooted", "boot unknown", "other host", "start unknown", "no such pid", "other container"],
)
def test_a_writer_is_gone_only_when_that_can_be_proved(changes: dict[str, object], gone: bool) -> None:
    assert HERE._replace(**changes).is_gone() is gone  # type: ignore[arg-type]


def test_a_process_that_ended_is_gone_also_before_its_parent_noticed() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    writer = HERE._replace(pid=child.pid, started=started_at(child.pid) or 0)
    assert not writer.is_gone()
    child.kill()
    deadline = time.monotonic() + 60
    while not writer.is_gone() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert writer.is_gone()
    child.communicate()
    assert writer.is_gone()
    assert isinstance(writer, Process)
