"""Values and exceptions of tools: given back exactly, or refused by name; no code of a record's choice runs."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import math
import pathlib
import sys
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
import pytest
from anthropic.lib.tools import ToolError
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langgraph.types import Command, Send
from pydantic import BaseModel, PrivateAttr

from turnlog.operation import error_type
from turnlog.replay.values import NotRepresentable, error_from_json, error_to_json, from_json, to_json


class Colour(enum.Enum):
    RED = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Found:
    where: pathlib.Path
    lines: tuple[int, ...] = ()


@dataclass
class Careful:
    value: int
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        raise AssertionError("a constructor ran")


class Weather(BaseModel):
    city: str
    degrees: float = 0.0
    _source: str = PrivateAttr(default="nowhere")


class QuotaError(Exception):
    def __init__(self, used: int, of: int) -> None:
        super().__init__(f"{used} of {of}")
        self.used = used


def there_and_back(value: Any) -> Any:
    return from_json(orjson.loads(orjson.dumps(to_json(value))))


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -1, 2**63 - 1, 2**200, -(2**70), 1.5, -0.0, 1e300, math.inf, "", "text ✓", '{"a": 1}'),
        *([], {}, [1, [2, {"a": None}]], {"b": 1, "a": 2}, {1: "x", (1, 2): "y"}, {"$": "tuple", "v": [1]}),
        *((), (1, (2, "x")), {1, 2}, frozenset({"a"}), b"\x00\xff", Point(1, 2), Colour.RED, Right.WRITE),
        *(decimal.Decimal("1.10"), uuid.UUID(int=7), pathlib.Path("/a/b"), datetime.date(2026, 1, 2)),
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC),
        Found(pathlib.Path("a"), (1, 2)),
        Weather(city="Oslo"),
        ToolMessage("done", tool_call_id="c1", artifact={"raw": (1, 2)}, status="error"),
        [Document("text", metadata={"page": 1})],
        Command(update={"messages": [ToolMessage("moved", tool_call_id="c1")]}, goto=[Send("next", {"n": 1})]),
    ],
    ids=repr,
)
def test_a_value_comes_back_equal_and_of_the_same_type(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_what_is_no_number_comes_back_as_none() -> None:
    assert math.isnan(there_and_back(math.nan))


def test_private_attributes_and_what_was_set_come_back() -> None:
    given = Weather(city="Oslo")
    given._source = "sky"
    back = there_and_back(given)
    assert (back._source, back.model_fields_set) == ("sky", {"city"})


def test_no_constructor_runs() -> None:
    given = object.__new__(Careful)
    given.value, given.log = 1, ["x"]
    back = there_and_back(given)
    assert (back.value, back.log) == (1, ["x"])


def noted() -> Careful:
    given = object.__new__(Careful)
    given.value, given.log, given.seen = 1, [], True  # type: ignore[attr-defined]
    return given


def local() -> Any:
    @dataclass
    class Inner:
        x: int

    return Inner(1)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (object(), "object"),
        ([1, {"a": collections.OrderedDict()}], "collections.OrderedDict"),
        (iter([1]), "list_iterator"),
        (local(), rf"{__name__}\.local\.<locals>\.Inner"),
        (noted(), rf"{__name__}\.Careful with seen, which is no field"),
        (Right.READ | Right.WRITE, rf"{__name__}\.Right"),
        (Right(0), rf"{__name__}\.Right"),
        ("\ud800", "text that is no Unicode"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_come_back_is_refused_by_name(value: Any, name: str) -> None:
    with pytest.raises(NotRepresentable, match=f"^{name}$"):
        to_json(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    around: list[Any] = []
    around.append(around)
    with pytest.raises(NotRepresentable, match="nested too deep"):
        to_json(around)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such city"),
        KeyError("x"),
        TimeoutError("slow did not finish within 1 s"),
        FileNotFoundError(2, "No such file or directory", "/nowhere"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        QuotaError(9, 8),
        ToolError([{"type": "text", "text": "structured"}]),
        ExceptionGroup("two", [ValueError("a"), QuotaError(1, 2)]),
        ValueError(object),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_comes_back_with_its_type_message_and_what_it_carries(error: Exception) -> None:
    back = error_from_json(orjson.loads(orjson.dumps(error_to_json(error))))
    assert (type(back), str(back)) == (type(error), str(error))
    assert repr(vars(back)) == repr(vars(error))
    assert getattr(back, "errno", None) == getattr(error, "errno", None)


def test_an_exception_whose_class_is_not_there_has_one_of_the_same_name() -> None:
    class GoneError(QuotaError): ...

    back = error_from_json(error_to_json(GoneError(9, 8)))
    assert type(back) is not GoneError
    assert (error_type(back), str(back)) == (error_type(GoneError(9, 8)), "9 of 8")


class GoneFileError(FileNotFoundError): ...


def test_an_exception_whose_class_is_not_there_is_caught_as_the_built_in_that_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    found = error_to_json(GoneFileError(2, "gone", "/nowhere"))
    monkeypatch.delattr(sys.modules[__name__], "GoneFileError")
    back = error_from_json(orjson.loads(orjson.dumps(found)))
    assert isinstance(back, FileNotFoundError)
    assert (type(back).__name__, str(back), back.errno) == ("GoneFileError", "[Errno 2] gone: '/nowhere'", 2)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ({"$": "data", "type": f"{__name__}:Found", "v": {"where": "a"}}, "Found with the fields of then"),
        ({"$": "enum", "type": f"{__name__}:Colour", "v": "BLUE"}, "Colour.BLUE"),
    ],
)
def test_a_class_that_has_changed_since_is_refused_by_name(found: dict[str, Any], name: str) -> None:
    with pytest.raises(NotRepresentable, match=f"^{__name__}.{name}$"):
        from_json(found)


@pytest.mark.parametrize("address", ["os:system", "subprocess:Popen", "builtins:eval", "threading:Thread", "sys:exit"])
@pytest.mark.parametrize("kind", ["data", "model", "enum", "named tuple"])
def test_a_record_names_no_class_but_those_made_of_fields(address: str, kind: str) -> None:
    with pytest.raises(NotRepresentable):
        from_json({"$": kind, "type": address, "v": {}, "set": [], "extra": None, "private": None})


def test_a_record_imports_nothing() -> None:
    sys.modules.pop("antigravity", None)
    with pytest.raises(NotRepresentable):
        from_json({"$": "data", "type": "antigravity:Thing", "v": {}})
    assert "antigravity" not in sys.modules
