from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from turnlog.content import ContentPolicy
from turnlog.derive.context import STRIDE, Course, Item, Seen, align, places
from turnlog.derive.lineage import Lineages
from turnlog.derive.sight import Ask, Match, Sight
from turnlog.operation import Messages
from turnlog.settings import Settings

Message = Mapping[str, Any]
POLICY = ContentPolicy(Settings(directory=Path("unused")))
SYSTEM = {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}


def user(text: str) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def says(text: str) -> Message:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def asks(call_id: str, tool: str = "read_file", **arguments: Any) -> Message:
    part = {"type": "tool_call", "id": call_id, "name": tool, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text}]}


def message_key(message: Message) -> str:
    return f"message:{POLICY.hash(message).partition(':')[2][:16]}"


class Calls:
    """Model calls of one process, one after the other; spans are numbered."""

    def __init__(self) -> None:
        self.lineages = Lineages(POLICY)
        self.count = 0

    def __call__(self, context: Sequence[Message], reply: Message | None = None, session: str = "", **more: Any) -> Sight:
        return self.end(self.start(context, session, **more), reply)

    def match(self, context: Sequence[Message], session: str = "", **more: Any) -> Match:
        return self.lineages.match(context, session=session, **more)

    def start(self, context: Sequence[Message], session: str = "", **more: Any) -> Sight:
        self.count += 1
        match = self.match(context, session, **more)
        return self.lineages.advance(match, session or match.session or f"session {self.count}", f"span {self.count}")

    def end(self, sight: Sight, reply: Message | None, response_id: str = "") -> Sight:
        self.lineages.replied(sight, [reply] if reply else [], f"span {self.count}", response_id, None)
        return sight


@pytest.fixture
def call() -> Calls:
    return Calls()


LONG = [SYSTEM, user("one"), says("1"), user("two"), says("2"), user("three")]


def long_talk(call: Calls, session: str = "") -> Sight:
    for end in (2, 4):
        call(LONG[:end], LONG[end], session)
    return call(LONG, says("3"), session)


def test_a_context_that_extends_a_known_one_continues_its_session_and_adds_only_what_is_new(call: Calls) -> None:
    first = call(LONG[:2], says("1"))
    second = call(LONG[:4], says("2"))
    assert (second.lineage.session, second.lineage.id) == (first.lineage.session, first.lineage.id)
    assert [(item.role, item.origin) for item, _ in second.added] == [("assistant", "span 1"), ("user", "")]
    assert (second.gone, second.evicted, second.length) == ([], [], 4)


def test_an_unrelated_context_is_a_session_of_its_own(call: Calls) -> None:
    assert call([SYSTEM, user("one")]).lineage.session != call([SYSTEM, user("two")]).lineage.session


def test_the_same_opening_words_are_two_conversations_which_their_answers_tell_apart(call: Calls) -> None:
    one, other = call.start([user("hi")]), call.start([user("hi")])
    assert one.lineage.session != other.lineage.session
    for sight, answer in ((one, "Hello."), (other, "Good day.")):
        call.end(sight, says(answer))
    assert call([user("hi"), says("Hello."), user("a")]).lineage is one.lineage
    assert call([user("hi"), says("Good day."), user("b")]).lineage is other.lineage


def test_conversations_that_are_alike_word_for_word_are_told_apart_by_their_callers(call: Calls) -> None:
    one = call.end(call.start([user("hi")], caller=1), says("Hello."))
    other = call.end(call.start([user("hi")], caller=2), says("Hello."))
    context = [user("hi"), says("Hello."), user("more")]
    assert call.match(context, caller=1).lineage is one.lineage
    assert call.match(context, caller=2).lineage is other.lineage


def test_an_opening_that_failed_is_tried_again_in_its_session(call: Calls) -> None:
    first = call([user("hi")], None)
    again = call([user("hi")], says("Hello."))
    assert (again.lineage.session, again.repeats, again.attempt) == (first.lineage.session, "span 1", 2)


@pytest.mark.parametrize(
    ("context", "left", "reason"),
    [
        ([SYSTEM, *LONG[3:], says("3"), user("four")], LONG[1:3], "trimmed"),
        ([*LONG[:3], *LONG[5:], says("3"), user("four")], LONG[3:5], "trimmed"),
        ([SYSTEM, user("Summary: 1, 2."), LONG[5], says("3"), user("four")], LONG[1:5], "summarised"),
        ([SYSTEM, user("Summary: 1, 2, 3."), says("3"), user("four")], LONG[1:], "summarised"),
        ([SYSTEM, says("3"), user("four")], LONG[1:], "trimmed"),
    ],
    ids=["head", "middle", "summary", "summary of all but the answer", "all but the answer"],
)
def test_what_a_context_no_longer_has_was_evicted(
    call: Calls, context: list[Message], left: list[Message], reason: str
) -> None:
    before = long_talk(call)
    sight = call(context)
    assert sight.lineage is before.lineage
    assert (sight.evicted, sight.reason) == ([message_key(message) for message in left], reason)


def test_within_a_session_a_summary_may_replace_everything(call: Calls) -> None:
    long_talk(call, "s")
    sight = call([SYSTEM, user("Summary of all."), user("four")], session="s")
    assert (sight.evicted, sight.reason) == ([message_key(message) for message in LONG[1:]], "summarised")


def test_an_agent_that_is_shown_only_its_input_has_lost_the_rest_and_a_router_has_not(call: Calls) -> None:
    long_talk(call, "s")
    router = call([SYSTEM, user("Classify: four")], says("question"), "s", turn_input=POLICY.hash("four"))
    assert router.evicted == []
    agent = call([SYSTEM, user("four")], says("4"), "s", turn_input=POLICY.hash("four"))
    assert (agent.evicted, agent.reason) == ([message_key(message) for message in LONG[1:]], "trimmed")


def test_another_talk_under_the_same_instructions_evicts_nothing(call: Calls) -> None:
    long_talk(call, "s")
    assert call([SYSTEM, user("b1"), says("said elsewhere"), user("b2")], says("b"), "s").evicted == []


def test_another_agent_in_the_session_evicts_nothing(call: Calls) -> None:
    long_talk(call, "s")
    other = {"role": "system", "parts": [{"type": "text", "content": "You review."}]}
    sight = call([other, user("Review this."), user("And this.")], session="s")
    assert (sight.evicted, sight.length) == ([], 3)
    assert call([*LONG, says("3"), user("four")], session="s").evicted == []


def test_changed_instructions_are_neither_an_eviction_nor_another_conversation(call: Calls) -> None:
    before = long_talk(call)
    changed = {"role": "system", "parts": [{"type": "text", "content": "Be verbose."}]}
    sight = call([changed, *LONG[1:], says("3"), user("four")])
    assert (sight.lineage, sight.evicted) == (before.lineage, [])
    assert [item.role for item in sight.gone] == ["system"]
    assert sight.prefix_hash == call([SYSTEM, *LONG[1:], says("3"), user("four")]).prefix_hash


@pytest.mark.parametrize(
    "context",
    [[*LONG[:5], user("edited")], [*LONG[:3], user("edited"), says("x"), user("y")], LONG[:4]],
    ids=["last input edited", "earlier input edited and talked on", "asked again"],
)
def test_leaving_the_path_at_a_user_message_is_a_fork_and_evicts_nothing(call: Calls, context: list[Message]) -> None:
    before = long_talk(call)
    sight = call(context)
    assert (sight.lineage.session, sight.evicted, sight.gone) == (before.lineage.session, [], [])
    assert sight.lineage is not before.lineage
    assert sight.length == len(context) == len(sight.added)
    assert call([*LONG, says("3"), user("four")]).lineage is before.lineage


def test_a_turn_asked_again_has_the_prefix_of_the_first_and_a_repeated_sentence_has_not(call: Calls) -> None:
    first = call([SYSTEM, user("go on")], says("1"))
    later = [SYSTEM, user("go on"), says("1"), user("go on")]
    again, once_more = call(later, says("2")), call(later, says("3"))
    assert first.prefix_hash != again.prefix_hash == once_more.prefix_hash
    assert (again.repeats, once_more.repeats, once_more.attempt) == ("", "span 2", 2)


class ToolTalk(list[Message]):
    """A user's wish, two tool calls and their results."""

    def __init__(self) -> None:
        super().__init__([SYSTEM, user("Look at both."), asks("c1", path="a.py"), result("c1", "A = 1")])
        self.extend([asks("c2", path="b.py"), result("c2", "B = 2")])


def tool_talk(call: Calls) -> list[Message]:
    talk = ToolTalk()
    call(talk[:2], talk[2])
    call(talk[:4], talk[4])
    call(talk, says("Both are fine."))
    return [*talk, says("Both are fine."), user("Go on.")]


def test_a_cleared_tool_result_is_evicted_and_what_its_call_names_is_not(call: Calls) -> None:
    talk = tool_talk(call)
    talk[3] = result("c1", "[cleared]")
    sight = call(talk)
    assert (sight.evicted, sight.reason) == (["result:c1"], "cleared")
    assert [item.at for item in sight.lineage.items] == sorted(item.at for item in sight.lineage.items)


def test_files_and_decisions_leave_with_the_messages_that_introduced_them_unless_they_are_restated(call: Calls) -> None:
    talk = tool_talk(call)
    sight = call([SYSTEM, user("Summary: b.py is fine, ./a.pyc and xa.py too."), *talk[6:]])
    assert sight.evicted == [
        message_key(talk[1]),
        message_key(talk[2]),
        "result:c1",
        message_key(talk[4]),
        "result:c2",
        "decision:span 1",
        "file:a.py",
        "decision:span 2",
    ]


def test_results_that_nobody_recorded_are_answers_once_and_claimed_ones_are_not(call: Calls) -> None:
    talk = ToolTalk()
    both = {"role": "assistant", "parts": [*talk[2]["parts"], *talk[4]["parts"]]}
    call(talk[:2], both)
    claimed = call.lineages.claim("", "read_file", "", {"path": "b.py"})
    assert claimed is not None and (claimed.call_id, claimed.decision) == ("c2", "span 1")
    context = [*talk[:2], both, talk[3], talk[5]]
    (answer,) = call(context, says("ok")).answers
    assert (answer.ask.call_id, answer.ask.tool, answer.result, answer.is_error) == ("c1", "read_file", "A = 1", None)
    assert call([*context, says("ok"), user("more")]).answers == []


def test_results_that_share_a_message_are_told_apart(call: Calls) -> None:
    talk = ToolTalk()
    both = {"role": "assistant", "parts": [*talk[2]["parts"], *talk[4]["parts"]]}
    results = {"role": "user", "parts": [*talk[3]["parts"], *talk[5]["parts"], {"type": "text", "content": "and?"}]}
    call(talk[:2], both)
    sight = call([*talk[:2], both, results], says("ok"))
    assert [(item.role, item.call) for item, _ in sight.added] == [
        ("assistant", ""),
        ("tool", "c1"),
        ("tool", "c2"),
        ("user", ""),
    ]
    cleared = {"role": "user", "parts": [{**results["parts"][0], "response": "[cleared]"}, *results["parts"][1:]]}
    assert call([*talk[:2], both, cleared, says("ok"), user("more")]).evicted == ["result:c1"]


def test_a_named_response_is_continued_with_what_the_server_keeps(call: Calls) -> None:
    first = call.end(call.start([user("one")]), says("1"), "resp_1")
    second = call.start([user("two")], previous_response="resp_1")
    call.end(second, says("2"), "resp_2")
    assert second.lineage is first.lineage
    assert [(item.role, item.origin) for item, _ in second.added] == [("assistant", "span 1"), ("user", "")]
    other = call.start([user("other")], previous_response="resp_1")
    assert (other.lineage.session, other.lineage is first.lineage, other.length) == (first.lineage.session, False, 3)
    unknown = call.start([user("three")], previous_response="resp_9")
    assert unknown.lineage.session != first.lineage.session


def test_messages_that_follow_a_session_of_the_server_continue_its_conversation(call: Calls) -> None:
    def follow(text: str) -> Sight:
        return call(Messages([user(text)], lambda raw: raw, follows=True), says(f"to {text}"), "conv_1")

    first, second = follow("one"), follow("two")
    assert (second.lineage, second.length) == (first.lineage, 3)


def test_a_forked_process_goes_on_under_a_lineage_of_its_own(call: Calls) -> None:
    before = long_talk(call)
    call.lineages.after_fork_in_child()
    sight = call([*LONG, says("3"), user("four")])
    assert (sight.lineage.session, sight.lineage.id == before.lineage.id) == (before.lineage.session, False)
    assert (len(sight.added), sight.evicted) == (8, [])


def test_a_message_that_is_changed_in_place_is_noticed(call: Calls) -> None:
    talk = tool_talk(call)
    raw = [dict(message) for message in talk]

    def context() -> Messages:
        return Messages(raw, lambda message: message, mark=lambda message: (message["role"], message["parts"]))

    call(context(), says("ok"))
    raw[3]["parts"] = result("c1", "[cleared]")["parts"]
    raw.extend([dict(says("ok")), dict(user("more"))])
    assert call(context()).evicted == ["result:c1"]


def test_many_conversations_are_forgotten_and_not_kept(call: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlog.derive.lineage_index._MOST_LINEAGES", 10)
    monkeypatch.setattr("turnlog.derive.lineage_index._MOST_COMPARED", 4)
    for number in range(50):
        call([user(f"question {number}")], says(f"answer {number}"))
    known = [call.match([user(f"question {n}"), says(f"answer {n}"), user("?")]).lineage is not None for n in range(50)]
    assert known == [False] * 40 + [True] * 10


def test_the_same_question_about_another_document_evicts_nothing(call: Calls) -> None:
    for name in "abc":
        sight = call([SYSTEM, user(f"document {name}"), user("Summarise it.")], says(f"about {name}"), "s")
        assert (sight.evicted, sight.length) == ([], 3)


def test_what_an_application_puts_into_a_models_mouth_does_not_join_conversations(call: Calls) -> None:
    sights = [call([SYSTEM, user("example"), says("like this"), user(name)], says(f"to {name}")) for name in "abc"]
    assert len({sight.lineage.session for sight in sights}) == 3


def test_two_answers_to_the_same_messages_are_two_paths(call: Calls) -> None:
    one, other = call.start([user("u")], "s"), call.start([user("u")], "s")
    call.end(one, says("x"))
    call.end(other, says("y"))
    call([user("u"), says("x"), user("more")], says("x2"), "s")
    assert call([user("u"), says("y"), user("else")], says("y2"), "s").evicted == []
    assert call([user("u"), says("x"), user("more"), says("x2"), user("on")], None, "s").evicted == []


def test_other_instructions_make_no_repetition(call: Calls) -> None:
    other = {"role": "system", "parts": [{"type": "text", "content": "You review."}]}
    call([SYSTEM, user("x")], says("a"), "s")
    assert call([other, user("x")], says("b"), "s").repeats == ""


def test_an_answer_that_the_application_trimmed_is_still_the_models(call: Calls) -> None:
    first = call([user("hi")], says("Hello.\n"))
    assert call([user("hi"), says("Hello."), user("more")]).lineage is first.lineage


def test_ids_that_come_again_in_another_conversation_claim_its_own_request(call: Calls) -> None:
    call([user("one")], asks("call_1", path="a.py"))
    call([user("two")], asks("call_1", path="b.py"))
    found = [call.lineages.claim("", "read_file", "call_1", {"path": path}) for path in ("a.py", "b.py")]
    assert [ask.decision for ask in found if ask] == ["span 1", "span 2"]


def test_the_only_request_that_waits_is_claimed_though_its_arguments_were_completed(call: Calls) -> None:
    call([user("one")], asks("c1", path="a.py"), "s")
    assert call.lineages.claim("s", "read_file", "", {"path": "a.py", "limit": 100}) is not None
    assert call.lineages.claim("s", "read_file", "", {"path": "a.py", "limit": 100}) is None


def test_a_call_that_was_asked_for_again_is_that_of_the_last_answer(call: Calls) -> None:
    call([user("one")], asks("never ran", path="a.py"), "s")
    twice = {"role": "assistant", "parts": [*asks("c1", path="a.py")["parts"], *asks("c2", path="a.py")["parts"]]}
    call([user("one"), says("hm"), user("again")], twice, "s")
    found = [call.lineages.claim("s", "read_file", "", {"path": "a.py"}) for _ in range(3)]
    assert [ask.call_id for ask in found if ask] == ["c1", "c2", "never ran"]


RESEARCHER = {"role": "system", "parts": [{"type": "text", "content": "You research."}]}


def running(call: Calls, call_id: str, tool: str = "research") -> Ask:
    ask = call.lineages.claim("s", tool, call_id, {})
    assert ask is not None
    return ask


@pytest.mark.parametrize("system", [[RESEARCHER], [SYSTEM], []], ids=["other instructions", "the same", "none"])
@pytest.mark.parametrize("before", [[], LONG[1:3], LONG[1:5]], ids=["first turn", "second turn", "third turn"])
def test_whoever_is_asked_the_users_own_words_inside_a_tool_call_is_another_than_who_asked_for_it(
    call: Calls, before: list[Message], system: list[Message]
) -> None:
    question = [SYSTEM, *before, user("Which?")]
    for end in range(2, len(question), 2):
        call(question[:end], question[end], "s")
    main = call(question, asks("c1", "research"), "s")
    ask = running(call, "c1")
    inner = call([*system, user("Which?")], asks("c2", "look"), "s", inside=[ask])
    looked = [*system, user("Which?"), asks("c2", "look"), result("c2", "ducks")]
    again = call(looked, says("Swans."), "s", inside=[ask])
    after = call([*question, asks("c1", "research"), result("c1", "Swans.")], says("Swans, he says."), "s")
    assert main.lineage is after.lineage is not inner.lineage
    assert inner.lineage is again.lineage
    assert [(each.evicted, each.gone, each.repeats) for each in (inner, again, after)] == [([], [], "")] * 3
    assert (inner.length, again.length, after.length) == (len(system) + 1, len(system) + 3, len(question) + 2)


def test_whoever_is_told_all_that_was_said_inside_a_tool_call_knows_who_said_it_and_goes_its_own_way(call: Calls) -> None:
    main = long_talk(call, "s")
    said = [*LONG, says("3"), user("four")]
    call(said, asks("c1", "research"), "s")
    inner = call([RESEARCHER, *said[1:]], None, "s", inside=[running(call, "c1")])
    again = call([RESEARCHER, *said[1:]], says("4"), "s", inside=[running(call, "c1")])
    assert main.lineage is not inner.lineage is again.lineage
    assert [item.origin for item in inner.lineage.items] == ["", "span 1", "", "span 2", "", "span 3", ""]
    assert (inner.evicted, inner.gone, again.repeats) == ([], [], "span 5")
    after = call([*said, asks("c1", "research"), result("c1", "4")], says("4."), "s")
    assert (after.lineage, after.evicted) == (main.lineage, [])


def test_a_tool_that_nobody_saw_run_and_that_asks_under_other_instructions_takes_nothing_from_who_waits_for_it(
    call: Calls,
) -> None:
    for before in (LONG[:1], LONG[:5]):
        question = [*before, user(f"Which of {len(before)}?")]
        main = call(question, asks(f"c{len(before)}", "research"), "s")
        inner = call([RESEARCHER, question[-1]], asks("look", "look"), "s")
        call([RESEARCHER, question[-1], asks("look", "look"), result("look", "ducks")], says("Swans."), "s")
        done = [asks(f"c{len(before)}", "research"), result(f"c{len(before)}", "Swans.")]
        after = call([*question, *done], says("Swans, he says."), "s")
        assert main.lineage is after.lineage is not inner.lineage
        assert (inner.evicted, after.evicted) == ([], [])


def items(*hashes: str) -> list[Item]:
    return [Item((place + 1) * STRIDE, digest, "assistant") for place, digest in enumerate(hashes)]


def seen(*hashes: str) -> list[Seen]:
    return [Seen(digest, "assistant", "", place) for place, digest in enumerate(hashes)]


def test_messages_are_kept_in_order_and_duplicates_are_not_taken_for_one_another() -> None:
    assert align(items("a", "b", "a", "c"), seen("a", "a", "c", "d")) == (Course.TRIMMED, [0, 2, 3, -1])
    assert align(items("a", "b", "c"), seen("a", "x", "c")) == (Course.SUMMARISED, [0, -1, 2])


def test_new_messages_fit_between_kept_ones_until_there_is_no_room() -> None:
    old = items("a", "b")
    first = places([0, -1, 1], old, 0, 2 * STRIDE, 0)
    assert first is not None and old[0].at < first[1] < old[1].at
    assert places([-1, -1], old, 2, 2 * STRIDE, 0) == [3 * STRIDE, 4 * STRIDE]
    crowded = [Item(STRIDE, "a", "user"), Item(STRIDE + 100, "b", "user")]
    assert places([0, -1, 1], crowded, 0, 2 * STRIDE, 0) is None
