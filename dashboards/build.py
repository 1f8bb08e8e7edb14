"""Build the dashboards: YAML sources to JSON files for import into Grafana. Equal sources give equal bytes."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from grafana_dashboards.exporter import DashboardExporter, ProjectProcessor
from grafana_dashboards.parser import DefinitionParser

import dashboards.components  # noqa: F401 - registers our component types
from dashboards.grafana import current_schema

FOLDER = Path(__file__).parent
SOURCES = FOLDER / "sources"
BUILT = FOLDER / "built"

logging.getLogger("grafana_dashboards").setLevel(logging.WARNING)  # it logs every component type


class _Texts(DashboardExporter):  # type: ignore[misc]
    """Exporter that keeps each dashboard as the text of its file."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def process_dashboard(self, project_name: str, dashboard_name: str, dashboard_data: dict[str, Any]) -> None:
        text = json.dumps(dashboard_data, sort_keys=True, indent=2, ensure_ascii=False)
        self.texts[f"{dashboard_name}.json"] = f"{text}\n"


def build() -> dict[str, str]:
    """Build the text of every dashboard, by the name of its file in `built/`."""
    exporter = _Texts()
    with current_schema():
        projects = DefinitionParser().load_projects(sorted(SOURCES.glob("*.yaml")))
        ProjectProcessor([exporter]).process_projects(projects)
    return exporter.texts


def write() -> list[str]:
    """Write the built dashboards; return the names of the files that changed or were deleted."""
    texts, changed = build(), outdated()
    for name in changed:
        path = BUILT / name
        if name in texts:
            path.write_text(texts[name])
        else:
            path.unlink()
    return changed


def outdated() -> list[str]:
    """List the files in `built/` that differ from the sources."""
    texts = build()
    committed = {path.name: path.read_text() for path in BUILT.glob("*.json")}
    return sorted(name for name in texts.keys() | committed.keys() if texts.get(name) != committed.get(name))
