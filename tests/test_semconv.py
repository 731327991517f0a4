"""Holds the registry to those rules of Weaver's `definition/2` form that need no Weaver, and the generated files to it.

Weaver's own check needs its binary and a network; refs to other registries are resolved against semconv/upstream.yaml.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from turnlog import semconv

REPO = Path(__file__).resolve().parents[1]
MODEL = REPO / "semconv" / "model"

NAME = r"^[a-z][a-z0-9]*([._][a-z0-9]+)*$"
TEXT = {"type": "string", "minLength": 1}
STABILITY = {"enum": ["development", "alpha", "beta", "release_candidate", "stable"]}
MEMBER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "value", "brief", "stability"],
    "properties": {"id": TEXT, "value": TEXT, "brief": TEXT, "note": TEXT, "stability": STABILITY},
}
ATTRIBUTE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["key", "type", "brief", "stability"],
    "properties": {
        "key": {"type": "string", "pattern": NAME},
        "type": {
            "oneOf": [
                {
                    "enum": [
                        *("string", "int", "double", "boolean"),
                        *("string[]", "int[]", "double[]", "boolean[]"),
                        "any",
                    ]
                },
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["members"],
                    "properties": {"members": {"type": "array", "minItems": 1, "items": MEMBER}},
                },
            ]
        },
        "brief": TEXT,
        "note": TEXT,
        "examples": {"type": "array", "minItems": 1},
        "stability": STABILITY,
        "annotations": {"type": "object"},
    },
}
CONDITION = {"type": "object", "additionalProperties": False, "minProperties": 1, "maxProperties": 1}
ATTRIBUTE_REF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["ref", "requirement_level"],
    "properties": {
        "ref": {"type": "string", "pattern": NAME},
        "requirement_level": {
            "oneOf": [
                {"enum": ["required", "recommended", "opt_in"]},
                {**CONDITION, "properties": {"conditionally_required": TEXT, "recommended": TEXT, "opt_in": TEXT}},
            ]
        },
        "brief": TEXT,
        "note": TEXT,
        "sampling_relevant": {"type": "boolean"},
    },
}
GROUP_REF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["ref_group"],
    "properties": {"ref_group": TEXT},
}
REFS = {"type": "array", "minItems": 1, "items": {"oneOf": [ATTRIBUTE_REF, GROUP_REF]}}
GROUP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "visibility", "attributes"],
    "properties": {"id": {"type": "string", "pattern": NAME}, "visibility": {"const": "internal"}, "attributes": REFS},
}
SPAN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "kind", "name", "brief", "stability", "requirement_level", "attributes"],
    "properties": {
        "type": {"type": "string", "pattern": NAME},
        "kind": {"enum": ["internal", "client", "server", "producer", "consumer"]},
        "name": {"type": "object", "additionalProperties": False, "required": ["note"], "properties": {"note": TEXT}},
        "brief": TEXT,
        "note": TEXT,
        "stability": STABILITY,
        "requirement_level": {"enum": ["recommended", "opt_in"]},
        "attributes": REFS,
    },
}
# The sections of `definition/2` that this registry has a use for. Weaver knows more; refinements are left out on
# purpose, because Weaver drops them in live-check and in its pages.
DEFINITION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["file_format"],
    "properties": {
        "file_format": {"const": "definition/2"},
        "attributes": {"type": "array", "items": ATTRIBUTE},
        "attribute_groups": {"type": "array", "items": GROUP},
        "spans": {"type": "array", "items": SPAN},
    },
}


def definition_files() -> list[Path]:
    return sorted(path for path in MODEL.rglob("*.yaml") if path.name != "manifest.yaml")


def section(name: str) -> list[dict[str, Any]]:
    return [item for path in definition_files() for item in yaml.safe_load(path.read_text()).get(name, ())]


def upstream_keys() -> set[str]:
    upstream = yaml.safe_load((REPO / "semconv" / "upstream.yaml").read_text())
    return {key for keys in upstream.values() for key in keys}


def own_keys() -> list[str]:
    return [attribute["key"] for attribute in section("attributes")]


def refs(items: Iterable[dict[str, Any]], groups: dict[str, Any]) -> Iterator[str]:
    for item in items:
        if "ref_group" in item:
            yield from refs(groups[item["ref_group"]], groups)
        else:
            yield item["ref"]


def refs_by_span() -> dict[str, list[str]]:
    groups = {group["id"]: group["attributes"] for group in section("attribute_groups")}
    return {span["type"]: list(refs(span["attributes"], groups)) for span in section("spans")}


def keys_that_are_namespaces(keys: Iterable[str]) -> list[str]:
    keys = set(keys)
    return sorted(key for key in keys if any(other.startswith(f"{key}.") for other in keys))


def keys_that_differ_only_in_dots(keys: Iterable[str]) -> list[str]:
    keys = set(keys)
    constants = [key.replace(".", "_") for key in keys]
    return sorted(key for key in keys if constants.count(key.replace(".", "_")) > 1)


def generate(repo: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(repo / "semconv" / "generate.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(REPO / "semconv", tmp_path / "semconv", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "turnlog").mkdir(parents=True)
    shutil.copy(REPO / "src" / "turnlog" / "semconv.py", tmp_path / "src" / "turnlog")
    return tmp_path


@pytest.mark.parametrize("path", definition_files(), ids=lambda path: path.name)
def test_every_definition_has_the_fields_that_weaver_asks_for_and_no_others(path: Path) -> None:
    jsonschema.validate(yaml.safe_load(path.read_text()), DEFINITION)


def test_the_manifest_names_our_version_and_both_registries_that_we_refer_to() -> None:
    manifest = yaml.safe_load((MODEL / "manifest.yaml").read_text())
    assert set(manifest) == {"name", "description", "schema_url", "stability", "dependencies"}
    assert re.fullmatch(r"https://turnlog\.dev/schemas/session/\d+\.\d+\.\d+", manifest["schema_url"])
    assert manifest["schema_url"] == semconv.SCHEMA_URL
    core, genai = manifest["dependencies"]
    assert core == {
        "schema_url": "https://opentelemetry.io/schemas/1.44.0",
        "registry_path": "https://github.com/open-telemetry/semantic-conventions.git@v1.44.0[model]",
    }
    assert genai["schema_url"] == "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
    assert re.fullmatch(
        r"https://github\.com/open-telemetry/semantic-conventions-genai\.git@[0-9a-f]{7,40}\[model\]",
        genai["registry_path"],
    )


def test_only_registry_files_and_json_schemas_lie_below_the_model() -> None:
    files = sorted(path.relative_to(MODEL).as_posix() for path in MODEL.rglob("*") if path.is_file())
    assert files == ["delta.schema.json", "manifest.yaml", "registry.yaml", "spans.yaml"]


def test_everything_of_ours_is_below_our_root() -> None:
    assert [key for key in own_keys() if not key.startswith("turnlog.")] == []
    assert [span for span in refs_by_span() if not span.startswith("turnlog.")] == []
    assert [g["id"] for g in section("attribute_groups") if not g["id"].startswith("attributes.turnlog.")] == []
    assert [key for key in upstream_keys() if key.startswith("turnlog.")] == []


def test_nothing_is_defined_twice() -> None:
    for names in (own_keys(), [s["type"] for s in section("spans")], [g["id"] for g in section("attribute_groups")]):
        assert sorted(names) == sorted(set(names))


def test_no_key_is_the_namespace_of_another() -> None:
    assert keys_that_are_namespaces([*own_keys(), *upstream_keys()]) == []
    assert keys_that_are_namespaces(["a.reason", "a.reason.source", "a.reason_text"]) == ["a.reason"]


def test_no_two_keys_differ_only_in_dots_and_underscores() -> None:
    assert keys_that_differ_only_in_dots([*own_keys(), *upstream_keys()]) == []
    assert keys_that_differ_only_in_dots(["a.b_c", "a.b.c", "a.b"]) == ["a.b.c", "a.b_c"]


def test_every_ref_resolves_and_no_span_has_one_twice() -> None:
    known = {*own_keys(), *upstream_keys()}
    for span, keys in refs_by_span().items():
        assert [key for key in keys if key not in known] == [], span
        assert sorted(keys) == sorted(set(keys)), span


def test_every_attribute_is_on_a_span_except_the_one_of_the_resource() -> None:
    used = {key for keys in refs_by_span().values() for key in keys}
    assert {*own_keys(), *upstream_keys()} - used == {"service.name"}


@pytest.mark.parametrize(("type_", "element"), [("string", str), ("string[]", str), ("int", int), ("any", str)])
def test_every_attribute_without_values_of_its_own_has_examples_of_its_type(type_: str, element: type) -> None:
    attributes = [attribute for attribute in section("attributes") if attribute["type"] == type_]
    assert attributes != []
    for attribute in attributes:
        for example in attribute["examples"]:
            values = example if type_.endswith("[]") else [example]
            assert [type(value) for value in values] == [element] * len(values), attribute["key"]


def test_the_generated_files_say_what_the_registry_says() -> None:
    assert generate(REPO, "--check") == (0, "")


def test_a_changed_registry_makes_both_generated_files_stale_until_they_are_generated(copy: Path) -> None:
    registry = copy / "semconv" / "model" / "registry.yaml"
    registry.write_text(
        registry.read_text()
        + "  - {key: turnlog.demo.count, type: int, brief: A count., examples: [1], stability: development}\n"
    )
    module = copy / "src" / "turnlog" / "semconv.py"
    before = module.read_text()
    assert generate(copy, "--check") == (
        1,
        "stale: src/turnlog/semconv.py: run python semconv/generate.py\n"
        "stale: semconv/README.md: run python semconv/generate.py\n",
    )
    assert module.read_text() == before
    assert generate(copy) == (0, "")
    assert 'DEMO_COUNT = "turnlog.demo.count"' in module.read_text().splitlines()
    assert generate(copy, "--check") == (0, "")


def test_an_edited_generated_file_is_named_and_restored(copy: Path) -> None:
    module = copy / "src" / "turnlog" / "semconv.py"
    text = module.read_text()
    module.write_text(text + "\n")
    assert generate(copy, "--check") == (1, "stale: src/turnlog/semconv.py: run python semconv/generate.py\n")
    assert generate(copy) == (0, "")
    assert module.read_text() == text


def test_a_ref_that_no_registry_defines_is_refused_by_name(copy: Path) -> None:
    spans = copy / "semconv" / "model" / "spans.yaml"
    spans.write_text(spans.read_text().replace("ref: process.exit.code", "ref: process.exit.status"))
    assert generate(copy) == (
        1,
        "span turnlog.execute_tool refers to process.exit.status, which no registry defines\n",
    )


def test_an_enum_that_the_delta_and_the_registry_spell_differently_is_refused(copy: Path) -> None:
    schema = copy / "semconv" / "model" / "delta.schema.json"
    schema.write_text(schema.read_text().replace('"observed", "both"', '"observed"'))
    assert generate(copy) == (1, "enum FileEvidence is defined twice, with different values\n")


def test_importing_the_names_costs_two_modules_of_the_standard_library() -> None:
    tree = ast.parse((REPO / "src" / "turnlog" / "semconv.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["from enum import StrEnum", "from typing import NamedTuple"]


def test_every_attribute_has_a_constant_and_a_type() -> None:
    assert set(semconv.ATTRIBUTE_TYPES) == {*own_keys(), *upstream_keys()}
    for key in semconv.ATTRIBUTE_TYPES:
        assert getattr(semconv, key.removeprefix("turnlog.").replace(".", "_").upper()) == key


def test_no_code_spells_out_an_attribute_name_of_ours() -> None:
    ours = set(own_keys())
    spelled = [
        f"{path.relative_to(REPO)}:{node.lineno}: {node.value}"
        for path in sorted((REPO / "src").rglob("*.py"))
        if path.name != "semconv.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ours
    ]
    assert spelled == []


def test_the_columns_read_a_delta_as_the_journal_writes_it_with_what_is_absent_as_null(tmp_path: Path) -> None:
    delta = [
        {"op": "set", "kind": "file", "key": "a.py", "value": "write", "tier": "durable", "action": "write"},
        {"op": "drop", "kind": "pending", "key": "deploy", "value": "", "tier": "durable"},
    ]
    journal = tmp_path / "journal.ndjson"
    journal.write_text(json.dumps({"session_id": "s", "commit_sequence": 3, "delta": delta}) + "\n")
    columns = {column.name: column.type for column in semconv.COLUMNS}
    with duckdb.connect() as db:
        query = "from read_json(?, columns = ?, format = 'newline_delimited')"
        [row] = db.execute(query, [str(journal), columns]).fetchall()
    absent = {"action": None, "evidence": None, "renamed_from": None}
    assert dict(zip(columns, row, strict=True)) == {
        **dict.fromkeys(columns),
        "session_id": "s",
        "commit_sequence": 3,
        "delta": [{**absent, **operation} for operation in delta],
    }


DELTA_SCHEMA = json.loads((MODEL / "delta.schema.json").read_text())
FACT = {"op": "set", "kind": "fact", "key": "port", "value": "8080", "tier": "durable"}
FILE = {**FACT, "kind": "file", "key": "src/a.py", "value": "write", "action": "write", "evidence": "both"}


def test_the_delta_schema_is_a_schema_and_is_linked_from_its_attribute() -> None:
    jsonschema.Draft202012Validator.check_schema(DELTA_SCHEMA)
    [delta] = [attribute for attribute in section("attributes") if attribute["key"] == semconv.COMMIT_DELTA]
    assert delta["annotations"]["type"] == {"json_schema": "delta.schema.json"}
    for example in delta["examples"]:
        jsonschema.validate(json.loads(example), DELTA_SCHEMA)


@pytest.mark.parametrize(
    "delta",
    [
        [],
        [FACT],
        [FILE],
        [FACT, FILE, {**FACT, "op": "drop", "value": ""}, {**FACT, "op": "evict", "tier": "transient"}],
    ],
)
def test_the_delta_schema_accepts(delta: list[dict[str, str]]) -> None:
    jsonschema.validate(delta, DELTA_SCHEMA)


@pytest.mark.parametrize(
    "delta",
    [
        FACT,
        [{**FACT, "op": "add"}],
        [{**FACT, "kind": "opinion"}],
        [{**FACT, "key": ""}],
        [{**FACT, "value": 8080}],
        [{**FACT, "value": None}],
        [{**FACT, "tier": "session"}],
        [{**FILE, "evidence": "guessed"}],
        [{**FACT, "reason": "because"}],
        *([{name: text for name, text in FACT.items() if name != missing}] for missing in FACT),
    ],
)
def test_the_delta_schema_refuses(delta: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(delta, DELTA_SCHEMA)
