"""Counters of a queue's failure groups, beside a recount of its dead letters."""

from __future__ import annotations

from tests.engine import Engine

COUNTED = """
select fingerprint, sum(dead)::bigint, sum(deaths)::bigint
from (
  select c.fingerprint, c.dead, c.deaths from signalbox.failure_cluster_queue c where c.queue_id = %s
  union all
  select u.fingerprint, u.dead, u.deaths from signalbox.pending_failure_groups() u where u.queue_id = %s
) c
group by fingerprint
"""


def counted(engine: Engine) -> dict[str, int]:
    """Dead letters by fingerprint, from the counters, without omissions."""
    return {row[0]: row[1] for row in engine.rows(COUNTED, engine.queue_id, engine.queue_id) if row[1]}


def died(engine: Engine) -> dict[str, int]:
    """Total failures by fingerprint, from the counters."""
    return {row[0]: row[2] for row in engine.rows(COUNTED, engine.queue_id, engine.queue_id)}


def recounted(engine: Engine) -> dict[str, int]:
    """The dead letters of the queue, counted row by row."""
    rows = engine.rows(
        "select fingerprint, count(*) from signalbox.dead_letter where source_queue_id = %s group by fingerprint",
        engine.queue_id,
    )
    return {row[0]: row[1] for row in rows}


def fold(engine: Engine) -> int:
    """Aggregate the counters, after waiting for a running aggregation."""
    while (folded := engine.value("select signalbox.aggregate_failure_groups()")) is None:
        pass
    return int(folded)
