"""Links from Grafana dashboards into the console lead to pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.urls import resolve

RUNBOOKS = Path(__file__).parents[3] / "docs" / "runbooks"
BUILT = Path(__file__).parents[3] / "dashboards" / "built"
INTO_THE_CONSOLE = re.compile(r"\$\{console_url(?::raw)?\}(/[^\s\")]*)")

PATHS = sorted({path for file in BUILT.glob("*.json") for path in INTO_THE_CONSOLE.findall(file.read_text())})


def test_dashboards_lead_into_the_console() -> None:
    assert len(PATHS) > 5


@pytest.mark.parametrize("path", PATHS)
def test_a_link_leads_to_a_page(path: str) -> None:
    some = re.sub(r"\$\{[^}]+\}", "SignalboxDeadLetters", path)
    assert resolve(some.partition("?")[0]).url_name
    if some.startswith("/runbooks/"):
        assert (RUNBOOKS / f"{some.removeprefix('/runbooks/')}.md").exists()
