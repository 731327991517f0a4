"""What the demo's user asks, and what its model says. Everything else in the demo happens for real.

The first version of the file has an endless loop, so the tests really time out; the model then finds the mistake.
"""

from turnlog.demo.scripted_model import Reply, ToolCall

MODEL = "scripted-coder"
REQUESTS = (
    "Write wordcount.py with a function count(text) that counts the words of a text.",
    "Test it.",
    "The texts get large. Is a plain dict still right?",
)
CHANGELOG_REQUEST = "One line for the changelog: counting now uses collections.Counter."

_ENDLESS = """\
def count(text):
    words = text.split()
    found = {}
    at = 0
    while at < len(words):
        found[words[at]] = found.get(words[at], 0) + 1
    return found
"""
_DICT = """\
def count(text):
    found = {}
    for word in text.split():
        found[word] = found.get(word, 0) + 1
    return found
"""
_COUNTER = """\
from collections import Counter


def count(text):
    return Counter(text.split())
"""
_TEST = """\
from wordcount import count

assert count("a b a") == {"a": 2, "b": 1}
print("1 test passed")
"""


def _write(path: str, content: str) -> ToolCall:
    return ToolCall("write_file", {"path": path, "content": content})


def _choose(choice: str, why: str, *alternatives: str) -> ToolCall:
    return ToolCall("choose", {"about": "how to count", "choice": choice, "why": why, "alternatives": list(alternatives)})


_RUN = ToolCall("run_tests", {"path": "test_wordcount.py"})

REPLIES = (
    Reply(
        "First the data structure.",
        tool_calls=[_choose("a plain dict", "nothing to import, easy to read", "collections.Counter")],
    ),
    Reply(
        "A dict of counts, filled in one loop over the words.", tool_calls=[_write("wordcount.py", _ENDLESS)], input_tokens=310
    ),
    Reply("wordcount.py is written.", input_tokens=420),
    Reply("A test for the simplest case.", tool_calls=[_write("test_wordcount.py", _TEST)], input_tokens=510),
    Reply("Now run it.", tool_calls=[_RUN], input_tokens=590),
    Reply(
        "The test did not finish: the while loop never advances `at`. I rewrite it as a for loop.",
        tool_calls=[_write("wordcount.py", _DICT)],
        input_tokens=680,
    ),
    Reply("Run the same test again.", tool_calls=[_RUN], input_tokens=800),
    Reply("The first version looped for ever; the second passes its test.", input_tokens=860),
    Reply(
        "I change my mind about the dict.",
        tool_calls=[_choose("collections.Counter", "it counts in C, and large texts make that matter", "a plain dict")],
        input_tokens=940,
    ),
    Reply("Counter replaces the loop.", tool_calls=[_write("wordcount.py", _COUNTER)], input_tokens=1030),
    Reply("The test must still pass.", tool_calls=[_RUN], input_tokens=1120),
    Reply("wordcount.py now uses Counter, and the test passes.", input_tokens=1180),
    Reply("Counting uses collections.Counter and stays fast on large texts.", input_tokens=40),
)
