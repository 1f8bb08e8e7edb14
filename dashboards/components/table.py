"""Tables: one row for each label set."""

from __future__ import annotations

import string
from typing import Any

from dashboards.components.keys import refuse_unknown
from dashboards.components.links import to_queue
from dashboards.components.panel import GrafanaPanel, override, steps


class TablePanel(GrafanaPanel):
    """One row for each label set. `columns` are labels or target ids (A, B, C), each with a name and an appearance.

    A column with `of_queues` leads to the queue of its row, which then needs columns named Tenant and Queue.
    """

    type = "table"
    keys = ("columns", "sort")
    size = (8, 8)

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        panel = super().gen_json_from_data(data, context)
        for query in panel["targets"]:
            query["format"] = "table"
        return panel | {"transformations": self._transformations(data)}

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        looks = [(column["name"], _column_looks(column)) for column in data["columns"]]
        if "none" in data:  # Grafana would also write the text for an empty table into empty cells
            looks = [(name, [*properties, {"id": "noValue", "value": "-"}]) for name, properties in looks]
        return [override(name, properties) for name, properties in looks if properties]

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        sort = [{"desc": True, "displayName": data["sort"]}] if "sort" in data else []
        return {"sortBy": sort}

    def _transformations(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        fields = {self._field(column["field"], data): column["name"] for column in data["columns"]}
        order = {field: position for position, field in enumerate(fields)}
        return [
            {"id": "merge", "options": {}},
            {"id": "filterFieldsByName", "options": {"include": {"names": list(fields)}}},
            {"id": "organize", "options": {"excludeByName": {}, "indexByName": order, "renameByName": fields}},
        ]

    def _field(self, field: str, data: dict[str, Any]) -> str:
        """Name that Grafana gives a value: `Value` if it is the only one, else `Value #A`."""
        if field not in string.ascii_uppercase:
            return field
        return f"Value #{field}" if len(data["targets"]) > 1 else "Value"


def _column_looks(column: dict[str, Any]) -> list[dict[str, Any]]:
    refuse_unknown("column", column, ("field", "name", "unit", "thresholds", "links", "of_queues"))
    looks: list[dict[str, Any]] = []
    if "unit" in column:
        looks.append({"id": "unit", "value": column["unit"]})
    if "thresholds" in column:
        looks.append({"id": "thresholds", "value": {"mode": "absolute", "steps": steps(column["thresholds"])}})
        looks.append({"id": "custom.cellOptions", "value": {"type": "color-text"}})
        looks.append({"id": "color", "value": {"mode": "thresholds"}})
    if links := _links(column):
        looks.append({"id": "links", "value": links})
    return looks


def _links(column: dict[str, Any]) -> list[dict[str, Any]]:
    if column.get("of_queues"):
        return to_queue("${__data.fields.Tenant:percentencode}", "${__data.fields.Queue:percentencode}")
    return [{"title": title, "url": url, "targetBlank": True} for title, url in column.get("links", {}).items()]
