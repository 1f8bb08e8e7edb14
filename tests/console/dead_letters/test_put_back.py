"""Undo of a purge: the messages are found in the trash and restored."""

from __future__ import annotations

from dlq.jobs.models import Deletion, Purge, Undo
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, restore
from queues.dead_letters.ids import newest_id
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine


def purged(engine: Engine) -> Purge:
    bounds = purges.preview(engine.queue, ["ready"]).bounds
    job = purges.create(engine.queue, ["ready"], bounds, engine.queue, actor="ann", reason="<i>wrong</i> one")
    return purges.run_in_foreground(job.pk)


def test_a_purge_is_undone_from_the_trash(admin: Browser, engine: Engine) -> None:
    message_id = engine.send("precious")
    job = purged(engine)
    page = admin.see("/trash")
    (row,) = [row for row in page.rows() if f"Purge #{job.pk} " in row]
    assert f"{engine.queue} ready <i>wrong</i> one 1 0 ann" in row

    path = f"/undos/new?noun=purge&id={job.pk}"
    review = admin.see("/undos/new", noun="purge", id=str(job.pk))
    assert f"{engine.queue} 1 ready, or to the end of their message groups" in review.text
    done = admin.submit(path, **{**review.fields(), "reason": "it was needed"})
    back = restore.run_in_foreground(Undo.objects.latest("undo_id").pk)

    assert f"Undo #{back.pk} started." in done.text
    assert [row[0] for row in engine.receive(10)] == [message_id]
    assert "Restored 1" in admin.see(f"/undos/{back.pk}").text
    assert "empty" in admin.see(f"/purges/{job.pk}").text
    assert AuditEvent.objects.get(action="undo.create", details__undo_id=back.pk).reason == "it was needed"


def test_a_deletion_leads_to_its_undo(admin: Browser, scene: DeadLetterScene) -> None:
    buried = scene.add_dead(2)
    job = deletions.run_in_foreground(
        deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="").pk
    )

    page = admin.see(f"/deletions/{job.pk}")
    review = admin.see(page.link("Undo…"))
    admin.submit("/undos/new", **{**review.fields(), "reason": "back"})
    restore.run_in_foreground(Undo.objects.latest("undo_id").pk)

    assert "2 dead again" in review.text
    assert scene.dead() == buried


def test_what_is_gone_cannot_be_undone(admin: Browser, engine: Engine) -> None:
    engine.send()
    job = purged(engine)
    engine.connection.execute(
        "update signalbox.trash_batch set expires_at = now() - interval '1 hour' where trash_batch_id = %s",
        [job.trash_batch_id],
    )
    engine.value("select signalbox.empty_trash(100000)")

    page = admin.submit("/undos/new", noun="purge", id=str(job.pk), reason="late")

    assert f"nothing of purge #{job.pk} is in the trash" in page.text


def test_an_undo_needs_a_reason(admin: Browser, engine: Engine) -> None:
    engine.send()
    job = purged(engine)

    page = admin.submit("/undos/new", status=422, noun="purge", id=str(job.pk), reason="")

    assert "This field is required." in page.text
    assert engine.receive() == []


def test_addresses_that_name_nothing_are_not_found(admin: Browser) -> None:
    for query in ({}, {"noun": "redrive", "id": "1"}, {"noun": "purge", "id": "x"}, {"noun": "purge", "id": "9" * 30}):
        admin.see("/undos/new", status=404, **query)
    admin.see("/undos/999999", status=404)


def test_a_viewer_sees_the_trash_and_may_not_undo(viewer: Browser, engine: Engine) -> None:
    engine.send()
    job = purged(engine)

    page = viewer.see("/trash")

    assert f"Purge #{job.pk}" in page.text
    assert "Purging, deleting and restoring messages requires the operator role." in page.text
    viewer.see("/undos/new", status=403, noun="purge", id=str(job.pk))


def test_a_review_says_for_how_long_there_is_a_way_back(admin: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    assert "can be restored until then" in admin.see(f"/queues/{scene.queue}/purge").text
    assert "stay in the trash for 24 hours" in admin.see("/deletions/new", q=scene.filter).text


def test_a_small_deletion_need_not_be_typed(admin: Browser, scene: DeadLetterScene, settings: object) -> None:
    settings.TYPED_CONFIRMATION_ABOVE = 5  # type: ignore[attr-defined]
    scene.add_dead(2)
    form = admin.see("/deletions/new", q=scene.filter).fields()
    admin.submit("/deletions/new", **{**form, "reason": "r", "confirmation": ""})
    assert deletions.run_in_foreground(Deletion.objects.latest("deletion_id").pk).deleted == 2

    scene.add_dead(6)
    form = admin.see("/deletions/new", q=scene.filter).fields()
    page = admin.submit("/deletions/new", status=422, **{**form, "reason": "r", "confirmation": ""})
    assert "Type the word delete." in page.text
    assert len(scene.dead()) == 6


def test_a_message_in_the_trash_says_so(operator: Browser, engine: Engine, scene: DeadLetterScene) -> None:
    message_id = engine.send({"n": "the payload"})
    purged(engine)
    [letter] = scene.add_dead(1, payload={"text": "the text"})
    dead_id = engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)
    deletions.run_in_foreground(deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="").pk)

    page = operator.see(f"/queues/{engine.queue}/messages/{message_id}")
    assert "In the trash: purged. The message can be restored until the trash is emptied." in page.text
    assert "the payload" in page.text
    assert operator.get(f"/messages/{dead_id}")["Location"] == f"/queues/{scene.queue}/messages/{dead_id}"
    page = operator.see(f"/queues/{scene.queue}/messages/{dead_id}")
    assert "In the trash: deleted. The message can be restored" in page.text
    assert "the text" in page.text  # which is no longer in the log
