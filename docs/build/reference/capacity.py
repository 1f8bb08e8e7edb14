"""Tables of `docs/run/capacity.md`, from the figures of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from bench.fleet import capacity
from docs.build.markdown import table


def blocks() -> Mapping[str, str]:
    """Return the generated parts of the page, by the name in their marker."""
    needs = capacity.Needs()
    ways = capacity.measured()
    return {
        "capacity-processors": table(*capacity.processors(needs, ways)),
        "capacity-cells": table(*capacity.cells(needs, ways)),
        "capacity-storage": table(*capacity.storage(needs, ways)),
        "capacity-disk": _disk(needs),
        "capacity-money": table(*capacity.money(needs, ways)),
    }


def _disk(needs: capacity.Needs) -> str:
    backlog = capacity.burst_backlog(needs)
    return table(
        ("of", "is"),
        [
            ("messages of the retention", f"{needs.messages_a_day * needs.retention_days / 1e6:,.0f} million"),
            ("disk for them, all cells, one copy", f"{capacity.disk_gb(needs):,.0f} GB"),
            ("the same with every standby", f"{capacity.disk_gb(needs) * (1 + needs.standbys):,.0f} GB"),
            ("backlog after a burst that waits", f"{backlog / 1e6:,.1f} million messages"),
        ],
    )
