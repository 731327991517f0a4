"""The queries of examples/grafana's dashboards, as Grafana would send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from programs import ROOT

GRAFANA = ROOT / "examples" / "grafana"
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))

_VARIABLES = {
    "$service": ".*",
    "$__rate_interval": "10m",
    "$__range": "1h",
    "$session": "demo",
    "$trace": "",
    "${session:sqlstring}": "'demo'",
}


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def queries(datasource: str, field: str) -> dict[str, str]:
    """Every query to one kind of data source, by its panel's title and its letter there."""
    return {
        f"{panel['title']} {target['refId']}": _filled(target[field])
        for path in DASHBOARDS
        for panel in panels(json.loads(path.read_text()))
        for target in panel.get("targets", ())
        if target["datasource"]["type"] == datasource
    }


def each(queries: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("query", queries.values(), ids=queries.keys())


def _filled(text: str) -> str:
    for variable, value in _VARIABLES.items():
        text = text.replace(variable, value)
    assert "$" not in text, f"a variable without a value: {text}"
    return text


PROMQL = queries("prometheus", "expr")
TRACEQL = {name: query for name, query in queries("tempo", "query").items() if query}
SQL = queries("motherduck-duckdb-datasource", "rawSql")
