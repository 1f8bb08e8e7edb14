"""The invented past of a demo: there for every range, once, and nowhere near a database that has a past of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from console.charts.ranges import KEPT, RANGES, Range
from console.demo.scenery import QUEUES, rates
from console.history import made_up
from queues.control.queues import create_queue
from queues.history import invented
from queues.history.series import ALL_QUEUES, series
from queues.models import Queue
from queues.reach import EVERYTHING
from tests.console.browsers import Browser

pytestmark = pytest.mark.usefixtures("commits")


def test_every_range_shows_something_once_and_says_that_it_is_made_up(viewer: Browser) -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("delete from signalbox.history_record")
            for table, _, _ in invented.TABLES:
                cursor.execute(f"delete from signalbox.{table}")
            cursor.execute("select signalbox.aggregate_counters()")
        for queue in QUEUES:
            if not Queue.objects.filter(name=queue.name).exists():
                create_queue(queue.name, tenant=queue.tenant, actor="demo")

        assert invented.end_of_invention() is None
        assert invented.invent(rates())
        assert not invented.invent(rates())
        until = invented.end_of_invention()
        assert until is not None

        queue_id = _id_of(QUEUES[0].name)
        now = datetime.now(UTC)
        for seconds, step_seconds, _ in RANGES.values():
            if seconds > KEPT.total_seconds():
                continue  # of the archive, which a demo begins without
            found = series([queue_id, ALL_QUEUES], now - timedelta(seconds=seconds), now, step_seconds)
            for steps in found.values():
                known = [step for step in steps if step.depths and step.rates and step.waits]
                assert len(known) > len(steps) * 0.9
        assert [mark.at for mark in made_up.marks(None, until - timedelta(hours=1), now, EVERYTHING)] == [until]
        assert made_up.marks(None, until + timedelta(seconds=1), now, EVERYTHING) == []
        assert "Made-up history up to" in viewer.see("/history").text
        assert made_up.until(Range("", until, now, 10), []) is None
        assert made_up.until(Range("", until - timedelta(hours=2), until - timedelta(hours=1), 10), []) == until
        transaction.set_rollback(True)


def _id_of(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("select queue_id from signalbox.queue where name = %s", [name])
        return int(cursor.fetchone()[0])
