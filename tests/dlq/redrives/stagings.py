"""Staged rows of a replay without an archive, and a plan over them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.redrives.staged import plans, sets
from dlq.redrives.staged.models import StagedMessage, Staging
from queues.database.query import database_now
from tests.engine import Engine

ENDED = datetime(2026, 3, 2, 12, tzinfo=UTC)


def stage(count: int, **given: Any) -> Staging:
    """Staged messages with ids from 1 and distinct payloads; `given` may hold lists, one value for each message."""
    held = sets.begin(["settled"], None, None, run_id=1)
    usual: dict[str, Any] = {
        "kind": "settled",
        "queue": "orders",
        "tenant": "default",
        "outcome": "acked",
        "priority": 0,
        "receive_count": 1,
    }
    rows = []
    for n in range(1, count + 1):
        own = {name: value[n - 1] if isinstance(value, list) else value for name, value in given.items()}
        moments = {"ended_at": ENDED, "sent_at": ENDED - timedelta(seconds=3)}
        numbered = {"message_id": n, "payload": f'{{"n": {n}}}'}
        rows.append(StagedMessage(staging_id=held.pk, part=0, **usual | moments | numbered | own))
    StagedMessage.objects.bulk_create(rows, batch_size=1_000)
    return held


def plan_of(held: Staging, target: Engine, **options: Any) -> Plan:
    """The plan that a replay makes."""
    return plans.make(
        held.pk,
        held.token,
        "queue:orders",
        rows=StagedMessage.objects.filter(staging_id=held.pk).count(),
        as_of=database_now(),
        actor="ann",
        reason="a test",
        options=Options(target_queue=target.queue, **options),
    )


def planned(target: Engine, count: int, *, options: dict[str, Any] | None = None, **given: Any) -> Plan:
    return plan_of(stage(count, **given), target, **options or {})


def left(plan: Plan) -> list[int]:
    """Ids of the messages that are still staged."""
    staged = StagedMessage.objects.filter(staging_id=plan.staging_id)
    return list(staged.order_by("message_id").values_list("message_id", flat=True))


def sent_to(target: Engine) -> Sequence[int]:
    """Numbers in the payloads that have arrived, in the order of the log."""
    rows = target.rows(
        "select (payload ->> 'n')::int from signalbox.message where queue_id = %s order by message_id", target.queue_id
    )
    return [row[0] for row in rows]
