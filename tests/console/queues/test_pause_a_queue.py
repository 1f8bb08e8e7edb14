"""Pausing and resuming: an admin says why, everybody sees it, the audit keeps it."""

from __future__ import annotations

from queues.control.queues import get_queue
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.engine import Engine


def test_a_paused_queue_hands_out_nothing_and_says_why(admin: Browser, viewer: Browser, engine: Engine) -> None:
    engine.send()

    page = admin.submit(f"/queues/{engine.queue}/pause", reason="partner is down")

    assert f"Paused {engine.queue}. It still accepts messages." in page.text
    assert "“partner is down”." in viewer.see(f"/queues/{engine.queue}").text
    assert engine.receive() == []


def test_the_audit_keeps_who_paused_and_why(admin: Browser, engine: Engine) -> None:
    admin.submit(f"/queues/{engine.queue}/pause", reason="partner is down")

    event = AuditEvent.objects.get(queue_id=engine.queue_id, action="queue.pause")
    assert (event.actor, event.reason) == (admin.name, "partner is down")


def test_a_pause_needs_a_reason(admin: Browser, engine: Engine) -> None:
    page = admin.submit(f"/queues/{engine.queue}/pause", status=422, reason="  ")

    assert "Reason : This field is required." in page.text
    assert not get_queue(engine.queue).paused


def test_resuming_hands_out_again(admin: Browser, engine: Engine) -> None:
    engine.send()
    admin.submit(f"/queues/{engine.queue}/pause", reason="partner is down")

    page = admin.submit(f"/queues/{engine.queue}/resume")

    assert f"Resumed {engine.queue}." in page.text
    assert len(engine.receive()) == 1


def test_losing_the_race_is_said_not_failed(admin: Browser, engine: Engine) -> None:
    admin.submit(f"/queues/{engine.queue}/pause", reason="first")

    assert "was paused already" in admin.submit(f"/queues/{engine.queue}/pause", reason="second").text
    admin.submit(f"/queues/{engine.queue}/resume")
    assert "was not paused" in admin.submit(f"/queues/{engine.queue}/resume").text


def test_a_viewer_sees_the_verb_disabled_with_the_reason(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(f"/queues/{engine.queue}")

    pause = next(one for one in page.all("span", aria_disabled="true") if one.text.startswith("Pause"))
    assert pause.attributes["title"] == "Pausing and resuming queues requires the operator role."
    assert not [form for form in page.all("form") if form.attributes.get("action", "").endswith("/pause")]


def test_a_queue_that_vanished_is_not_found(admin: Browser) -> None:
    assert admin.post("/queues/no-such-queue/pause", {"reason": "x"}).status_code == 404
