"""Values and exceptions as JSON, and back: exactly, or not at all.

Records come from other machines too: nothing is imported and no constructor of a class is called. A class is only looked
up where it is loaded already, and its fields are put in place. What cannot be given back like this is refused when it is
recorded, by the name of its type.
"""

from __future__ import annotations

import base64
import builtins
import contextlib
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import sys
import uuid
from collections.abc import Callable
from typing import Any

Json = Any

_KIND = "$"
_DEEPEST = 100
# What orjson writes as a number.
_LEAST, _MOST = -(2**63), 2**63 - 1
# Classes of frameworks that are nothing but their slots.
_SLOTTED = {"langgraph.types:Send"}


class NotRepresentable(Exception):
    """Says which type cannot be given back."""


def to_json(value: object, depth: int = 0) -> Json:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if depth > _DEEPEST:
        raise NotRepresentable("a value that is nested too deep")
    write = _WRITERS.get(kind) or _writer_of(value)
    if write is None:
        raise NotRepresentable(type_name(kind))
    return write(value, depth + 1)


def from_json(found: Json) -> Any:
    if isinstance(found, list):
        return [from_json(item) for item in found]
    if not isinstance(found, dict):
        return found
    if _KIND not in found:
        return {key: from_json(item) for key, item in found.items()}
    return _READERS[found[_KIND]](found)


def error_to_json(error: Exception, depth: int = 0) -> Json:
    """An exception by its type, its arguments and what it carries; the message stands for arguments that cannot be written."""
    message = str(error)
    try:
        # Its own arguments are not all that a file's error was made of.
        args = [to_json(arg, depth) for arg in _builtin(type(error)).__reduce__(error)[1]]
    except NotRepresentable:
        args = [message]
    carried: dict[str, Json] = {}
    for name, value in vars(error).items():
        try:
            carried[name] = to_json(value, depth)
        except NotRepresentable:
            continue
    kind, base = _name_at(type(error)), _builtin(type(error)).__name__
    return {_KIND: "error", "type": kind, "base": base, "message": _text(message), "args": args, "carried": carried}


def error_from_json(found: Json) -> Exception:
    """The same exception. One whose class is not there, or reads differently now, has one made of the same name and base."""
    message = found["message"]
    # A class that cannot be filled like this is as good as absent.
    with contextlib.suppress(Exception):
        error = _rebuilt(_class_at(found["type"]), found)
        if str(error) == message:
            return error
    with contextlib.suppress(Exception):
        return _rebuilt(_stand_in(found, getattr(builtins, found["base"])), found)
    lost: Exception = _stand_in(found, Exception)(message)
    return lost


def _stand_in(found: Json, base: type) -> type:
    module, _, name = found["type"].partition(":")
    own = {"__module__": module, "__qualname__": name, "__str__": lambda self: found["message"]}
    return type(name.rpartition(".")[2], (base,), own)


def type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _rebuilt(kind: type, found: Json) -> Exception:
    if not issubclass(kind, Exception):
        raise TypeError(found["type"])
    args = [from_json(arg) for arg in found["args"]]
    base = _builtin(kind)
    error: Exception = base.__new__(kind, *args)
    base.__init__(error, *args)
    vars(error).update({name: from_json(value) for name, value in found["carried"].items()})
    return error


def _builtin(kind: type) -> Any:
    """The nearest built-in class, which is the only one to keep anything out of sight: an errno, a position."""
    return next(each for each in kind.__mro__ if each.__module__ == "builtins")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotRepresentable("text that is no Unicode") from None
    return value


def _integer(value: int) -> Json:
    return value if _LEAST <= value <= _MOST else {_KIND: "int", "v": hex(value)}


def _float(value: float) -> Json:
    return value if math.isfinite(value) else {_KIND: "float", "v": repr(value)}


def _mapping(value: dict[Any, Any], depth: int) -> Json:
    if _KIND not in value and all(type(key) is str for key in value):
        return {_text(key): to_json(item, depth) for key, item in value.items()}
    return {_KIND: "dict", "v": [[to_json(key, depth), to_json(item, depth)] for key, item in value.items()]}


def _items(value: Any, depth: int) -> list[Json]:
    return [to_json(item, depth) for item in value]


def _moment(value: datetime.datetime) -> str:
    if value.tzinfo is not None and type(value.tzinfo) is not datetime.timezone:
        raise NotRepresentable(type_name(type(value.tzinfo)))
    return value.isoformat()


def _tagged(kind: str, write: Callable[[Any], str]) -> Callable[[Any, int], Json]:
    return lambda value, depth: {_KIND: kind, "v": write(value)}


_WRITERS: dict[type, Callable[[Any, int], Json]] = {
    str: lambda value, depth: _text(value),
    int: lambda value, depth: _integer(value),
    float: lambda value, depth: _float(value),
    list: _items,
    dict: _mapping,
    tuple: lambda value, depth: {_KIND: "tuple", "v": _items(value, depth)},
    # In the order of their texts, because that of a set differs from process to process.
    set: lambda value, depth: {_KIND: "set", "v": _items(sorted(value, key=repr), depth)},
    frozenset: lambda value, depth: {_KIND: "frozenset", "v": _items(sorted(value, key=repr), depth)},
    bytes: _tagged("bytes", lambda value: base64.b64encode(value).decode()),
    decimal.Decimal: _tagged("decimal", str),
    uuid.UUID: _tagged("uuid", str),
    datetime.datetime: _tagged("datetime", _moment),
    datetime.date: _tagged("date", datetime.date.isoformat),
    type(pathlib.Path()): _tagged("path", str),
}


def _writer_of(value: object) -> Callable[[Any, int], Json] | None:
    """For instances of classes that can be filled without their own code."""
    kind = type(value)
    if isinstance(value, enum.Enum):
        # Flags that are combined have no name of their own.
        is_member = type(value).__members__.get(value.name) is value
        return (lambda value, depth: {_KIND: "enum", "type": _address(kind), "v": value.name}) if is_member else None
    if isinstance(value, Exception):
        return error_to_json
    if _is_model(kind):
        return _model
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return _named_tuple
    # A text or a list keeps more than its fields.
    is_plain = not any(base.__module__ == "builtins" for base in kind.__mro__[:-1])
    return _data if is_plain and _fields_of(kind) is not None else None


def _fields_of(kind: type) -> tuple[str, ...] | None:
    """What an object of a class is made of, if that is known."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return getattr(kind, "__slots__", None) if _name_at(kind) in _SLOTTED else None


def _data(value: Any, depth: int) -> Json:
    kind = type(value)
    fields = {name: to_json(getattr(value, name), depth) for name in _fields_of(kind) or ()}
    # Typing's own note of `Class[int](…)` is no part of the value.
    if more := sorted(_held_by(value) - fields.keys() - {"__orig_class__"}):
        raise NotRepresentable(f"{type_name(kind)} with {more[0]}, which is no field")
    return {_KIND: "data", "type": _address(kind), "v": fields}


def _held_by(value: Any) -> set[str]:
    """The names of all that an object holds."""
    slots = {name for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ()) if hasattr(value, name)}
    return (slots | getattr(value, "__dict__", {}).keys()) - {"__dict__", "__weakref__"}


def _named_tuple(value: Any, depth: int) -> Json:
    return {_KIND: "named tuple", "type": _address(type(value)), "v": _items(value, depth)}


def _model(value: Any, depth: int) -> Json:
    return {
        _KIND: "model",
        "type": _address(type(value)),
        "v": to_json(dict(vars(value)), depth),
        "set": sorted(value.__pydantic_fields_set__),
        "extra": to_json(value.__pydantic_extra__, depth),
        "private": to_json(value.__pydantic_private__, depth),
    }


def _is_model(kind: type) -> bool:
    return "pydantic" in sys.modules and issubclass(kind, sys.modules["pydantic"].BaseModel)


def _name_at(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _address(kind: type) -> str:
    address = _name_at(kind)
    if _class_at(address) is not kind:
        raise NotRepresentable(type_name(kind))
    return address


def _class_at(address: str) -> type:
    """A class that is loaded; nothing is imported for it."""
    module, _, path = address.partition(":")
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = vars(found).get(name) if found is not None else None
    if not isinstance(found, type):
        raise NotRepresentable(address.replace(":", "."))
    return found


def _read_data(found: Json) -> Any:
    kind = _class_at(found["type"])
    fields = _fields_of(kind)
    if fields is None:
        raise NotRepresentable(found["type"])
    if found["v"].keys() != set(fields):
        raise NotRepresentable(f"{type_name(kind)} with the fields of then")
    value: Any = object.__new__(kind)
    for name in fields:
        object.__setattr__(value, name, from_json(found["v"][name]))
    return value


def _read_named_tuple(found: Json) -> Any:
    kind = _class_at(found["type"])
    if not issubclass(kind, tuple):
        raise NotRepresentable(found["type"])
    return tuple.__new__(kind, from_json(found["v"]))


def _read_model(found: Json) -> Any:
    kind = _class_at(found["type"])
    if not _is_model(kind):
        raise NotRepresentable(found["type"])
    value: Any = object.__new__(kind)
    state = {
        "__dict__": from_json(found["v"]),
        "__pydantic_fields_set__": set(found["set"]),
        "__pydantic_extra__": from_json(found["extra"]),
        "__pydantic_private__": from_json(found["private"]),
    }
    sys.modules["pydantic"].BaseModel.__setstate__(value, state)
    return value


def _read_enum(found: Json) -> Any:
    kind = _class_at(found["type"])
    if not issubclass(kind, enum.Enum):
        raise NotRepresentable(found["type"])
    if found["v"] not in kind.__members__:
        raise NotRepresentable(f"{type_name(kind)}.{found['v']}")
    return kind.__members__[found["v"]]


_READERS: dict[str, Callable[[Json], Any]] = {
    "int": lambda found: int(found["v"], 16),
    "float": lambda found: float(found["v"]),
    "dict": lambda found: {from_json(key): from_json(item) for key, item in found["v"]},
    "tuple": lambda found: tuple(from_json(found["v"])),
    "set": lambda found: set(from_json(found["v"])),
    "frozenset": lambda found: frozenset(from_json(found["v"])),
    "bytes": lambda found: base64.b64decode(found["v"]),
    "decimal": lambda found: decimal.Decimal(found["v"]),
    "uuid": lambda found: uuid.UUID(found["v"]),
    "datetime": lambda found: datetime.datetime.fromisoformat(found["v"]),
    "date": lambda found: datetime.date.fromisoformat(found["v"]),
    "path": lambda found: pathlib.Path(found["v"]),
    "enum": _read_enum,
    "data": _read_data,
    "named tuple": _read_named_tuple,
    "model": _read_model,
    "error": error_from_json,
}
