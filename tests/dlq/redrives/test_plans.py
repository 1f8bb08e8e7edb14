"""The plan: what is written down before anything moves, and that it stays as it was written."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from dlq.filters import FilterError
from dlq.redrives import plans, redrives
from dlq.redrives.plan_models import Plan, PlanIsWritten
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from queues.control.queues import pause_queue
from queues.errors import InvalidArgument, QueueNotFound
from tests.dlq.dead_letter_scenes import DeadLetterScene


def make(scene: DeadLetterScene, more: str = "", **options: object) -> Plan:
    filter_text = f"{scene.filter} {more}".strip()
    return plans.make(check_filter(filter_text), actor="ann", reason="why", options=Options(**options))  # type: ignore[arg-type]


def test_it_says_whom_it_touches(scene: DeadLetterScene) -> None:
    scene.add_dead(3, age_seconds=60)
    scene.add_dead(2, error_class="KeyError", age_seconds=2 * 86_400, redrive_count=1)

    plan = make(scene)

    assert (plan.count, plan.count_is_exact, len(plan.sample_ids)) == (5, True, 5)
    impact = plan.impact
    assert impact.sources == [(scene.queue, 5)]
    assert impact.tenants == [("default", 5)]
    assert [one[1:] for one in impact.fingerprints] == [("TimeoutError", 3), ("KeyError", 2)]
    assert impact.ages == [("under 1 h", 3), ("1 to 7 d", 2)]
    assert impact.attempts == [(5, 5)]
    assert impact.redriven == [(1, 2)]
    assert (impact.left_out, impact.conflicts, impact.groups.count) == (0, 0, 0)


def test_it_is_never_written_again(scene: DeadLetterScene) -> None:
    plan = make(scene)
    plan.count = 7

    with pytest.raises(PlanIsWritten):
        plan.save()
    with pytest.raises(PlanIsWritten):
        Plan.objects.get(pk=plan.pk).save()


def test_what_dies_later_is_never_touched(scene: DeadLetterScene) -> None:
    buried = scene.add_dead(2)
    plan = make(scene)
    later = scene.add_dead(2)

    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="bob").pk)

    assert scene.redriven(job.pk) == buried
    assert scene.dead() == later
    assert (job.reason, job.created_by) == ("why", "bob")


def test_run_again_it_takes_what_is_left(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    scene.add_dead(5)
    plan = make(scene)
    first = redrives.run(plan.pk, actor="ann")
    redrives.run_slice(first.pk, seconds=0)
    redrives.cancel(first.pk, actor="ann")

    second = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert (second.moved, scene.dead()) == (3, [])


def test_groups_of_a_fifo_queue_are_listed(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    scene = make_dead_letter_scene(mode="fifo")
    for group in ("a", "a", "b"):
        scene.engine.send({}, group_id=group)
    for _ in range(3):
        scene.engine.nack(scene.engine.receive_one()[1], reason="rejected")

    groups = make(scene).impact.groups

    assert (groups.count, groups.messages) == (2, 3)
    assert groups.largest[0] == (scene.queue, "a", 2)


def test_the_order_of_a_group_is_kept(
    make_dead_letter_scene: Callable[..., DeadLetterScene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 2)
    scene = make_dead_letter_scene(mode="fifo")
    engine = scene.engine
    sent = {group: [engine.send({}, group_id=group) for _ in range(4)] for group in ("a", "b")}
    for _ in range(8):
        engine.nack(engine.receive_one()[1], reason="rejected")

    redrives.run_in_foreground(redrives.run(make(scene).pk, actor="ann").pk)
    delivered: dict[str, list[int]] = {"a": [], "b": []}
    for _ in range(8):
        message_id, handle, _, _, group = engine.receive_one()
        delivered[group].append(message_id)
        engine.ack(handle)

    assert delivered == sent


def test_deduplication_conflicts_are_reported_and_stay(make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    scene = make_dead_letter_scene(dedup_scope="in_flight")
    engine = scene.engine
    for key in ("k1", "k2"):
        engine.send({"key": key}, deduplication_id=key)
        engine.nack(engine.receive_one()[1], reason="rejected")
    engine.send({"key": "k1"}, deduplication_id="k1")  # holds the id now

    plan = make(scene)
    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert plan.impact.conflicts == 1
    assert (job.moved, job.skipped, job.skipped_why) == (1, 1, {"deduplication": 1})


def test_the_loop_guard_leaves_out_who_came_back_too_often(scene: DeadLetterScene) -> None:
    often = scene.add_dead(2, redrive_count=4)
    scene.add_dead(3, redrive_count=3)

    plan = make(scene)
    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert plan.impact.left_out == 2
    assert (job.moved, job.skipped, job.skipped_why) == (3, 2, {"redriven": 2})
    assert scene.dead() == often

    asked_for = redrives.run(plan.pk, actor="ann", max_redrives=None)
    assert redrives.run_in_foreground(asked_for.pk).moved == 2


def test_destinations_are_shown_in_their_present_state(scene: DeadLetterScene) -> None:
    scene.add_dead(1)
    plan = make(scene)
    pause_queue(scene.queue, actor="ann")
    scene.engine.receive(consumer="worker-1")

    [destination] = plans.destinations(plan)

    assert (destination.messages, destination.paused, destination.consumers) == (1, True, 1)


def test_plans_of_the_future_or_the_impossible_are_refused(scene: DeadLetterScene) -> None:
    with pytest.raises(FilterError):
        make(scene, "attempts:many")
    with pytest.raises(QueueNotFound):
        make(scene, target_queue=f"nowhere-{uuid.uuid4().hex[:6]}")
    for name, value in (("canary_messages", 10_001), ("stop_failed_percent", 101), ("slow_depth", 0)):
        with pytest.raises(InvalidArgument) as refused:
            make(scene, **{name: value})
        assert refused.value.field == name
    with pytest.raises(redrives.PlanNotFound):
        redrives.run(10**12, actor="ann")


def test_a_plan_does_not_wait_for_an_exact_count(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlq.search.counting._PORTIONS", (1,))  # as if the time were over after one
    scene.add_dead(3)

    plan = make(scene)

    assert (plan.count, plan.count_is_exact) == (1, False)
    assert redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk).moved == 3
