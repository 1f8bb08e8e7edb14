"""Somebody purged the wrong messages: they are found in the trash, and come back."""

from __future__ import annotations

from dlq import deletions, purge, undo
from dlq.models import Deletion, Purge, Undo
from dlq.selecting import newest_id
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.dlq.graveyards import Graveyard
from tests.engine import Engine


def purged(engine: Engine) -> Purge:
    bounds = purge.preview(engine.queue, ["ready"]).bounds
    job = purge.create(engine.queue, ["ready"], bounds, engine.queue, actor="ann", reason="<i>wrong</i> one")
    return purge.run_in_foreground(job.pk)


def test_a_purge_is_undone_from_the_trash(admin: Browser, engine: Engine) -> None:
    message_id = engine.send("precious")
    job = purged(engine)
    page = admin.see("/trash")
    (row,) = [row for row in page.rows() if f"Purge {job.pk} " in row]
    assert f"{engine.queue} ready <i>wrong</i> one 1 0 ann" in row

    path = f"/undos/new?noun=purge&id={job.pk}"
    review = admin.see("/undos/new", noun="purge", id=str(job.pk))
    assert f"{engine.queue} 1 ready, or to the end of their lanes" in review.text
    done = admin.submit(path, **{**review.fields(), "reason": "it was needed"})
    back = undo.run_in_foreground(Undo.objects.latest("undo_id").pk)

    assert f"Undo {back.pk} was made. It is on its way." in done.text
    assert [row[0] for row in engine.receive(10)] == [message_id]
    assert "Put back 1" in admin.see(f"/undos/{back.pk}").text
    assert "nothing of it is left there" in admin.see(f"/purges/{job.pk}").text
    assert AuditEvent.objects.get(action="undo.create", details__undo_id=back.pk).reason == "it was needed"


def test_a_deletion_leads_to_its_undo(admin: Browser, graveyard: Graveyard) -> None:
    buried = graveyard.bury(2)
    job = deletions.run_in_foreground(deletions.create(graveyard.filter, newest_id(), actor="ann", reason="").pk)

    page = admin.see(f"/deletions/{job.pk}")
    review = admin.see(page.link("Undo…"))
    admin.submit("/undos/new", **{**review.fields(), "reason": "back"})
    undo.run_in_foreground(Undo.objects.latest("undo_id").pk)

    assert "2 dead again" in review.text
    assert graveyard.dead() == buried


def test_what_is_gone_cannot_be_undone(admin: Browser, engine: Engine) -> None:
    engine.send()
    job = purged(engine)
    engine.connection.execute(
        "update signalbox.removal set expires_at = now() - interval '1 hour' where removal_id = %s", [job.removal_id]
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


def test_an_operator_sees_the_trash_and_may_not_undo(operator: Browser, engine: Engine) -> None:
    engine.send()
    job = purged(engine)

    page = operator.see("/trash")

    assert f"Purge {job.pk}" in page.text
    assert "Your role, operator, may not purge messages." in page.text
    operator.see("/undos/new", status=403, noun="purge", id=str(job.pk))


def test_a_review_says_for_how_long_there_is_a_way_back(admin: Browser, graveyard: Graveyard) -> None:
    graveyard.bury(1)

    assert "can be put back until then" in admin.see(f"/queues/{graveyard.queue}/purge").text
    assert "stay in the trash for 24 hours" in admin.see("/deletions/new", q=graveyard.filter).text


def test_a_small_deletion_need_not_be_typed(admin: Browser, graveyard: Graveyard, settings: object) -> None:
    settings.CONFIRM_ABOVE_MESSAGES = 5  # type: ignore[attr-defined]
    graveyard.bury(2)
    form = admin.see("/deletions/new", q=graveyard.filter).fields()
    admin.submit("/deletions/new", **{**form, "reason": "r", "confirmation": ""})
    assert deletions.run_in_foreground(Deletion.objects.latest("deletion_id").pk).deleted == 2

    graveyard.bury(6)
    form = admin.see("/deletions/new", q=graveyard.filter).fields()
    page = admin.submit("/deletions/new", status=422, **{**form, "reason": "r", "confirmation": ""})
    assert "Type the word delete." in page.text
    assert len(graveyard.dead()) == 6


def test_a_message_in_the_trash_says_so(operator: Browser, engine: Engine, graveyard: Graveyard) -> None:
    message_id = engine.send({"n": "the payload"})
    purged(engine)
    [letter] = graveyard.bury(1, payload={"text": "the letter"})
    dead_id = engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter)
    deletions.run_in_foreground(deletions.create(graveyard.filter, newest_id(), actor="ann", reason="").pk)

    page = operator.see(f"/queues/{engine.queue}/messages/{message_id}")
    assert "In the trash: it was purged, and can be put back" in page.text
    assert "the payload" in page.text
    assert operator.get(f"/messages/{dead_id}")["Location"] == f"/queues/{graveyard.queue}/messages/{dead_id}"
    page = operator.see(f"/queues/{graveyard.queue}/messages/{dead_id}")
    assert "In the trash: it was deleted" in page.text
    assert "the letter" in page.text  # of which nothing is in the log
