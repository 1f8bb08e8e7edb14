"""The plan: what is written down before anything moves, and that it stays as it was written."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from dlq import plans, redrives
from dlq.filters import FilterError
from dlq.models import Plan
from dlq.plan_models import PlanIsWritten
from dlq.plan_options import Options
from queues.control import pause_queue
from queues.errors import InvalidArgument, QueueNotFound
from tests.dlq.graveyards import Graveyard


def make(graveyard: Graveyard, more: str = "", **options: object) -> Plan:
    filter_text = f"{graveyard.filter} {more}".strip()
    return plans.make(filter_text, actor="ann", reason="why", options=Options(**options))  # type: ignore[arg-type]


def test_it_says_whom_it_touches(graveyard: Graveyard) -> None:
    graveyard.bury(3, age_seconds=60)
    graveyard.bury(2, error_class="KeyError", age_seconds=2 * 86_400, redrive_count=1)

    plan = make(graveyard)

    assert (plan.count, plan.count_is_exact, len(plan.sample_ids)) == (5, True, 5)
    radius = plan.radius
    assert radius["sources"] == [[graveyard.queue, 5]]
    assert radius["tenants"] == [["default", 5]]
    assert [one[1:] for one in radius["fingerprints"]] == [["TimeoutError", 3], ["KeyError", 2]]
    assert radius["ages"] == [["under 1 h", 3], ["1 to 7 d", 2]]
    assert radius["attempts"] == [[5, 5]]
    assert radius["redriven"] == [[1, 2]]
    assert (radius["left_out"], radius["conflicts"], radius["groups"]["count"]) == (0, 0, 0)


def test_it_is_never_written_again(graveyard: Graveyard) -> None:
    plan = make(graveyard)
    plan.count = 7

    with pytest.raises(PlanIsWritten):
        plan.save()
    with pytest.raises(PlanIsWritten):
        Plan.objects.get(pk=plan.pk).save()


def test_what_dies_later_is_never_touched(graveyard: Graveyard) -> None:
    buried = graveyard.bury(2)
    plan = make(graveyard)
    later = graveyard.bury(2)

    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="bob").pk)

    assert graveyard.redriven(job.pk) == buried
    assert graveyard.dead() == later
    assert (job.reason, job.created_by) == ("why", "bob")


def test_run_again_it_takes_what_is_left(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    graveyard.bury(5)
    plan = make(graveyard)
    first = redrives.run(plan.pk, actor="ann")
    redrives.run_slice(first.pk, seconds=0)
    redrives.cancel(first.pk, actor="ann")

    second = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert (second.moved, graveyard.dead()) == (3, [])


def test_groups_of_a_fifo_queue_are_told(make_graveyard: Callable[..., Graveyard]) -> None:
    graveyard = make_graveyard(mode="fifo")
    for group in ("a", "a", "b"):
        graveyard.engine.send({}, group_id=group)
    for _ in range(3):
        graveyard.engine.nack(graveyard.engine.receive_one()[1], reason="rejected")

    groups = make(graveyard).radius["groups"]

    assert (groups["count"], groups["messages"]) == (2, 3)
    assert groups["largest"][0] == [graveyard.queue, "a", 2]


def test_the_order_of_a_group_is_kept(
    make_graveyard: Callable[..., Graveyard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    graveyard = make_graveyard(mode="fifo")
    engine = graveyard.engine
    sent = {group: [engine.send({}, group_id=group) for _ in range(4)] for group in ("a", "b")}
    for _ in range(8):
        engine.nack(engine.receive_one()[1], reason="rejected")

    redrives.run_in_foreground(redrives.run(make(graveyard).pk, actor="ann").pk)
    delivered: dict[str, list[int]] = {"a": [], "b": []}
    for _ in range(8):
        message_id, handle, _, _, group = engine.receive_one()
        delivered[group].append(message_id)
        engine.ack(handle)

    assert delivered == sent


def test_messages_whose_id_another_holds_are_told_and_stay(make_graveyard: Callable[..., Graveyard]) -> None:
    graveyard = make_graveyard(dedup_scope="in_flight")
    engine = graveyard.engine
    for key in ("k1", "k2"):
        engine.send({"key": key}, deduplication_id=key)
        engine.nack(engine.receive_one()[1], reason="rejected")
    engine.send({"key": "k1"}, deduplication_id="k1")  # holds the id now

    plan = make(graveyard)
    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert plan.radius["conflicts"] == 1
    assert (job.moved, job.skipped, job.skipped_why) == (1, 1, {"deduplication": 1})


def test_the_loop_guard_leaves_out_who_came_back_too_often(graveyard: Graveyard) -> None:
    often = graveyard.bury(2, redrive_count=4)
    graveyard.bury(3, redrive_count=3)

    plan = make(graveyard)
    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert plan.radius["left_out"] == 2
    assert (job.moved, job.skipped, job.skipped_why) == (3, 2, {"redriven": 2})
    assert graveyard.dead() == often

    asked_for = redrives.run(plan.pk, actor="ann", most_redrives=None)
    assert redrives.run_in_foreground(asked_for.pk).moved == 2


def test_destinations_are_told_as_they_are_now(graveyard: Graveyard) -> None:
    graveyard.bury(1)
    plan = make(graveyard)
    pause_queue(graveyard.queue, actor="ann")
    graveyard.engine.receive(consumer="worker-1")

    [destination] = plans.destinations(plan)

    assert (destination.messages, destination.paused, destination.consumers) == (1, True, 1)


def test_nobody_plans_the_future_or_the_impossible(graveyard: Graveyard) -> None:
    with pytest.raises(FilterError):
        make(graveyard, "attempts:many")
    with pytest.raises(QueueNotFound):
        make(graveyard, target_queue=f"nowhere-{uuid.uuid4().hex[:6]}")
    for name, value in (("canary_messages", 10_001), ("stop_failed_percent", 101), ("slow_depth", 0)):
        with pytest.raises(InvalidArgument) as refused:
            make(graveyard, **{name: value})
        assert refused.value.field == name
    with pytest.raises(redrives.PlanNotFound):
        redrives.run(10**12, actor="ann")


def test_a_plan_does_not_wait_for_an_exact_count(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlq.counting._PORTIONS", (1,))  # as if the time were over after one
    graveyard.bury(3)

    plan = make(graveyard)

    assert (plan.count, plan.count_is_exact) == (1, False)
    assert redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk).moved == 3
