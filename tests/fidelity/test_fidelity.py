"""Scripted programs whose truth is known, run as their users run them: turnlog's answers are compared with it, kind by kind."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from fidelity.answers import answers
from fidelity.case import KINDS, Case, Facts
from fidelity.truth import contexts, conversations, influence, tools
from programs import run
from turnlog import queries
from turnlog.demo.scripted_model import ScriptedModel
from turnlog.settings import Settings

PROGRAMS = Path(__file__).parent / "programs"
CASES = {case.program: case for case in (*contexts.CASES, *conversations.CASES, *tools.CASES, *influence.CASES)}


def play(case: Case, folder: Path) -> Facts:
    """Run the program under `turnlog run` in a folder of its own, and ask turnlog about it."""
    home, place = folder / "turnlog", folder / "place"
    place.mkdir(parents=True)
    with ScriptedModel(case.script) as model:
        environment = {
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model.base_url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "none",
            **case.environment,
        }
        for arguments in case.runs:
            command = [sys.executable, "-m", "turnlog", "run", sys.executable, str(PROGRAMS / case.program), *arguments]
            done = run(*command, directory=home, cwd=place, code=case.exit_code, **environment)
            assert done.stderr == "", f"{case.program} said:\n{done.stderr}"
    with queries.reading(Settings(directory=home)) as db:
        return answers(db, place.resolve(), case.turns_seen())


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Facts]]:
    """Every program at once, two at a time: most of a run is waiting for imports."""
    with ThreadPoolExecutor(2) as pool:
        return {name: pool.submit(play, case, tmp_path_factory.mktemp(Path(name).stem)) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_what_turnlog_answers_is_what_the_program_did(name: str, played: dict[str, Future[Facts]]) -> None:
    found, truth = played[name].result(), CASES[name].truth()
    assert {kind: sorted(found[kind].elements(), key=repr) for kind in KINDS} == {
        kind: sorted(truth[kind].elements(), key=repr) for kind in KINDS
    }


def test_precision_and_recall_are_exact_for_every_kind(
    played: dict[str, Future[Facts]], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(kind, *_tally(kind, played)) for kind in KINDS]
    with capsys.disabled():
        print(f"\n{len(CASES)} programs\n{'kind':<12}{'truth':>7}{'found':>7}{'right':>7}{'precision':>11}{'recall':>8}")
        for kind, truth, found, right in rows:
            print(f"{kind:<12}{truth:>7}{found:>7}{right:>7}{right / max(found, 1):>11.3f}{right / max(truth, 1):>8.3f}")
    assert [(kind, found, right) for kind, _, found, right in rows] == [(kind, truth, truth) for kind, truth, _, _ in rows]
    assert all(truth for _, truth, _, _ in rows)


def _tally(kind: str, played: dict[str, Future[Facts]]) -> tuple[int, int, int]:
    """How many facts are true, how many turnlog told, and how many of those are true. A program that failed told nothing."""
    truth = found = right = 0
    for name, run_ in played.items():
        told = Counter[tuple[object, ...]]() if run_.exception() else run_.result()[kind]
        known = CASES[name].truth()[kind]
        truth, found, right = truth + known.total(), found + told.total(), right + (known & told).total()
    return truth, found, right
