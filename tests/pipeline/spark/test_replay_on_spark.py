"""Replay: archived messages are selected by a filter, staged by Spark's tasks, and sent by a redrive."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from dlq.redrives import redrives
from dlq.redrives.plan_models import Plan
from dlq.redrives.staged.models import StagedMessage
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle
from tests.races.sessions import until

pytestmark = pytest.mark.timeout(600)

MANY = 100_000


def replay(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("pipeline", "replay", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def forget(engine: Engine) -> None:
    """Let the days go in which these messages ended, and the log that has their bodies."""
    engine.connection.execute("select signalbox._ensure_period('settled', '2020-03-01Z', '2020-03-02Z', 'YYYYMMDD')")
    engine.connection.execute(
        "update signalbox.settled set settled_at = '2020-03-01 12:00Z' where queue_id = %s", [engine.queue_id]
    )

    def is_gone() -> bool:  # it never waits, and so may have to be repeated
        engine.value("select signalbox.drop_history()")
        return engine.value("select to_regclass('signalbox.settled_20200301') is null")

    until(is_gone, "the end of the day")
    engine.connection.execute("delete from signalbox.message where queue_id = %s", [engine.queue_id])
    assert engine.value("select count(*) from signalbox.settled where queue_id = %s", engine.queue_id) == 0


@pytest.mark.proof
def test_a_hundred_thousand_messages_come_back_each_once(
    spark: Any, archive: Archive, make_engine: Callable[..., Engine]
) -> None:
    engine, target = make_engine(), make_engine()
    send_and_ack(engine, MANY)
    archive.run()
    forget(engine)

    made = replay(f"queue:{engine.queue}", "--target", target.queue, "--canary", "0")
    job = redrives.run_in_foreground(redrives.run(made["plan"], actor="tests", wake=False).pk)

    assert (made["rows"], job.state, job.moved, job.skipped) == (MANY, "done", MANY, 0)
    assert (
        target.value(
            "select (count(*), count(distinct payload ->> 'n'), min((payload ->> 'n')::int),"
            " max((payload ->> 'n')::int))::text"
            " from signalbox.message where queue_id = %s",
            target.queue_id,
        )
        == f"({MANY},{MANY},1,{MANY})"
    )
    assert target.counted() == target.recounted()
    assert target.counted()[0] == MANY


@pytest.mark.proof
def test_settled_messages_and_deaths_are_chosen_by_one_filter_each_once(
    spark: Any, archive: Archive, make_engine: Callable[..., Engine]
) -> None:
    """A message that failed, was redriven and acknowledged is archived twice, and replayed once; a dead letter that was
    handled otherwise is not replayed."""
    engine, target = make_engine(), make_engine()
    settle(engine, 4, attributes={"region": "eu"})
    again = engine.die({"n": 10}, error_class="Refused")
    gone = [
        engine.die({"n": 11, "big": 9007199254740993}, error_class="Refused"),
        engine.die({"n": 12, "big": 9007199254740992}, error_class="Refused"),
    ]
    engine.die({"n": 13}, error_class="Refused")
    waits = engine.die({"n": 14}, error_class="Refused")
    engine.value("select count(*) from signalbox.redrive(array[%s::bigint])", again)
    engine.ack(engine.receive_one()[1])
    archive.run()
    engine.value("select count(*) from signalbox.redrive(array[%s::bigint])", waits)
    engine.value("select signalbox.delete_dead_letters(%s::bigint[])", gone)
    both = ["--kind", "settled", "--kind", "dead_letters"]

    everything = replay(f"queue:{engine.queue}", "--target", target.queue, *both)
    one = replay(f"queue:{engine.queue} payload.big:9007199254740993", "--target", target.queue, *both)
    dead = replay(f"queue:{engine.queue} class:Refused", "--target", target.queue, "--kind", "dead_letters")
    europe = replay(f"queue:{engine.queue} attr.region:eu payload.n:>0", "--target", target.queue)
    early = replay(f"queue:{engine.queue}", "--target", target.queue, "--until", "2020-01-01")

    assert [made["rows"] for made in (everything, one, dead, europe, early)] == [7, 1, 2, 3, 0]
    assert [made["dealt_with"] for made in (everything, one, dead, europe, early)] == [2, 0, 2, 0, 0]
    assert {row.kind for row in staged(everything)} == {"settled", "dead_letters"}
    assert [json.loads(row.payload)["n"] for row in staged(everything)] == [0, 1, 2, 3, 10, 11, 12]
    assert [(row.outcome, row.fingerprint is None) for row in staged(everything)][-3:] == [
        ("acked", True),
        ("Refused", False),
        ("Refused", False),
    ]


def staged(made: dict[str, Any]) -> list[StagedMessage]:
    plan = Plan.objects.get(pk=made["plan"])
    return list(StagedMessage.objects.filter(staging_id=plan.staging_id or 0).order_by("message_id"))


def send_and_ack(engine: Engine, count: int) -> None:
    engine.connection.execute(
        "select count(*) from generate_series(1, %s, 10000) first,"
        " lateral signalbox.send_batch(%s, array(select jsonb_build_object('n', n)"
        " from generate_series(first, first + 9999) n))",
        [count, engine.queue],
    )
    while engine.rows(
        "with taken as materialized (select receipt_handle from signalbox.receive(%s, 1000))"
        " select a.* from (select array_agg(receipt_handle) as handles from taken having count(*) > 0) t,"
        " lateral signalbox.ack(t.handles) a limit 1",
        engine.queue,
    ):
        pass
