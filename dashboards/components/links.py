"""Links of a panel, a series or a table cell to another dashboard, the console or a runbook."""

from __future__ import annotations

from typing import Any

CONSOLE = "${console_url:raw}"
"""Address of the console, from the viewer's variable: raw, because an address must not be escaped."""

_QUEUE_DASHBOARD = "/d/signalbox-queue?${datasource:queryparam}&${job:queryparam}&${console_url:queryparam}"


def to_queue(tenant: str, queue: str) -> list[dict[str, Any]]:
    """Links to a queue's dashboard and its console page; `tenant` and `queue` are Grafana's expressions."""
    dashboard = f"{_QUEUE_DASHBOARD}&var-tenant={tenant}&var-queue={queue}&${{__url_time_range}}"
    return [_link("Dashboard", dashboard), _link("Console", f"{CONSOLE}/queues/{queue}", new_tab=True)]


def of_panel(addresses: dict[str, str]) -> list[dict[str, Any]]:
    """Links in a panel's corner, by title; all lead out of Grafana."""
    return [_link(title, address, new_tab=True) for title, address in addresses.items()]


def to_the_others(tags: list[str]) -> dict[str, Any]:
    """Menu of the dashboards with equal tags, which keeps the time range and the variables."""
    return _dashboard_link("dashboards", "") | {"includeVars": True, "keepTime": True, "tags": tags}


def out_of_grafana(title: str, url: str) -> dict[str, Any]:
    """A link at the top of a dashboard that leaves Grafana, such as to the console."""
    return _dashboard_link("link", title) | {"targetBlank": True, "url": url}


def _dashboard_link(kind: str, title: str) -> dict[str, Any]:
    return {"icon": "external link", "title": title, "type": kind, "url": ""}


def _link(title: str, url: str, *, new_tab: bool = False) -> dict[str, Any]:
    return {"title": title, "url": url, "targetBlank": new_tab}
