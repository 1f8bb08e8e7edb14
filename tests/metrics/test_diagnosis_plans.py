"""Cost of a diagnosis is independent of the backlog: times are index conditions, not filters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queues.database.query import QUERIES
from queues.database.sql_names import rendered
from tests.engine import Engine

STATEMENTS = sorted((QUERIES / "diagnosis").glob("*.sql"))
assert STATEMENTS


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_no_time_is_left_to_a_filter(engine: Engine, path: Path) -> None:
    engine.die()
    engine.connection.execute("set enable_seqscan = off")  # tables are small here, and an index is no gain
    (plan,) = engine.connection.execute(
        "explain (format json) " + rendered(path.read_text()), {"queue_ids": [engine.queue_id]}
    ).fetchone() or (None,)
    plan = json.loads(plan) if isinstance(plan, str) else plan

    scans = [
        node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name", "").startswith(("settled", "failure"))
    ]
    assert [node for node in scans if "_at" in node.get("Filter", "")] == []
    assert all("_at" in node.get("Index Cond", "") for node in scans if "Index Name" in node)
