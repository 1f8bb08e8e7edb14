"""A client's purge fills the trash, is listed among the purges, and can be undone."""

from __future__ import annotations

import pytest

from dlq.jobs.models import Purge
from dlq.trash import restore, trash
from queues.models import AuditEvent, TrashBatch
from signalbox import Client
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


def purges(engine: Engine) -> list[Purge]:
    return list(Purge.objects.filter(queue_name=engine.queue).order_by("purge_id"))


def rows(engine: Engine) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(queue_name=engine.queue, action="queue.purge"))


def test_a_purge_in_steps_is_one_and_can_be_undone(engine: Engine) -> None:
    client = Client(engine.connection)
    client.send_batch(engine.queue, list(range(5)))

    assert [client.purge(engine.queue, max_messages=3) for _ in range(3)] == [3, 2, 0]

    [job] = purges(engine)
    [row] = rows(engine)
    assert (job.state, job.purged, job.trash_hours) == ("done", 5, 24)
    assert (job.created_by, row.actor, row.details["purge_id"]) == (row.actor, job.created_by, job.purge_id)
    heap = trash.heap_of(job)
    assert heap is not None
    assert heap.trash_batch.left == 5
    assert [found.job for found in trash.heaps() if found.job.trash_batch_id == job.trash_batch_id] == [job]

    done = restore.create("purge", job.purge_id, actor="ana", reason="")
    restore.run_in_foreground(done.undo_id)
    assert len(client.receive(engine.queue, 10)) == 5


def test_nothing_purged_leaves_nothing_behind(engine: Engine) -> None:
    before = TrashBatch.objects.count()

    assert Client(engine.connection).purge(engine.queue) == 0

    assert (purges(engine), rows(engine), TrashBatch.objects.count()) == ([], [], before)


def test_without_trash_hours_a_purge_is_permanent(engine: Engine) -> None:
    client = Client(engine.connection)
    client.send(engine.queue, 1)

    assert client.purge(engine.queue, keep_seconds=0) == 1

    assert purges(engine) == []
    assert [row.details["messages"] for row in rows(engine)] == [1]
