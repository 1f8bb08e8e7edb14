"""Purging: counted before, confirmed by the queue's name, bounded by the moment one looked."""

from __future__ import annotations

from dlq.jobs.models import Purge
from dlq.trash import purges
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.engine import Engine


def test_the_preview_counts_every_state(admin: Browser, engine: Engine) -> None:
    engine.send()
    engine.receive()
    engine.send()
    engine.send()
    engine.send(delay_seconds=60)

    text = admin.see(f"/queues/{engine.queue}/purge").text

    assert "2 Ready 1 Scheduled 1 In flight (consumers' acks will be rejected)" in text


def test_what_was_there_is_removed_and_what_came_later_stays(admin: Browser, engine: Engine) -> None:
    engine.send()
    engine.send()
    form = admin.see(f"/queues/{engine.queue}/purge").fields()
    later = engine.send()

    page = admin.submit(
        f"/queues/{engine.queue}/purge",
        **{**form, "states": ["ready", "scheduled"], "typed_name": engine.queue, "reason": "test data"},
    )
    job = purges.run_in_foreground(Purge.objects.latest("purge_id").pk)

    assert f"Purge #{job.pk} started." in page.text
    assert [row[0] for row in engine.receive(10)] == [later]
    assert AuditEvent.objects.get(action="purge.create", details__purge_id=job.pk).reason == "test data"
    assert "removed 2 of 3" in admin.see(f"/purges/{job.pk}").text


def test_the_name_of_the_queue_has_to_be_typed(admin: Browser, engine: Engine) -> None:
    engine.send()
    form = admin.see(f"/queues/{engine.queue}/purge").fields()

    page = admin.submit(
        f"/queues/{engine.queue}/purge", status=422, **{**form, "states": ["ready"], "typed_name": "x", "reason": "r"}
    )

    assert page.one("input", id="id_typed_name").attributes["aria-invalid"] == "true"
    assert len(engine.receive()) == 1


def test_a_state_has_to_be_chosen(admin: Browser, engine: Engine) -> None:
    form = admin.see(f"/queues/{engine.queue}/purge").fields()

    page = admin.submit(
        f"/queues/{engine.queue}/purge", status=422, **{**form, "typed_name": engine.queue, "reason": "r"}
    )

    assert "Choose at least one state." in page.text


def test_a_dead_letter_queue_is_purged_of_its_dead(admin: Browser, engine: Engine) -> None:
    engine.die()
    engine.die()
    path = f"/queues/{engine.queue}-dlq/purge"
    form = admin.see(path).fields()

    admin.submit(path, **{**form, "states": ["dead"], "typed_name": f"{engine.queue}-dlq", "reason": "r"})
    purges.run_in_foreground(Purge.objects.latest("purge_id").pk)

    assert "0 Dead" in admin.see(path).text


def test_a_purge_can_be_cancelled_and_is_listed(admin: Browser, engine: Engine) -> None:
    form = admin.see(f"/queues/{engine.queue}/purge").fields()
    admin.submit(
        f"/queues/{engine.queue}/purge",
        **{**form, "states": ["ready"], "typed_name": engine.queue, "reason": "r"},
    )
    job = Purge.objects.latest("purge_id")

    assert "is cancelled" in admin.submit(f"/purges/{job.pk}/cancel").text
    assert f"Purge #{job.pk} cancelled" in admin.see("/redrives").text


def test_a_viewer_sees_the_verb_disabled_and_may_not(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(f"/queues/{engine.queue}")

    assert "Purge" in [one.text.split(",")[0].split()[0] for one in page.all("span", aria_disabled="true")]
    assert viewer.post(f"/queues/{engine.queue}/purge", {"states": ["ready"]}).status_code == 403
