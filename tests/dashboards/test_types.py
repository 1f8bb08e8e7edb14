"""Grafana's own types read the dashboards and write them again: nothing may be lost on the way."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins

from tests.dashboards.built import DASHBOARDS, Dashboard, asking, every_dashboard

with warnings.catch_warnings():
    # It recommends the second schema, which Grafana 11 cannot read.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.models.dashboard import Dashboard as TypedDashboard

FOR_IMPORT_ONLY = {"__inputs", "__requires"}  # of the file, not of the dashboard: the types have neither


@pytest.fixture(scope="module", autouse=True)
def panel_types() -> None:
    register_default_plugins()


def typed(dashboard: dict[str, Any]) -> dict[str, Any]:
    """The dashboard as Grafana's own types write it after they have read it."""
    return json.loads(json.dumps(TypedDashboard.from_json(dashboard), cls=JSONEncoder))  # type: ignore[no-any-return]


@every_dashboard
def test_grafanas_types_keep_everything_that_is_written(dashboard: Dashboard) -> None:
    """A key that they do not know is dropped on the way, so a misspelt one is missing afterwards.

    They add the defaults of what is left out; nothing else may differ.
    """
    written = {key: value for key, value in dashboard.items() if key not in FOR_IMPORT_ONLY}

    assert list(lost(written, typed(written))) == []


@every_dashboard
def test_grafanas_types_agree_with_themselves(dashboard: Dashboard) -> None:
    once = typed(dashboard)

    assert typed(once) == once


def test_a_key_that_grafanas_types_do_not_know_is_noticed() -> None:
    dashboard = json.loads(json.dumps(DASHBOARDS["signalbox-fleet.json"]))
    stat = next(panel for panel in asking(dashboard) if panel["type"] == "stat")
    stat["options"]["colourMode"] = "value"
    stat["targets"][0]["expression"] = "up"

    found = list(lost(dashboard, typed(dashboard)))

    assert any(place.endswith("options.colourMode") for place in found)
    assert any(place.endswith("targets[0].expression") for place in found)


def lost(written: Any, reread: Any, place: str = "") -> Iterator[str]:
    """Differences of `reread` from `written`; additions in `reread` do not count."""
    if isinstance(written, dict) and isinstance(reread, dict):
        for key, value in written.items():
            if key in reread:
                yield from lost(value, reread[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}"
    elif isinstance(written, list) and isinstance(reread, list) and len(written) == len(reread):
        for number, (ours, theirs) in enumerate(zip(written, reread, strict=True)):
            yield from lost(ours, theirs, f"{place}[{number}]")
    elif written != reread:
        yield place
