"""Interaction of bulk actions: failure groups, patches, plans, the trash and approvals."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import call_command

from dlq.failure_groups.notes import merge, split
from dlq.jobs import approvals
from dlq.jobs.models import Deletion, Redrive
from dlq.redrives import plans, redrives
from dlq.redrives.plan_options import Options
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore
from queues.dead_letters.ids import newest_id
from queues.errors import InvalidArgument
from queues.models import TrashBatch
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive, originals
from tests.engine import Engine
from tests.poison import POISONS, spoil
from tests.queues.dead_letters.clusters import counted, died, fold, recounted

pytestmark = pytest.mark.usefixtures("commits")


def delete(filter_text: str) -> int:
    job = deletions.run_in_foreground(
        deletions.create(check_filter(filter_text), newest_id(), actor="ann", reason="oops").pk
    )
    assert job.state == "done"
    return job.pk


def put_back(noun: str, job_id: int) -> int:
    job = restore.run_in_foreground(restore.create(noun, job_id, actor="ann", reason="back").pk)
    assert (job.state, job.error) == ("done", "")
    return job.restored


def test_what_comes_back_from_the_trash_is_dead_but_did_not_die_again(scene: DeadLetterScene) -> None:
    engine = scene.engine
    scene.add_dead(3)
    fold(engine)
    job = delete(scene.filter)
    assert counted(engine) == {}

    assert put_back("deletion", job) == 3

    assert counted(engine) == recounted(engine) == {"fp-TimeoutError": 3}
    assert died(engine) == {"fp-TimeoutError": 3}


def test_who_dies_in_the_transaction_of_a_restore_has_died(scene: DeadLetterScene) -> None:
    engine = scene.engine
    scene.add_dead(1)
    removal = deletions.Deletion.objects.get(pk=delete(scene.filter)).trash_batch_id

    with engine.connection.transaction():
        engine.value("select restored from signalbox.restore(%s)", removal)
        scene.add_dead(1)

    assert (counted(engine), died(engine)) == ({"fp-TimeoutError": 2}, {"fp-TimeoutError": 2})


@pytest.mark.parametrize("payload", [None, {"n": None}, "text", [1, None], 1.10])
def test_every_payload_comes_back_from_the_trash(scene: DeadLetterScene, payload: Any) -> None:
    engine = scene.engine
    engine.die(payload)
    everything = "select d::text from signalbox.dead_letter d where source_queue_id = %s"
    before = engine.rows(everything, engine.queue_id)

    assert put_back("deletion", delete(scene.filter)) == 1

    assert engine.rows(everything, engine.queue_id) == before


def delete_selected(text: str, upper_bound: int, **options: Any) -> Deletion:
    return deletions.create(check_filter(text), upper_bound, **options)


def merged_pair(scene: DeadLetterScene) -> tuple[str, str]:
    """Two fingerprints, the second merged into the first, with a dead letter of each."""
    first, second = f"A.{scene.queue}", f"B.{scene.queue}"
    scene.add_dead(1, error_class=first)
    scene.add_dead(1, error_class=second)
    return f"fp-{first}", f"fp-{second}"


def test_a_run_takes_what_the_plan_of_a_merged_cluster_showed(scene: DeadLetterScene) -> None:
    head, member = merged_pair(scene)
    merge(member, head, actor="ann")

    plan = plans.make(check_filter(f'fp:"{head}"'), actor="ann", reason="")
    assert plan.count == 2
    split(member, actor="ann")
    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert (job.moved, scene.dead()) == (2, [])


def test_a_merge_after_the_plan_adds_nothing_to_its_run(scene: DeadLetterScene) -> None:
    head, member = merged_pair(scene)
    plan = plans.make(check_filter(f'fp:"{head}"'), actor="ann", reason="")
    merge(member, head, actor="ann")

    job = redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)

    assert (plan.count, job.moved, len(scene.dead())) == (1, 1, 1)


@pytest.mark.parametrize(("bulk", "create"), [(deletions, delete_selected), (redrives, create_redrive)])
def test_a_merge_after_the_look_adds_nothing_to_what_was_looked_at(
    scene: DeadLetterScene, bulk: Any, create: Any
) -> None:
    head, member = merged_pair(scene)
    seen = plans.preview(check_filter(f'fp:"{head}"'))
    merge(member, head, actor="ann")

    job = create(seen.filter_text, seen.upper_bound, as_of=seen.as_of, actor="ann", reason="")
    job = bulk.run_in_foreground(job.pk)

    assert (seen.count.number, job.total_estimate, job.handled, len(scene.dead())) == (1, 1, 1, 1)


def patched(scene: DeadLetterScene, document: dict[str, Any]) -> Redrive:
    options = Options(patch_kind="merge", patch=document)
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="", options=options)
    return redrives.run_in_foreground(redrives.run(plan.pk, actor="ann").pk)


def empty(engine: Engine, *states: str) -> int:
    bounds = purges.preview(engine.queue, states).bounds
    return purges.run_in_foreground(
        purges.create(engine.queue, states, bounds, engine.queue, actor="ann", reason="").pk
    ).pk


def test_a_patched_message_out_of_the_trash_is_known_by_what_its_sender_sent(
    make_dead_letter_scene: Callable[..., DeadLetterScene],
) -> None:
    scene = make_dead_letter_scene(dedup_scope="in_flight")
    engine = scene.engine
    first = engine.send({"v": 1}, deduplication_id="k")
    engine.nack(engine.receive_one()[1], reason="rejected")
    job = patched(scene, {"v": 2})

    assert put_back("purge", empty(engine, "ready")) == 1

    assert engine.send({"v": 1}, deduplication_id="k") == first
    row = engine.receive_one()
    assert (row[0], row[3]) == (first, {"v": 2})
    assert [one.payload for one in originals(first)] == [{"v": 1}]
    engine.ack(row[1])
    redrives.outcomes.refresh(job.pk)
    job.refresh_from_db()
    assert (job.succeeded, job.gone, job.open_outcomes) == (1, 0, 0)


def test_an_unpatchable_payload_does_not_stop_the_others(scene: DeadLetterScene) -> None:
    for poison in (POISONS["nested arrays"], POISONS["digits"]):
        spoil(scene.engine.connection, scene.engine.send({}), f'{{"a": {poison}}}')
        handle = scene.engine.value("select receipt_handle from signalbox.receive(%s)", scene.queue)
        scene.engine.nack(handle, reason="rejected")
    scene.engine.die({"a": 1})

    job = patched(scene, {"b": 2})

    assert (job.state, job.error, job.moved, job.skipped_why) == ("done", "", 1, {"patch": 2})


def test_what_redrives_rewrote_is_forgotten_with_their_trace(scene: DeadLetterScene) -> None:
    engine = scene.engine
    ids = [row[0] for row in engine.rows("select nextval('signalbox.message_id') from generate_series(1, 2)")]
    for message_id, age in zip(ids, ("100 years", "0"), strict=True):
        engine.connection.execute(
            "insert into signalbox.redriven (dead_letter_id, message_id, queue_id, redriven_at)"
            " values (%s, %s, %s, now() - %s::interval)",
            [message_id, message_id, engine.queue_id, age],
        )
        engine.connection.execute(
            "insert into signalbox.rewritten (message_id, dead_letter_id, rewritten_at, payload)"
            " values (%s, %s, now() - %s::interval, '1')",
            [message_id, message_id, age],
        )

    engine.value("select signalbox.clean_up()")

    left = engine.rows("select message_id from signalbox.rewritten where message_id = any(%s)", ids)
    assert [row[0] for row in left] == ids[1:]


@pytest.fixture
def two_are_too_many(settings: LazySettings) -> None:
    """Jobs of more than one message wait."""
    settings.APPROVAL_REDRIVE_MESSAGES = settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_UNDO_MESSAGES = 1


@pytest.mark.usefixtures("two_are_too_many")
def test_a_plan_that_waits_for_approval_is_not_asked_for_again(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="")
    job = redrives.run(plan.pk, actor="ann")

    with pytest.raises(InvalidArgument, match=f"Already awaiting approval as redrive #{job.pk}"):
        redrives.run(plan.pk, actor="ben")

    assert approvals.approve(Redrive, job.pk, actor="ben")
    assert redrives.run_in_foreground(job.pk).moved == 2


@pytest.mark.usefixtures("two_are_too_many")
def test_an_undecided_job_blocks_nothing_after_its_expiry(scene: DeadLetterScene) -> None:
    """Nor does it need a worker that sweeps."""
    scene.add_dead(2)
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="")
    for _ in range(2):
        job = redrives.run(plan.pk, actor="ann")
        Redrive.objects.filter(pk=job.pk).update(approval_expires_at="2001-01-01T00:00Z")

    assert not approvals.approve(Redrive, job.pk, actor="ben")

    states = plan.redrives.order_by("redrive_id").values_list("state", flat=True)
    assert list(states) == ["expired", "expired"]


@pytest.mark.usefixtures("two_are_too_many")
def test_an_undo_outlives_the_wait_for_its_approval(scene: DeadLetterScene, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES, settings.TRASH_HOURS = 0, 1
    scene.add_dead(2)
    asked = restore.create("deletion", delete(scene.filter), actor="ann", reason="")

    assert asked.is_awaiting
    assert asked.approval_expires_at
    assert TrashBatch.objects.get(pk=asked.trash_batch_id).expires_at > asked.approval_expires_at + timedelta(
        minutes=30
    )


def test_outcomes_of_redrives_of_before_know_their_cause(scene: DeadLetterScene) -> None:
    """The rows do not contain the errors of the messages; the failures do."""
    engine = scene.engine
    for cause in ("Same", "Other"):
        engine.die({}, error_class=cause)
    job = create_redrive(scene.filter, newest_id(), actor="ann", reason="")
    redrives.run_in_foreground(job.pk)
    engine.connection.execute(
        "update signalbox.redriven set fingerprint = null, priority = null where redrive_id = %s", [job.pk]
    )
    for row in engine.receive(2):
        engine.nack(row[1], reason="rejected", error_class="Same")

    redrives.outcomes.refresh(job.pk)

    job.refresh_from_db()
    assert (job.failed_same, job.failed_new, job.open_outcomes) == (1, 1, 0)


@pytest.mark.usefixtures("two_are_too_many")
def test_a_terminal_says_that_a_run_waits_for_a_second_person(scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="")
    out = io.StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("redrive", "run", str(plan.pk), "--wait", stdout=out)

    assert ended.value.code == 3
    job = Redrive.objects.latest("redrive_id")
    assert f"redrive {job.pk}: awaiting, 0 sent again, 0 skipped" in out.getvalue()
    assert "approval needed: another person must approve this large redrive in the console by 20" in out.getvalue()
    assert len(scene.dead()) == 2
    job = plan.redrives.get()
    out = io.StringIO()
    call_command("redrive", "show", str(job.pk), "--json", stdout=out)
    assert (json.loads(out.getvalue())["state"], json.loads(out.getvalue())["needs_approval"]) == ("awaiting", True)


@pytest.mark.usefixtures("two_are_too_many")
def test_a_small_plan_asks_when_an_undo_has_made_it_large(scene: DeadLetterScene, settings: LazySettings) -> None:
    """Restored messages have their old ids, below the plan's bound."""
    settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_UNDO_MESSAGES = 0
    scene.add_dead(2, error_class="Gone")
    scene.add_dead(1)
    job = delete(f"{scene.filter} class:Gone")
    plan = plans.make(check_filter(scene.filter), actor="ann", reason="")
    put_back("deletion", job)

    run = redrives.run(plan.pk, actor="ann")

    assert (plan.count, run.total_estimate, run.state) == (1, 3, "awaiting")
