"""The pages docs/reference/metrics.md and docs/run/monitoring.md are complete and true."""

from __future__ import annotations

import re
from pathlib import Path

from metrics import health
from metrics.names import METRICS
from metrics.reading import snapshot

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "metrics.md").read_text() + (DOCS / "run" / "monitoring.md").read_text()


def test_every_metric_is_documented_with_its_type_and_labels() -> None:
    rows = re.findall(r"^\| `(signalbox_\w+)` \| (\w+) \|([^|]*)\|", PAGE, re.MULTILINE)
    documented = {name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}

    assert len(rows) == len(documented)
    assert documented == {metric.name: (metric.type, metric.labels) for metric in METRICS}


def test_the_intervals_are_those_of_the_code() -> None:
    assert f"every {snapshot.REFRESH_SECONDS:.0f} seconds" in PAGE
    assert f"{snapshot.STALE_SECONDS:.0f} seconds" in PAGE
    assert f"{health.UPKEEP_STALE_SECONDS:.0f} seconds" in PAGE
    assert f"{health.CONSUMER_SECONDS:.0f} seconds" in PAGE
