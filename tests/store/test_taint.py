"""What is built on what: from unverified results through contexts, replies, tools, files and agents inside of tools."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store.story import START, change, message_hash, touch
from store.talk import UNVERIFIED, Talk, report
from turnlog.settings import Settings
from turnlog.store import Store
from turnlog.store.loader import load


class Answers:
    def __init__(self, db: duckdb.DuckDBPyConnection, *talks: Talk) -> None:
        self._db = db
        self.ids = {label: commit for talk in talks for label, commit in talk.ids.items()}
        self._labels = {commit: label for talk in talks for label, commit in talk.ids.items()}

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows, with labels in the place of commit ids."""
        return [tuple(map(self._label, row)) for row in self._db.execute(statement).fetchall()]

    def _label(self, value: Any) -> Any:
        return " > ".join(self._labels.get(word, word) for word in value.split(" > ")) if isinstance(value, str) else value

    def built(self, source: str = "") -> list[tuple[Any, ...]]:
        """Which commits are built on a source or, without one, on any unverified input."""
        commit = self.ids[source] if source else ""
        return self(f"select commit_id, how from taint_of('s', '{commit}') order by at_ns, source_commit")


@pytest.fixture(scope="module", params=["journals", "store"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    settings = Settings(directory=Path(tmp_path_factory.mktemp("told")))
    talk = Talk(settings)
    report(talk)
    if request.param == "store":
        load(settings, patience=1)
    with Store(settings).reading() as db:
        yield Answers(db, talk)
    talk.writer.close()


def test_sources(ask: Answers) -> None:
    columns = "turn, commit_id, source_kind, verified, verification, tool, content_hash, summary"
    assert ask(f"select {columns} from sources where session_id = 's' order by at_ns, commit_id") == [
        (1, "c1", "operator", "", "", "", message_hash("system", "be brief"), "be brief"),
        (1, "c1", "model_generated", "", "", "", "", ""),
        (1, "web", "retrieved", "false", "", "web_search", "hash of web", "it is 42"),
        (1, "c2", "model_generated", "", "", "", "", ""),
        (1, "write", "tool_output", "", "", "write_file", "hash of write", ""),
        (1, "c3", "model_generated", "", "", "", "", ""),
        (2, "c4", "model_generated", "", "", "", "", ""),
        (3, "c5", "model_generated", "", "", "", "", ""),
        (3, "read", "tool_output", "", "", "read_file", "hash of read", ""),
        (3, "c6", "model_generated", "", "", "", "", ""),
    ]


def test_session_flags(ask: Answers) -> None:
    assert ask("from session_flags") == [("s", 0, 1)]


def test_askings(ask: Answers) -> None:
    assert ask("select commit_id, kind, lineage, ran_in, asked_by from askings('s') order by started_ns") == [
        ("web", "tool", "", "web", "c1"),
        ("write", "tool", "", "write", "c2"),
        ("read", "tool", "", "read", "c5"),
    ]


def test_carriers(ask: Answers) -> None:
    found = ask(
        "select added_by, evicted_by, origin_kind, origin_id from carriers('s') order by position, origin_kind, origin_id"
    )
    assert found == [
        ("c2", "c4", "call", "c1"),
        ("c2", "c4", "call", "c1"),
        ("c2", "c4", "tool", "web"),
        ("c3", "c4", "call", "c2"),
        ("c3", "c4", "call", "c2"),
        ("c3", "c4", "tool", "write"),
        ("c4", "c5", "call", "c3"),
        ("c6", "", "call", "c5"),
        *sorted([("c6", "", "call", "c5"), ("c6", "", "call", "c2")], key=lambda row: ask.ids[row[3]]),
        *sorted([("c6", "", "tool", "read"), ("c6", "", "tool", "write")], key=lambda row: ask.ids[row[3]]),
    ]


def test_influence(ask: Answers) -> None:
    bounds = "(select commit_id from commits where started_ns = {})"
    columns = f"source_id, lineage, {bounds.format('from_ns')}, {bounds.format('to_ns')}, last_seen_by, passed_by"
    assert ask(f"select {columns} from influence('s', '') order by from_ns") == [
        ("web", "main", "c2", "c4", "c3", ""),
        ("web", "main", "c6", "c6", "", "c2"),
    ]


def test_taint_of(ask: Answers) -> None:
    columns = "source_commit, source_tool, source_turn, commit_id, turn, turns_later, kind, tool, decision_commit, how, path"
    assert ask(f"select {columns} from taint_of('s', '{ask.ids['web']}') order by at_ns") == [
        ("web", "web_search", 1, "c2", 1, 0, "decision", "", "c2", "context", "web > c2"),
        ("web", "web_search", 1, "write", 1, 0, "tool", "write_file", "c2", "context", "web > c2 > write"),
        ("web", "web_search", 1, "c3", 1, 0, "decision", "", "c3", "context", "web > c3"),
        ("web", "web_search", 1, "c4", 2, 1, "decision", "", "c4", "derived", "web > c3 > c4"),
        ("web", "web_search", 1, "c6", 3, 2, "decision", "", "c6", "derived", "web > c2 > c6"),
    ]
    assert ask.built("read") == [("c6", "context")]
    assert ask.built("c5") == [("read", "derived"), ("c6", "derived")]
    assert ask.built("c6") == []


def test_contamination(ask: Answers) -> None:
    columns = "session_id, commit_id, turn, source_commit, turns_later, how, path"
    assert ask(f"select {columns} from contamination where turn > 1 order by at_ns") == [
        ("s", "c4", 2, "web", 1, "derived", "web > c3 > c4"),
        ("s", "c6", 3, "web", 2, "derived", "web > c2 > c6"),
    ]


def test_why(ask: Answers) -> None:
    columns = "decision_commit, role, source_kind, verified, source_commit, tool, turn, summary"
    context = [
        ("c2", "system", "operator", "", "", "", 1, "be brief"),
        ("c2", "user", "user_supplied", "", "", "", 1, "find it"),
        ("c2", "assistant", "model_generated", "", "c1", "", 1, "choice of c1"),
        ("c2", "tool", "retrieved", "false", "web", "web_search", 1, "it is 42"),
    ]
    assert ask(f"select {columns} from why('s', '{ask.ids['write']}') order by position") == context
    assert ask(f"select {columns} from why('s', '{ask.ids['c2']}') order by position") == context
    assert ask(f"select position from why('s', '{ask.ids['c2']}') order by 1") == [(1,), (2,), (3,), (4,)]
    assert ask("from why('s', 'missing')") == []


@pytest.mark.parametrize("checked", ["hash of web", "web"])
def test_what_somebody_has_verified_contaminates_nothing(settings: Settings, checked: str) -> None:
    talk = Talk(settings)
    report(talk)
    key = talk.ids.get(checked, checked)
    talk.span("verify", "another", "t9", commit_kind="note", delta=[change("source", key, "verified by ann", action="verify")])
    talk.writer.close()
    with Store(settings).reading() as db:
        answers = Answers(db, talk)
        assert answers("select verified, verification from sources where tool = 'web_search'") == [("true", "verified by ann")]
        assert answers.built() == []
        assert len(answers.built("web")) == 5


Truth = set[tuple[str, str]]
SCENARIOS: dict[str, Callable[[Talk], Truth]] = {}


def scenario(tell: Callable[[Talk], Truth]) -> Callable[[Talk], Truth]:
    """A session whose name is a claim: told to a Talk, it gives the commits that are built on its unverified input, and how."""
    SCENARIOS[tell.__name__] = tell
    return tell


@scenario
def only_what_is_marked_unverified_contaminates_whatever_its_kind(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("trusted", "t1", by="c1", source_kind="retrieved", verified=True)
    talk.ran("unknown", "t1", by="c1", source_kind="tool_output")
    talk.call("c2", "t1", "user:go", "reply:c1", "result:trusted", "result:unknown")
    talk.ran("distrusted", "t1", by="c2", source_kind="tool_output", verified=False)
    talk.call("c3", "t1", "user:go", "reply:c1", "result:trusted", "result:unknown", "reply:c2", "result:distrusted")
    return {("c3", "context")}


@scenario
def evicting_a_result_ends_its_influence_unless_something_derived_from_it_stays(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("web", "t1", by="c1", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:web")
    talk.call("c3", "t2", "user:go", "reply:c1", "reply:c2", "user:more")
    talk.call("c4", "t3", "user:go", "reply:c1", "user:more", "user:still more")
    talk.ran("later", "t3", by="c4")
    return {("c2", "context"), ("c3", "derived")}


@scenario
def a_result_that_was_cleared_is_not_seen_any_more(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("web", "t1", by="c1", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:web")
    talk.call("c3", "t2", "user:go", "reply:c1", "cleared:web", "reply:c2", "user:more")
    talk.call("c4", "t3", "user:go", "reply:c1", "cleared:web", "user:and?")
    return {("c2", "context"), ("c3", "derived")}


@scenario
def a_summary_carries_what_it_replaces_and_a_new_input_does_not(talk: Talk) -> Truth:
    talk.call("c1", "t1", "system:x", "user:go")
    talk.ran("web", "t1", by="c1", **UNVERIFIED)
    talk.call("c2", "t1", "system:x", "user:go", "reply:c1", "result:web")
    talk.call("c3", "t2", "system:x", "user:earlier they found 42", "user:more")
    talk.call("c4", "t3", "system:x", "user:something else")
    talk.call("c5", "t4", "system:y", "user:something else", "reply:c4", "user:and now?")
    return {("c2", "context"), ("c3", "derived")}


@scenario
def a_fork_knows_what_was_said_before_it_left(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.call("c2", "t2", "user:go", "reply:c1", "user:look")
    talk.ran("web", "t2", by="c2", **UNVERIFIED)
    talk.call("c3", "t2", "user:go", "reply:c1", "user:look", "reply:c2", "result:web")
    talk.call("early", "t3", "user:go", "reply:c1", "user:do not look", lineage="early fork")
    talk.call("late", "t4", "user:go", "reply:c1", "user:look", "reply:c2", "result:web", "user:and?", lineage="late fork")
    talk.call("reply", "t5", "user:go", "reply:c3", "user:why?", lineage="fork without the result")
    return {("c3", "context"), ("late", "context"), ("reply", "derived")}


@scenario
def a_process_that_resumes_goes_on_with_what_the_one_before_knew(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("web", "t1", by="c1", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:web")
    talk.call("c3", "t2", "user:go", "reply:c1", "result:web", "reply:c2", "user:more")
    talk.call("again", "t3", "user:go", "reply:c2", "user:more", lineage="resumed", knows=False)
    return {("c2", "context"), ("c3", "context"), ("again", "derived")}


@scenario
def a_result_that_comes_after_the_context_was_cleared_brings_the_influence_back(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("web", "t1", by="c1", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:web")
    talk.call("c3", "t2", "user:something else")
    talk.ran("slow", "t2", by="c2")
    talk.call("c4", "t2", "user:something else", "reply:c3", "result:slow")
    return {("c2", "context"), ("slow", "context"), ("c4", "derived")}


@scenario
def what_an_agent_inside_of_a_tool_call_fetches_taints_the_result_of_that_call(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("research", "t1", by="c1")
    talk.span("inner agent", talk.session, "t1", inside="research", operation="invoke_agent")
    talk.call("i1", "t1", "user:look it up", lineage="inner", inside="inner agent")
    talk.ran("web", "t1", by="i1", inside="inner agent", **UNVERIFIED)
    talk.call("i2", "t1", "user:look it up", "reply:i1", "result:web", lineage="inner", inside="inner agent")
    talk.call("c2", "t1", "user:go", "reply:c1", "result:research")
    return {("i2", "context"), ("c2", "derived")}


@scenario
def the_task_of_an_agent_inside_of_a_tool_call_carries_what_its_asker_knew(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("web", "t1", by="c1", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:web")
    talk.ran("delegate", "t1", by="c2")
    talk.call("i1", "t1", "user:do this", lineage="inner", inside="delegate")
    talk.ran("inner tool", "t1", by="i1", inside="delegate")
    talk.span("fact", talk.session, "t1", inside="delegate", commit_kind="note", delta=[change("fact", "f", "42")])
    return {
        ("c2", "context"),
        ("delegate", "context"),
        ("i1", "derived"),
        ("inner tool", "derived"),
        ("fact", "context"),
    }


@scenario
def a_tool_inside_of_a_tool_taints_the_result_that_is_seen(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("outer", "t1", by="c1")
    talk.span("library", talk.session, "t1", inside="outer")
    talk.ran("web", "t1", inside="library", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:outer")
    return {("c2", "context")}


@scenario
def a_file_carries_what_its_last_writer_knew(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("download", "t1", touch("create", "page.html"), touch("write", "kept.txt"), by="c1", **UNVERIFIED)
    talk.call("c2", "t2", "user:write a poem")
    talk.ran("rewrite", "t2", touch("write", "kept.txt"), by="c2")
    talk.call("c3", "t3", "user:read both")
    talk.ran("read kept", "t3", touch("read", "kept.txt"), by="c3")
    talk.call("c4", "t3", "user:read both", "reply:c3", "result:read kept")
    talk.ran("read page", "t3", touch("read", "page.html"), by="c4")
    talk.call("c5", "t3", "user:read both", "reply:c3", "result:read kept", "reply:c4", "result:read page")
    return {("c5", "context")}


@scenario
def spans_that_share_an_id_end_no_question_in_a_loop(talk: Talk) -> Truth:
    talk.call("c1", "t1", "user:go")
    talk.ran("outer", "t1", by="c1")
    talk.span("library", talk.session, "t1", inside="outer")
    twin = {"trace_id": talk._traces["outer"], "span_id": talk.spans["library"], "parent_id": talk.spans["library"]}
    talk.row(record="end", session_id=talk.session, turn_id="t1", name="twin", start_ns=START, end_ns=START, **twin)
    talk.ran("web", "t1", inside="library", **UNVERIFIED)
    talk.call("c2", "t1", "user:go", "reply:c1", "result:outer")
    return {("c2", "context")}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Truth, Truth]]:
    """Every scenario in one store: what is true of it, and what turnlog says."""
    settings = Settings(directory=Path(tmp_path_factory.mktemp("scenarios")))
    talks = [Talk(settings, name, after=1000 * number) for number, name in enumerate(SCENARIOS)]
    truth = {talk.session: SCENARIOS[talk.session](talk) for talk in talks}
    for talk in talks:
        talk.writer.close()
    with Store(settings).reading() as db:
        rows = Answers(db, *talks)("select session_id, commit_id, how from contamination")
    return {name: (truth[name], {(commit, how) for session, commit, how in rows if session == name}) for name in SCENARIOS}


@pytest.mark.parametrize("claim", SCENARIOS)
def test_influence_is_followed(claim: str, played: dict[str, tuple[Truth, Truth]]) -> None:
    truth, found = played[claim]
    assert found == truth


class Gossip:
    """A random session, and beside it who is built on what, by following every message from context to context."""

    def __init__(self, talk: Talk, seed: int) -> None:
        self._talk = talk
        self._random = random.Random(seed)
        self._contexts: list[list[str]] = [[]]
        self._waiting: list[str] = []
        self._asker: dict[str, str] = {}
        self._held: dict[str, set[str]] = {}
        self._writer: dict[str, str] = {}
        self._sources: set[str] = set()
        self.knows: dict[str, set[str]] = {}

    def call(self, step: int) -> None:
        pick = self._random
        lineage = pick.randrange(len(self._contexts))
        context = self._contexts[lineage]
        if len(context) > 3 and pick.random() < 0.2:
            self._contexts.append(context[: pick.randrange(1, len(context))])
            lineage, context = len(self._contexts) - 1, self._contexts[-1]
        elif pick.random() < 0.4:
            context = [message for message in context if pick.random() < pick.choice((0.0, 0.5, 0.9))]
        late = [result for result in self._waiting if pick.random() < 0.8]
        self._waiting = [result for result in self._waiting if result not in late]
        context = [*context, *(f"result:{result}" for result in late), f"user:{step}"]
        call = f"call{step}"
        self._talk.call(call, f"t{step}", *context, lineage=f"lineage{lineage}")
        self.knows[call] = set().union(*(self._carries(message) for message in context))
        self._contexts[lineage] = [*context, f"reply:{call}"] if pick.random() < 0.8 else context
        for number in range(pick.choice((0, 0, 1, 1, 2))):
            self._tool(f"tool{step}.{number}", f"t{step}", call)

    def _tool(self, tool: str, turn: str, call: str) -> None:
        pick = self._random
        path, action = f"file{pick.randrange(3)}", pick.choice(("read", "write", "none", "none"))
        touches = [] if action == "none" else [touch(action, path)]
        is_source = pick.random() < 0.3
        self._talk.ran(tool, turn, *touches, by=call, **(UNVERIFIED if is_source else {}))
        self.knows[tool] = self.knows[call]
        self._held[tool] = self.knows[call] | ({tool} if is_source else set())
        if action == "read" and path in self._writer:
            self._held[tool] |= self._held_by_file(path)
        if action == "write":
            self._writer[path] = tool
            self._asker[tool] = call
        self._sources |= {tool} if is_source else set()
        self._waiting.append(tool)

    def _held_by_file(self, path: str) -> set[str]:
        writer = self._writer[path]
        return self.knows[self._asker[writer]] | ({writer} if writer in self._sources else set())

    def _carries(self, message: str) -> set[str]:
        kind, _, label = message.partition(":")
        return self.knows[label] if kind == "reply" else self._held[label] if kind == "result" else set()


def gossip(talk: Talk, seed: int) -> Truth:
    told = Gossip(talk, seed)
    for step in range(60):
        told.call(step)
    return {(source, commit) for commit, sources in told.knows.items() for source in sources}


@pytest.fixture(scope="module")
def overheard(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Truth, list[tuple[str, str]]]]:
    """Random sessions in one store: the pairs of source and commit that are true, and those that turnlog gives."""
    settings = Settings(directory=Path(tmp_path_factory.mktemp("random")))
    talks = [Talk(settings, f"seed {seed}", after=10_000 * seed) for seed in range(8)]
    truth = {talk.session: gossip(talk, seed) for seed, talk in enumerate(talks)}
    for talk in talks:
        talk.writer.close()
    with Store(settings).reading() as db:
        rows = Answers(db, *talks)("select session_id, source_commit, commit_id from contamination")
    return {name: (truth[name], [row[1:] for row in rows if row[0] == name]) for name in truth}


@pytest.mark.parametrize("seed", range(8))
def test_random_sessions_are_followed_message_by_message(seed: int, overheard: dict[str, tuple[Truth, list[Any]]]) -> None:
    truth, found = overheard[f"seed {seed}"]
    assert len(found) == len(set(found)) > 20
    assert set(found) == truth
