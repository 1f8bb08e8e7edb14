"""A scheduled message is run now or at another time, from its page, with a reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queues.models import AuditEvent, ScheduledTicket
from tests.console.browsers import Browser
from tests.engine import Engine


def address(engine: Engine, message_id: int) -> str:
    return f"/queues/{engine.queue}/messages/{message_id}"


def test_a_message_is_run_now(operator: Browser, engine: Engine) -> None:
    message_id = engine.send("later", delay_seconds=3600)

    page = operator.submit(f"{address(engine, message_id)}/run-now", reason="the customer waits")

    assert f"Message {message_id} is due now." in page.text
    assert [row[0] for row in engine.receive(10)] == [message_id]
    event = AuditEvent.objects.get(action="message.reschedule", queue_id=engine.queue_id)
    assert (event.actor, event.reason) == (operator.name, "the customer waits")
    assert event.details["due"]["before"] > event.details["due"]["after"]


def test_a_message_gets_another_time_in_utc(operator: Browser, engine: Engine) -> None:
    message_id = engine.send("soon", delay_seconds=3600)
    due = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)

    page = operator.submit(f"{address(engine, message_id)}/reschedule", due=f"{due:%Y-%m-%dT%H:%M:%S}", reason="r")

    assert f"is due at {due:%Y-%m-%d %H:%M:%S} UTC" in page.text
    assert ScheduledTicket.objects.get(message_id=message_id).due_at == due
    assert page.one("input", name="due").attributes["value"] == f"{due:%Y-%m-%d %H:%M:%S}"


def test_a_mistake_changes_nothing_and_says_what_to_do(operator: Browser, engine: Engine) -> None:
    message_id = engine.send("soon", delay_seconds=3600)
    before = ScheduledTicket.objects.get(message_id=message_id).due_at
    mistakes = {
        ("", "r"): "Due : This field is required.",
        ("tomorrow", "r"): "“tomorrow” is not a date or time.",
        ("2199-12-31T00:00", "r"): "it must be a time within a year from now",
        ("2026-01-31T10:30", ""): "Reason : This field is required.",
    }

    for (due, reason), said in mistakes.items():
        page = operator.submit(f"{address(engine, message_id)}/reschedule", status=422, due=due, reason=reason)
        assert said in page.text
    assert ScheduledTicket.objects.get(message_id=message_id).due_at == before


def test_a_message_that_has_left_is_not_changed(operator: Browser, engine: Engine) -> None:
    message_id = engine.send("ready")

    page = operator.submit(f"{address(engine, message_id)}/run-now", reason="r")

    assert f"message {message_id} is not scheduled now" in page.text
    assert not AuditEvent.objects.filter(action="message.reschedule", queue_id=engine.queue_id).exists()


def test_a_viewer_sees_both_verbs_with_the_reason(viewer: Browser, engine: Engine) -> None:
    page = viewer.see(address(engine, engine.send("later", delay_seconds=3600)))

    denied = {one.text.split(",")[0].strip() for one in page.all("span", aria_disabled="true")}
    assert {"Run now…", "Reschedule…"} <= denied


def test_several_are_run_or_rescheduled_from_the_list_up_to_a_bound(
    operator: Browser, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (engine.send(number, delay_seconds=3600 + number) for number in range(3))
    page = operator.see(f"/queues/{engine.queue}/messages", state="scheduled")
    assert page.link("Run now…") == f"/queues/{engine.queue}/run-now?id={first}"

    preview = operator.see(f"/queues/{engine.queue}/run-now", id=[first, second, 999_999])
    assert "Run 2 scheduled messages now" in preview.text
    refused = operator.submit(f"/queues/{engine.queue}/run-now", status=422, ids=preview.fields()["ids"], reason="")
    assert refused.fields()["ids"] == f"{first} {second}"
    done = operator.submit(f"/queues/{engine.queue}/run-now", ids=f"{first} {second} 999999", reason="partner is back")

    assert "2 messages are due now. 1 message had left the schedule before." in done.text
    assert sorted(row[0] for row in engine.receive(10)) == [first, second]
    event = AuditEvent.objects.get(action="message.reschedule", queue_id=engine.queue_id)
    assert event.details == {"message_ids": [first, second], "due": "now"}

    monkeypatch.setattr("console.messages.schedule_views.MAX_AT_ONCE", 1)
    engine.send("fourth", delay_seconds=9000)
    all_of_them = operator.see(f"/queues/{engine.queue}/reschedule", q="")
    assert "One change takes at most 1 message. The list has the earliest." in all_of_them.text
    assert all_of_them.fields()["ids"] == str(third)
    values = {"ids": str(third), "due": "2199-12-31", "reason": "r"}
    far = operator.submit(f"/queues/{engine.queue}/reschedule", status=422, **values)
    assert "it must be a time within a year from now" in far.text
    assert far.one("input", name="due").attributes["value"] == "2199-12-31"
