"""Writes what the registry below `model/` defines: `src/turnlog/semconv.py` and the reference page `README.md`.

`--check` writes nothing and fails, naming each generated file that no longer says what the registry says.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from registry import ROOT, Attribute, Enum, Registry, read_registry

HERE = Path(__file__).resolve().parent
LINE = 128

MODULE = '''\
"""Names of the convention: attribute keys, enum values and the typed columns of the `spans` table.

Generated from semconv/model by semconv/generate.py; do not edit.
"""

from enum import StrEnum
from typing import NamedTuple

SCHEMA_URL = "{schema_url}"

{constants}


{enums}


class Column(NamedTuple):
    """An attribute that the `spans` table holds in a column of its own, and the column's DuckDB type."""

    key: str
    name: str
    type: str


COLUMNS = (
{columns}
)

# Every attribute that turnlog records with its type on the wire, and the enum of those that have one.
ATTRIBUTE_TYPES = {{
{types}
}}
ATTRIBUTE_VALUES: dict[str, type[StrEnum]] = {{
{values}
}}
'''

PAGE = """\
<!-- Generated from semconv/model by semconv/generate.py; do not edit. -->
# The turnlog convention

{description} Schema URL: `{schema_url}`.

Agents already emit spans for turns, model calls and tool calls. The convention adds to each which session and turn it
belongs to, and, when it changed the session's state, the *commit*: what went in, what came out, how it ended, and the
*delta* of typed entries. Everything is a span or a span attribute, so a user who exports only traces loses nothing.

- What OpenTelemetry already names is reused: see [Attributes of other registries](#attributes-of-other-registries).
  All of turnlog's own names begin with `{root}`.
- Hashes, keys and counts are always recorded. Summaries and reasons are redacted and capped, and absent when
  `TURNLOG_CAPTURE=none`. Whole messages, arguments and results are opt-in.
- `any` is recorded in structured form where the SDK supports it, as JSON text otherwise; readers accept both.
- A column means that the `spans` table of the store holds the attribute in a typed column of that name.

The source is an OpenTelemetry Weaver registry (`file_format: definition/2`) in [`model/`](model); all of it is in
development. `tests/test_semconv.py` holds it to Weaver's rules; `weaver registry check -r semconv/model --v2` itself
needs a network and has not been run on it yet.

## Spans

| span | kind | span name | what it is |
| --- | --- | --- | --- |
{spans}

## Attributes

Requirement levels name the spans above.

{own}

## Attributes of other registries

From the core and the GenAI conventions, as [the manifest](model/manifest.yaml) names them.

{foreign}

## The delta

`{root}commit.delta` is an array of objects, applied in order. Its JSON Schema is
[`delta.schema.json`](model/delta.schema.json).

| field | required | values | what it is |
| --- | --- | --- | --- |
{delta}
"""


def render_module(registry: Registry) -> str:
    attributes = registry.attributes
    groups = groupby(attributes, key=lambda attribute: attribute.group)
    return MODULE.format(
        schema_url=registry.schema_url,
        constants="\n\n".join("\n".join(f'{a.constant} = "{a.key}"' for a in group) for _, group in groups),
        enums="\n\n\n".join(_enum_class(enum) for enum in registry.enums),
        columns="\n".join(_column(attribute) for attribute in attributes if attribute.column),
        types="\n".join(f'    {a.constant}: "{a.wire_type}",' for a in attributes),
        values="\n".join(f"    {a.constant}: {a.enum.name}," for a in attributes if a.enum),
    )


def _enum_class(enum: Enum) -> str:
    members = "\n".join(f'    {value.upper()} = "{value}"' for value in enum.values)
    return f'class {enum.name}(StrEnum):\n    """{enum.brief}"""\n\n{members}'


def _column(attribute: Attribute) -> str:
    line = f'    Column({attribute.constant}, "{attribute.column}", "{attribute.column_type}"),'
    if len(line) <= LINE:
        return line
    pieces = re.findall(rf".{{1,{LINE - 12}}}(?:, |$)", attribute.column_type)
    arguments = [f"{attribute.constant},", f'"{attribute.column}",', *(f'"{piece}"' for piece in pieces)]
    return "    Column(\n" + "\n".join(f"        {argument}" for argument in arguments) + ",\n    ),"


def render_page(registry: Registry) -> str:
    own = [attribute for attribute in registry.attributes if attribute.source == "turnlog"]
    foreign = [attribute for attribute in registry.attributes if attribute.source != "turnlog"]
    groups = groupby(own, key=lambda attribute: attribute.group)
    [schema] = [attribute.schema for attribute in own if attribute.schema]
    item = schema["items"]
    return PAGE.format(
        description=registry.description,
        schema_url=registry.schema_url,
        root=ROOT,
        spans=_rows((_code(span.type), span.kind, span.name, f"{span.brief} {span.note}") for span in registry.spans),
        own="\n\n".join(_own_group(name, list(group), registry) for name, group in groups),
        foreign="| attribute | type | column | requirement level |\n| --- | --- | --- | --- |\n"
        + _rows((_code(a.key), a.type, _code(a.column), _levels(a, registry)) for a in foreign),
        delta=_rows(
            (
                _code(name),
                "yes" if name in item["required"] else "no",
                ", ".join(map(_code, field.get("enum", ()))) or "text",
                field["description"],
            )
            for name, field in item["properties"].items()
        ),
    )


def _own_group(name: str, attributes: list[Attribute], registry: Registry) -> str:
    header = "| attribute | type | column | what it is | requirement level |\n| --- | --- | --- | --- | --- |\n"
    table = _rows((_code(a.key), a.type, _code(a.column), a.brief, _levels(a, registry)) for a in attributes)
    return "\n\n".join([f"### `{name}`", header + table, *_values(attributes)])


def _values(attributes: list[Attribute]) -> Iterator[str]:
    """The values of each enum, once for all the attributes that share it."""
    enums: dict[str, list[Attribute]] = {}
    for attribute in attributes:
        if attribute.enum:
            enums.setdefault(attribute.enum.name, []).append(attribute)
    for sharing in enums.values():
        keys = " and ".join(_code(attribute.key) for attribute in sharing)
        yield f"Values of {keys}:\n\n" + "\n".join(f"- `{value}`: {brief}" for value, brief in sharing[0].members)


def _levels(attribute: Attribute, registry: Registry) -> str:
    """On which spans the attribute is at which level, the spans of one level together."""
    spans: dict[str, list[str]] = {}
    for span in registry.spans:
        if level := span.levels.get(attribute.key):
            spans.setdefault(level, []).append(span.type.removeprefix(ROOT))
    if not spans:
        return "on the resource"
    if all(len(types) == len(registry.spans) for types in spans.values()):
        return f"{next(iter(spans))}: every span"
    return "<br>".join(f"{level}: {', '.join(types)}" for level, types in spans.items())


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a generated file is stale")
    check: bool = parser.parse_args(arguments).check
    registry = read_registry(HERE / "model", HERE / "upstream.yaml")
    rendered = {
        HERE.parent / "src" / "turnlog" / "semconv.py": render_module(registry),
        HERE / "README.md": render_page(registry),
    }
    stale = {path: text for path, text in rendered.items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        if check:
            print(f"stale: {path.relative_to(HERE.parent)}: run python semconv/generate.py", file=sys.stderr)
        else:
            path.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
