"""Replay: staged messages are sent by the machinery of redrives, each once, in order, within limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from dlq.jobs.models import Redrive
from dlq.redrives import outcomes, redrives
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.redrives.staged import plans, sets
from dlq.redrives.staged.models import Staging
from dlq.search.reach import JobReach
from queues.database.query import database_now
from queues.errors import InvalidArgument, QueueClosed, QueueNotFound
from queues.models import AuditEvent, Redriven
from queues.reach import EVERYTHING, Bounds, Reach
from tests.dlq.redrives.consumers import consumer, fail, succeed
from tests.dlq.redrives.stagings import ENDED, left, plan_of, planned, sent_to, stage
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]


def run(plan: Plan, **options: Any) -> Redrive:
    return redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", wake=False, **options).pk)


def test_all_of_a_plan_is_sent_in_the_order_of_sending(engine: Engine) -> None:
    plan = planned(engine, 25)

    job = run(plan)

    assert (job.state, job.moved, job.skipped, job.total_estimate, job.progress) == ("done", 25, 0, 25, 1.0)
    assert sent_to(engine) == list(range(1, 26))
    assert left(plan) == []
    assert engine.counted() == engine.recounted()


def test_a_replayed_message_has_what_it_was_sent_with_and_an_id_of_its_own(engine: Engine) -> None:
    given = {"group_id": "g", "trace_id": "a" * 32, "priority": 7, "deduplication_id": "d-1"}
    plan = planned(engine, 1, attributes='{"correlation_id": "c-9", "k": 1}', **given)

    job = run(plan)

    row = engine.rows(
        "select message_id, payload, attributes, group_id, trace_id, priority, deduplication_id"
        " from signalbox.message where queue_id = %s",
        engine.queue_id,
    )[0]
    assert row[1:] == ({"n": 1}, {"correlation_id": "c-9", "k": 1}, "g", "a" * 32, 7, "d-1")
    noted = Redriven.objects.get(redrive_id=job.pk)
    assert (noted.message_id, noted.dead_letter_id, noted.actor) == (row[0], -1, "ann")
    assert row[0] != 1


def test_groups_of_a_fifo_queue_keep_their_order(make_engine: MakeEngine) -> None:
    target = make_engine(mode="fifo")
    run(planned(target, 6, group_id=["a", "b", "a", "b", "a", "b"]))

    taken: list[Any] = []
    while rows := target.receive(10):
        taken += [(row[4], row[3]["n"]) for row in rows]
        target.ack(*[row[1] for row in rows])

    assert [n for group, n in taken if group == "a"] == [1, 3, 5]
    assert [n for group, n in taken if group == "b"] == [2, 4, 6]


def test_a_plan_says_what_it_would_touch(engine: Engine) -> None:
    plan = planned(
        engine,
        4,
        queue=["orders", "orders", "invoices", "orders"],
        outcome=["acked", "acked", "purged", "acked"],
        receive_count=[1, 1, 3, 1],
    )

    assert (plan.count, plan.count_is_exact, plan.sample_ids, plan.lower_bound, plan.upper_bound) == (
        4,
        True,
        [4, 3, 2, 1],
        0,
        4,
    )
    touched = Plan.objects.get(pk=plan.pk).impact
    assert touched.sources == [("orders", 3), ("invoices", 1)]
    assert touched.fingerprints == [("acked", "acked", 3), ("purged", "purged", 1)]
    assert touched.attempts == [(1, 3), (3, 1)]
    assert touched.bytes == 4 * len('{"n": 1}')
    assert AuditEvent.objects.filter(action="plan.create", actor="ann").latest("pk").details["staging_id"]


def test_a_plan_tells_conflicts_and_large_bodies_that_are_gone(engine: Engine) -> None:
    engine.send({"first": True}, deduplication_id="taken")

    plan = planned(
        engine,
        3,
        deduplication_id=["taken", "free", None],
        body_sha256=[None, None, b"x" * 32],
        payload=['"a"', '"b"', "null"],
    )

    assert plan.impact.conflicts == 1
    assert (plan.impact.large_bodies, plan.impact.large_bodies_gone) == (1, 1)


@pytest.mark.parametrize("scope", ["window", "in_flight"])
def test_who_holds_a_deduplication_id_keeps_it(make_engine: MakeEngine, scope: str) -> None:
    target = make_engine(dedup_scope=scope)
    target.send({"n": 99}, deduplication_id="taken")
    plan = planned(target, 4, deduplication_id=["taken", "twice", "twice", None])

    job = run(plan)

    assert (job.moved, job.skipped_why) == (2, {"deduplication": 2})
    assert sent_to(target) == [99, 2, 4]
    assert left(plan) == [1, 3]


def test_an_id_that_is_being_sent_with_is_not_waited_for(engine: Engine, connect: Connect) -> None:
    sender = connect(autocommit=False)
    sender.execute("select signalbox.send(%s, '1', deduplication_id => 'busy')", [engine.queue])

    job = run(planned(engine, 2, deduplication_id=["busy", None]))

    assert (job.moved, job.skipped_why) == (1, {"deduplication": 1})


def test_what_is_too_large_for_the_destination_stays(make_engine: MakeEngine) -> None:
    target = make_engine(max_payload_bytes=1024)

    job = run(planned(target, 3, payload=['{"n": 1}', f'"{"x" * 2000}"', '{"n": 3}']))

    assert (job.moved, job.skipped_why, sent_to(target)) == (2, {"too_large": 1}, [1, 3])


def test_a_large_body_is_pointed_to_again_while_the_store_has_it(engine: Engine) -> None:
    kept, gone = b"k" * 32, b"g" * 32
    engine.value("select signalbox.claim_body(%s, 300000)", kept)

    job = run(planned(engine, 2, payload="null", body_sha256=[kept, gone], body_bytes=300_000))

    assert (job.moved, job.skipped_why) == (1, {"large_body_gone": 1})
    ((sha256, size),) = engine.rows(
        "select body_sha256, body_bytes from signalbox.message where queue_id = %s", engine.queue_id
    )
    assert (sha256, size) == (kept, 300_000)


def test_a_backlog_that_is_full_is_waited_for(make_engine: MakeEngine) -> None:
    target = make_engine(max_backlog_messages=10)
    plan = planned(target, 25)
    job = redrives.run(plan.pk, actor="ann", wake=False)

    redrives.run_slice(job.pk, 0)
    redrives.run_slice(job.pk, 0)
    while redrives.run_slice(job.pk, 0) and not Redrive.objects.get(pk=job.pk).note:
        pass
    waiting = Redrive.objects.get(pk=job.pk)

    assert waiting.state == "running"
    assert waiting.moved <= 10
    assert "Waits for room: max_backlog_messages of queue" in waiting.note
    with consumer(target, target.connection, succeed):
        done = redrives.run_in_foreground(job.pk)
    assert (done.state, done.moved, done.skipped, done.note) == ("done", 25, 0, "")
    assert sent_to(target) == list(range(1, 26))


def test_a_plan_that_was_cancelled_and_run_again_takes_what_is_left(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 4)
    plan = planned(engine, 10)
    first = redrives.run(plan.pk, actor="ann", wake=False)
    redrives.run_slice(first.pk, 0)
    assert redrives.cancel(first.pk, actor="ann")

    second = run(plan)

    assert (Redrive.objects.get(pk=first.pk).moved, second.moved, second.state) == (4, 6, "done")
    assert sent_to(engine) == list(range(1, 11))


def test_a_canary_stops_when_it_fails(engine: Engine, connect: Connect) -> None:
    plan = planned(engine, 40, options={"canary_messages": 5, "stop_failed_percent": 20})

    with consumer(engine, connect(), fail):
        job = run(plan)

    assert (job.state, job.moved) == ("paused", 5)
    assert "failed again" in job.stopped_because
    assert len(left(plan)) == 35


def test_a_canary_that_succeeds_lets_the_rest_go_and_outcomes_are_counted(engine: Engine, connect: Connect) -> None:
    plan = planned(engine, 40, options={"canary_messages": 5})

    with consumer(engine, connect(), succeed):
        job = run(plan)
        while job.open_outcomes:
            with redrives.transaction.atomic():
                held = Redrive.objects.select_for_update().get(pk=job.pk)
                outcomes.look(held, database_now())
                held.save()
            job = Redrive.objects.get(pk=job.pk)

    assert (job.state, job.moved, job.succeeded, job.failed) == ("done", 40, 40, 0)


def test_deaths_that_are_dealt_with_are_left_out_and_counted(engine: Engine) -> None:
    """Staged messages: one that is dead and one that was redriven; not one that was replayed, failed and left."""
    still, sent_again, died_since = (dead_message(engine, n) for n in (1, 2, 3))
    for message_id in (sent_again, died_since):
        engine.value(
            "select count(*) from signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter"
            " where message_id = %s))",
            message_id,
        )
    later = engine.value("select now() + interval '1 hour'")

    plan = planned(
        engine,
        3,
        kind="dead_letters",
        message_id=[still, sent_again, died_since],
        ended_at=[ENDED, ENDED, later],
    )

    assert (plan.count, plan.impact.dealt_with) == (1, 2)
    assert left(plan) == [died_since]


def dead_message(engine: Engine, n: int) -> int:
    engine.die({"n": n})
    message_id: int = engine.value("select max(message_id) from signalbox.dead_letter")
    return message_id


def test_a_death_tells_whether_the_cause_is_the_old_one(engine: Engine, connect: Connect) -> None:
    dead = engine.die({"n": 0}, error_class="TimeoutError", error="timed out")
    fingerprint = engine.value("select fingerprint from signalbox.dead_letter where dead_letter_id = %s", dead)
    long_gone = [10**12 + 1, 10**12 + 2]
    deaths = {"kind": "dead_letters", "outcome": "TimeoutError", "message_id": long_gone}
    job = run(planned(engine, 2, fingerprint=[fingerprint, "another"], **deaths))

    for row in engine.receive(2):
        fail(engine, row)
    outcomes.refresh(job.pk)

    job = Redrive.objects.get(pk=job.pk)
    assert (job.failed_same, job.failed_new) == (1, 1)


def test_what_is_ready_still_is_open_and_costs_no_look_at_history(engine: Engine) -> None:
    job = run(planned(engine, 3, priority=[0, 5, 5]))

    tickets = engine.rows(
        "select n.message_id from signalbox.redriven n join signalbox.ready r on r.message_id = n.message_id"
        " and r.ready_at = n.redriven_at and r.priority = n.priority and r.queue_id = n.queue_id"
        " where n.redrive_id = %s",
        job.pk,
    )
    assert len(tickets) == 3


def test_a_patch_changes_payloads_on_the_way(engine: Engine) -> None:
    options = {"patch_kind": "merge", "patch": {"region": "eu"}}

    job = run(planned(engine, 2, payload=['{"n": 1}', '{"n": 2, "region": "us"}'], options=options))

    payloads = [
        row[0] for row in engine.rows("select payload from signalbox.message where queue_id = %s", engine.queue_id)
    ]
    assert job.moved == 2
    assert all(payload["region"] == "eu" for payload in payloads)


def test_a_rate_holds_for_what_is_staged_too(engine: Engine) -> None:
    job = redrives.run(planned(engine, 100, options={"rate_per_second": 10}).pk, actor="ann", wake=False)

    redrives.run_slice(job.pk, 0)

    assert Redrive.objects.get(pk=job.pk).moved <= 1


def test_a_destination_must_be_named_and_take_messages(make_engine: MakeEngine) -> None:
    closed = make_engine()
    closed.value("select signalbox.configure_queue(%s, %s)", closed.queue, Jsonb({"closed": True}))

    with pytest.raises(InvalidArgument, match="target_queue"):
        plans.check(Options())
    with pytest.raises(QueueNotFound):
        plans.check(Options(target_queue="nowhere"))
    with pytest.raises(QueueClosed):
        plans.check(Options(target_queue=closed.queue))


def test_a_set_that_lacks_messages_becomes_no_plan(engine: Engine) -> None:
    held = stage(3)
    plans_before = Plan.objects.count()

    with pytest.raises(sets.StagingLost, match="3 messages were staged, and 4 were chosen"):
        plans.make(
            held.pk,
            held.token,
            "",
            rows=4,
            as_of=database_now(),
            actor="ann",
            reason="",
            options=Options(target_queue=engine.queue),
        )

    assert (Plan.objects.count(), Staging.objects.get(pk=held.pk).state) == (plans_before, "filling")


def test_a_set_is_frozen_once(engine: Engine) -> None:
    held = stage(3)
    plan_of(held, engine)

    with pytest.raises(sets.StagingLost):
        plan_of(held, engine)


def test_what_was_sent_to_its_end_is_cleared_away(make_engine: MakeEngine) -> None:
    target = make_engine(max_payload_bytes=1024)
    plan = planned(target, 2, payload=['{"n": 1}', f'"{"x" * 2000}"'])
    run(plan)
    assert left(plan) == [2]

    sets.clear(60)

    assert left(plan) == []
    assert Staging.objects.get(pk=plan.staging_id).state == "gone"
    with pytest.raises(InvalidArgument, match="have been deleted"):
        redrives.run(plan.pk, actor="ann", wake=False)


def test_a_set_under_way_or_not_yet_expired_is_kept(engine: Engine) -> None:
    waiting, running = planned(engine, 2), planned(engine, 2)
    job = redrives.run(running.pk, actor="ann", wake=False)
    Staging.objects.filter(pk=running.staging_id).update(expires_at=database_now() - timedelta(seconds=1))

    sets.clear(60)

    assert (left(waiting), left(running)) == ([1, 2], [1, 2])
    redrives.cancel(job.pk, actor="ann")
    sets.clear(60)
    assert (left(waiting), left(running)) == ([1, 2], [])


def test_an_unused_plan_expires(engine: Engine) -> None:
    plan = planned(engine, 2)
    Staging.objects.filter(pk=plan.staging_id).update(expires_at=database_now() - timedelta(seconds=1))

    with pytest.raises(InvalidArgument, match="have been deleted"):
        redrives.run(plan.pk, actor="ann", wake=False)
    sets.clear(60)

    assert left(plan) == []


def test_a_set_in_use_by_a_writer_is_kept(engine: Engine, connect: Connect) -> None:
    held, writer = stage(1), connect(autocommit=False)
    writer.execute("select pg_advisory_xact_lock_shared(hashtext('signalbox.staging'), %s)", [held.pk])

    sets.discard(held.pk)
    sets.clear(60)
    before = Staging.objects.get(pk=held.pk).state
    writer.commit()
    sets.clear(60)

    assert (before, Staging.objects.get(pk=held.pk).state) == ("clearing", "gone")


def test_above_the_threshold_a_second_person_decides(engine: Engine, settings: Any) -> None:
    settings.APPROVAL_REDRIVE_MESSAGES = 3

    small = redrives.run(planned(engine, 3).pk, actor="ann", wake=False)
    large = redrives.run(planned(engine, 4).pk, actor="ann", wake=False)

    assert (small.state, large.state) == ("pending", "awaiting")


def test_who_reaches_some_queues_sees_no_plan_over_the_archive(engine: Engine) -> None:
    """The name was perhaps another tenant's queue's when its messages were archived."""
    plan = planned(engine, 1, queue=engine.queue)
    plan.filter_text = f"queue:{engine.queue}"
    job = redrives.run(plan.pk, actor="ann", wake=False)
    job.filter_text = plan.filter_text
    assert redrives.cancel(job.pk, actor="ann")

    for one in (plan, job):
        assert JobReach(EVERYTHING).sees(one)
        assert not JobReach(Reach((Bounds(None, engine.queue),))).sees(one)
