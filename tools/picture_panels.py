"""Draw the dashboards from a demo's Prometheus: `python -m tools.picture_panels`, while `make observe CELLS=2` runs.

The charts of the console draw the results of each panel's queries. There is one picture for each dashboard, with few
colours where `pngquant` is installed. When a panel has no data, its name is printed, and the exit status is 1. The demo
needs eight minutes of traffic first, in which a partner fails and dead letters are redriven. PORT is the console's.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import django
import requests
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images" / "dashboards"
STYLES = ROOT / "console" / "static" / "console" / "styles"
PROMETHEUS = f"http://127.0.0.1:{int(os.environ.get('PORT', '8000')) + 1090}/api/v1"
SHOWN_SECONDS, POINTS = 300, 60
QUEUES = (
    {"$queue": "email-send", "$tenant": "acme"},
    {"$queue": "webhooks-out", "$tenant": "globex"},
    {"$queue": "returns", "$tenant": "acme"},
    {"$queue": "ledger-export", "$tenant": "initech"},
)
"""The queue to draw, and other queues for panels without data of the first: refusals, an upstream stream, bytes."""
WINDOWS = {"$__rate_interval": "1m", "$__range": f"{SHOWN_SECONDS}s"}
NOW = time.time()
"""One moment for all queries, so that the points of their series stand together."""
SERIES = 6
ROWS = 8
GRID = """
main { display: grid; grid-template-columns: repeat(24, 1fr); gap: 10px; padding: 16px; width: 1400px }
h2 { grid-column: 1 / -1; margin: 10px 0 0 } .number { font-size: 28px } .chart-table { display: none }
"""

Panel = dict[str, Any]
Answers = list[tuple[str, dict[str, Any]]]
"""The results of a panel's queries: the name of each series, and the series."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    IMAGES.mkdir(exist_ok=True)
    empty = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for path in sorted((ROOT / "dashboards" / "built").glob("*.json")):
            dashboard = json.loads(path.read_text())
            panels = [(panel, first_answers(panel)) for panel in dashboard["panels"]]
            empty += [
                f"{dashboard['title']}: {panel['title']}"
                for panel, found in panels
                if panel.get("targets") and not found
            ]
            page.set_content(_page(panels))
            picture = IMAGES / f"{path.stem.removeprefix('signalbox-')}.png"
            page.locator("main").screenshot(path=picture)
            reduce_colours(picture)
        browser.close()
    sys.stdout.write("".join(f"no data: {one}\n" for one in empty))
    sys.exit(bool(empty))


def reduce_colours(picture: Path) -> None:
    if (program := shutil.which("pngquant")) is not None:
        subprocess.run([program, "--force", "--speed", "1", "--output", picture, "16", picture], check=True)


def first_answers(panel: Panel) -> Answers:
    """Query the queues in order, up to one with data. Unless it is the first queue, the panel's title names it."""
    panel["title"] = panel["title"].replace("$dead_letter_queue", f"{QUEUES[0]['$queue']}-dlq")
    for choice in QUEUES:
        if found := answers(panel, choice):
            if choice is not QUEUES[0]:
                panel["title"] += f" ({choice['$queue']})"
            return found
    return []


def answers(panel: Panel, choice: dict[str, str]) -> Answers:
    """Run the panel's queries as Grafana would, for one queue; queries without a queue get all tenants."""
    return [
        (_name(query.get("legendFormat", ""), series["metric"]), series)
        for query in panel.get("targets", [])
        for series in _ask(query["expr"], choice, is_graph(panel))
    ]


def is_graph(panel: Panel) -> bool:
    return panel["type"] in ("timeseries", "heatmap", "state-timeline")


def _ask(expression: str, choice: dict[str, str], over_time: bool) -> list[dict[str, Any]]:
    of_one = "$queue" in expression or "$dead_letter_queue" in expression
    chosen = {"$job": "signalbox", "$dead_letter_queue": f"{choice['$queue']}-dlq"} | choice | WINDOWS
    if not of_one:
        chosen["$tenant"] = ".*"
    filled = re.sub(r"\$\w+", lambda found: chosen[found[0]], expression)
    span = {"start": NOW - SHOWN_SECONDS, "end": NOW, "step": SHOWN_SECONDS / POINTS} if over_time else {"time": NOW}
    address = f"{PROMETHEUS}/query_range" if over_time else f"{PROMETHEUS}/query"
    answer = requests.get(address, {"query": filled, **span}, timeout=60).json()
    if answer["status"] != "success":
        raise SystemExit(f"{expression}: {answer}")
    found = [series for series in answer["data"]["result"] if any(math.isfinite(value) for value in _values(series))]
    return found[:SERIES] if over_time else found


def _values(series: dict[str, Any]) -> list[float]:
    return [float(value) for _, value in series.get("values", [series.get("value", (0, "nan"))])]


def _name(legend: str, labels: dict[str, str]) -> str:
    if legend in ("", "__auto"):
        return ", ".join(labels.values()) or "value"
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), legend)


def _page(panels: list[tuple[Panel, Answers]]) -> str:
    styles = "".join(path.read_text() for path in sorted(STYLES.glob("*.css")))
    return f"<style>{styles}{GRID}</style><main>{''.join(_drawn(panels))}</main>"


def _drawn(panels: list[tuple[Panel, Answers]]) -> Iterator[str]:
    for panel, found in panels:
        if panel["type"] == "row":
            yield f"<h2>{escape(panel['title'])}</h2>"
        elif panel["type"] != "text":
            body = _chart(panel, found) if is_graph(panel) else _table(panel, found)
            yield f'<div style="grid-column: span {panel["gridPos"]["w"]}">{body}</div>'


def _chart(panel: Panel, found: Answers) -> str:
    """Draw lines over the times that any series has; a missing value is a gap."""
    from django.template.loader import render_to_string

    from console.charts.drawing import Series, draw
    from console.charts.tones import EVENTS, STATES

    moments = sorted({at for _, series in found for at, _ in series["values"]})
    tones = (*STATES, *EVENTS)
    lines = [
        Series(name, tones[place % len(tones)], [_finite(dict(series["values"]).get(at)) for at in moments])
        for place, (name, series) in enumerate(found)
    ]
    times = [datetime.fromtimestamp(at, UTC) for at in moments]
    chart = draw(panel["title"], times, lines, say=lambda value: _said(panel, value))
    return render_to_string("components/_chart.html", {"chart": chart})


def _finite(value: str | None) -> float | None:
    return float(value) if value is not None and math.isfinite(float(value)) else None


def _table(panel: Panel, found: Answers) -> str:
    """Show one number in large type, and several numbers as rows."""
    cells = [(name, _said(panel, _values(series)[-1])) for name, series in found[:ROWS]]
    rows = "".join(f"<tr><td>{escape(name)}</td><td class='num'>{said}</td></tr>" for name, said in cells)
    body = f"<p class='number'>{cells[0][1]}</p>" if len(cells) == 1 else f"<table>{rows}</table>"
    return f"<section class='panel'><h3>{escape(panel['title'])}</h3>{body if cells else '<p>no data</p>'}</section>"


def _said(panel: Panel, value: float | None) -> str:
    """Write a value with its unit, three digits long."""
    if value is None:
        return "-"
    unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "")
    if unit == "percentunit":
        return f"{value:.1%}"
    if unit == "bytes":
        return f"{value / 1e6:.3g} MB"
    return (
        f"{value:,.3g}{' s' if unit == 's' else '/s' if unit in ('mps', 'ops', 'reqps') else ''}"
        if value < 1e3
        else f"{value:,.0f}"
    )


if __name__ == "__main__":
    main()
