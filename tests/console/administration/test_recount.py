"""An operator who doubts the counters compares them with a recount, and corrects them."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queues import audit
from queues.counters import recount as recounting
from queues.counters.recount import recount
from queues.models import AuditEvent
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


def run(*arguments: str) -> tuple[str, int]:
    """Output of the command, and its status."""
    said = StringIO()
    try:
        call_command("recount", *arguments, stdout=said)
    except SystemExit as ended:
        return said.getvalue(), int(ended.code or 0)
    return said.getvalue(), 0


def drifted(engine: Engine) -> dict[tuple[str | None, str], tuple[int, int]]:
    return {(c.lane, c.state): (c.counted, c.recounted) for c in recount(engine.queue) if c.drift}


@pytest.fixture
def limited(make_engine: Callable[..., Engine]) -> Engine:
    """A queue with two lanes, whose counters are right."""
    engine = make_engine(group_max_in_flight=1)
    for group in ("a", "b"):
        for number in range(3):
            engine.send(number, group_id=group)
    engine.receive(10)
    engine.die("dead")
    return engine


def wrong(engine: Engine) -> None:
    """Change rows by hand, bypassing the engine."""
    engine.rows("delete from signalbox.waiting where queue_id = %s and lane = 'a' returning 1", engine.queue_id)
    engine.value("select signalbox._count(%s, 1::smallint, 2)", engine.queue_id)
    engine.connection.execute("delete from signalbox.dead_letter where source_queue_id = %s", [engine.queue_id])


def test_right_counters_are_said_to_be_right(limited: Engine) -> None:
    assert run("--queue", limited.queue) == ("The counters of 1 queues match their rows.\n", 0)


def test_drift_is_shown_and_nothing_is_changed(limited: Engine) -> None:
    wrong(limited)

    said, status = run("--queue", limited.queue)

    assert status == 1
    rows = {tuple(line.split()[1:-3]): line.split()[-3:] for line in said.splitlines()[1:-1]}
    assert rows == {
        ("ready",): ["2", "0", "+2"],
        ("waiting",): ["4", "2", "+2"],
        ("dead",): ["1", "0", "+1"],
        ("a", "waiting"): ["2", "0", "+2"],
    }
    assert len(drifted(limited)) == 4


def test_a_repair_puts_everything_right_and_is_audited(limited: Engine) -> None:
    wrong(limited)

    said, status = run("--queue", limited.queue, "--repair", "--reason", "a restored disk")

    assert (status, said.splitlines()[-1]) == (0, "Repaired.")
    assert drifted(limited) == {}
    assert (limited.waiting(), limited.counted()) == (2, limited.recounted())
    limited.value("select signalbox.aggregate_counters()")
    assert drifted(limited) == {}
    event = AuditEvent.objects.get(queue_name=limited.queue, action="queue.correct_counters")
    assert event.reason == "a restored disk"
    assert event.details["changes"]["waiting of group a"] == {"before": 2, "after": 0}
    assert run("--queue", limited.queue, "--repair")[0].startswith("The counters of 1 queues")


def test_concurrent_traffic_is_no_drift(limited: Engine, connect: Callable[..., Any]) -> None:
    """The snapshot is taken, the queue changes, and only then both are read."""
    reader = limited.on(connect())
    reader.connection.execute("begin isolation level repeatable read")
    reader.value("select 1")
    limited.send("meanwhile", group_id="c")
    limited.value("select signalbox.purge(%s, states => '{leased}')", limited.queue)
    limited.value("select signalbox.aggregate_counters()")

    rows = reader.rows("select counted, recounted from signalbox.counter_drift(%s)", limited.queue_id)
    assert len(rows) == 6
    assert all(counted == recounted for counted, recounted in rows)
    reader.connection.execute("rollback")
    assert drifted(limited) == {}


def test_json_shows_every_number(limited: Engine) -> None:
    said, status = run("--queue", limited.queue, "--json")

    counts = json.loads(said)["counts"]
    assert status == 0
    assert {row["state"]: row["counted"] for row in counts} == {
        "ready": 0,
        "scheduled": 0,
        "waiting": 4,
        "leased": 2,
        "dead": 1,
        "held": 0,
    }


def test_every_queue_is_compared_unless_one_is_named(limited: Engine) -> None:
    said, _ = run("--json")
    assert limited.queue in {row["queue"] for row in json.loads(said)["counts"]}

    with pytest.raises(CommandError, match="queue 'nowhere' does not exist"):
        run("--queue", "nowhere")


@pytest.mark.parametrize("overtaken", [1, recounting.REPAIR_TRIES - 1])
def test_a_repair_that_another_action_overtakes_is_tried_again(
    limited: Engine, monkeypatch: pytest.MonkeyPatch, connect: Callable[..., Any], overtaken: int
) -> None:
    """The snapshot must be the last to have chained an audit row, or its own row would fork the chain."""
    wrong(limited)
    other, left = connect(), [overtaken]
    record = audit.record

    def overtake(*arguments: Any, **options: Any) -> Any:
        if left[0]:
            left[0] -= 1
            other.execute("insert into signalbox.audit_event (actor, action) values ('bob', 'test.meanwhile')")
        return record(*arguments, **options)

    monkeypatch.setattr(audit, "record", overtake)

    drift = recounting.repair(limited.queue, actor="ann")

    assert left == [0]
    assert len(drift) == 4
    assert drifted(limited) == {}
    assert AuditEvent.objects.filter(queue_name=limited.queue, action="queue.correct_counters").count() == 1
    assert audit.verify().intact
