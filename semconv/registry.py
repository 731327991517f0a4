"""Reads the registry below `model/`, with every ref and group resolved, for `generate.py`.

Refs to other registries are resolved against `upstream.yaml`; Weaver itself resolves them over the network.
Whether the files obey Weaver's rules is not asked here: `tests/test_semconv.py` does that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = "turnlog."
DUCKDB_TYPES = {"string": "VARCHAR", "int": "BIGINT", "double": "DOUBLE", "boolean": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    brief: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    key: str
    source: str
    type: str
    brief: str = ""
    column: str | None = None
    enum: Enum | None = None
    members: tuple[tuple[str, str], ...] = ()
    schema: dict[str, Any] | None = None

    @property
    def constant(self) -> str:
        return self.key.removeprefix(ROOT).replace(".", "_").upper()

    @property
    def group(self) -> str:
        first, second, *_ = self.key.split(".")
        return f"{first}.{second}" if first == "turnlog" else first

    @property
    def wire_type(self) -> str:
        return "string" if self.type == "enum" else self.type

    @property
    def column_type(self) -> str:
        if self.schema is not None:
            fields = ", ".join(f"{name} VARCHAR" for name in self.schema["items"]["properties"])
            return f"STRUCT({fields})[]"
        scalar = self.wire_type.removesuffix("[]")
        return DUCKDB_TYPES[scalar] + self.wire_type[len(scalar) :]


@dataclass(frozen=True, slots=True)
class Span:
    type: str
    kind: str
    name: str
    brief: str
    note: str
    levels: dict[str, str]


@dataclass(frozen=True, slots=True)
class Registry:
    schema_url: str
    description: str
    attributes: tuple[Attribute, ...]
    enums: tuple[Enum, ...]
    spans: tuple[Span, ...]


def read_registry(model: Path, upstream: Path) -> Registry:
    manifest = yaml.safe_load((model / "manifest.yaml").read_text())
    files = [yaml.safe_load(path.read_text()) for path in sorted(model.glob("*.yaml")) if path.name != "manifest.yaml"]
    attributes = (
        *(_own(definition, model) for file in files for definition in file.get("attributes", ())),
        *(
            _foreign(source, key, definition)
            for source, definitions in yaml.safe_load(upstream.read_text()).items()
            for key, definition in definitions.items()
        ),
    )
    groups = {group["id"]: group["attributes"] for file in files for group in file.get("attribute_groups", ())}
    spans = tuple(_span(definition, groups) for file in files for definition in file.get("spans", ()))
    _refuse_unknown_refs(attributes, spans)
    _refuse_clashing_constants(attributes)
    return Registry(manifest["schema_url"], manifest["description"], attributes, _enums(attributes), spans)


def _own(definition: dict[str, Any], model: Path) -> Attribute:
    annotations = definition.get("annotations", {})
    ours = annotations.get("turnlog", {})
    key, brief, type_ = definition["key"], definition["brief"], definition["type"]
    if isinstance(type_, dict):
        members = tuple((member["value"], member["brief"]) for member in type_["members"])
        enum = Enum(ours["enum"], brief, tuple(value for value, _ in members))
        return Attribute(key, "turnlog", "enum", brief, ours.get("column"), enum, members)
    schema_file = annotations.get("type", {}).get("json_schema")
    schema = json.loads((model / schema_file).read_text()) if schema_file else None
    return Attribute(key, "turnlog", type_, brief, ours.get("column"), schema=schema)


def _foreign(source: str, key: str, definition: dict[str, Any]) -> Attribute:
    values = tuple(definition.get("values", ()))
    enum = Enum(definition["enum"], f"Values of `{key}`.", values) if values else None
    return Attribute(key, source, definition["type"], column=definition.get("column"), enum=enum)


def _span(definition: dict[str, Any], groups: dict[str, Any]) -> Span:
    refs = _resolve(definition["attributes"], groups)
    return Span(
        type=definition["type"],
        kind=definition["kind"],
        name=definition["name"]["note"],
        brief=definition["brief"],
        note=definition.get("note", ""),
        levels={ref["ref"]: _level(ref["requirement_level"]) for ref in refs},
    )


def _resolve(refs: list[dict[str, Any]], groups: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for ref in refs:
        if "ref_group" in ref:
            yield from _resolve(groups[ref["ref_group"]], groups)
        else:
            yield ref


def _level(level: str | dict[str, str]) -> str:
    if isinstance(level, str):
        return level.replace("_", "-")
    [(name, condition)] = level.items()
    return f"{name.removeprefix('conditionally_')} {condition[0].lower()}{condition[1:].rstrip('.')}"


def _enums(attributes: tuple[Attribute, ...]) -> tuple[Enum, ...]:
    found = [attribute.enum for attribute in attributes if attribute.enum]
    for schema in (attribute.schema for attribute in attributes if attribute.schema):
        fields = schema["items"]["properties"].values()
        found += [Enum(field["title"], field["description"], tuple(field["enum"])) for field in fields if "enum" in field]
    enums: dict[str, Enum] = {}
    for enum in found:
        if enums.setdefault(enum.name, enum).values != enum.values:
            raise SystemExit(f"enum {enum.name} is defined twice, with different values")
    return tuple(enums.values())


def _refuse_unknown_refs(attributes: tuple[Attribute, ...], spans: tuple[Span, ...]) -> None:
    known = {attribute.key for attribute in attributes}
    for span in spans:
        if unknown := sorted(span.levels.keys() - known):
            raise SystemExit(f"span {span.type} refers to {', '.join(unknown)}, which no registry defines")


def _refuse_clashing_constants(attributes: tuple[Attribute, ...]) -> None:
    keys: dict[str, str] = {}
    for attribute in attributes:
        if other := keys.get(attribute.constant):
            raise SystemExit(f"{other} and {attribute.key} would both be the constant {attribute.constant}")
        keys[attribute.constant] = attribute.key
