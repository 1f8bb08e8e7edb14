"""Maintenance: users look, administrators change; pages, metrics and the API show it."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from console.overview import standings
from metrics.alerts.conditions import QUEUE_CONDITIONS
from metrics.exposition.pages import render_fleet, render_settings
from metrics.reading.fleet import QueueReading, read_fleet
from queues.control import maintenance
from queues.counters.queue_numbers import read_numbers
from queues.models import Maintenance
from tests.console.browsers import Browser
from tests.engine import Engine
from tests.maintained import Begin, begin
from tests.metrics.exposition import Exposition

__all__ = ["begin"]


def test_every_page_says_who_why_and_until_when(viewer: Browser, engine: Engine, begin: Begin) -> None:
    row = begin(reason="New <b>disks</b>.")

    for path in ("/", f"/queues/{engine.queue}", "/dead-letters", "/audit", "/account"):
        page = viewer.see(path)
        assert f"Maintenance by ada, until {row.until:%d %b %H:%M} UTC." in page.text, path
        assert "“New <b>disks</b>.” Until it ends: no messages are handed out" in page.text
        assert "<b>disks" not in page.html
    fragment = viewer.fetch("/")
    assert "Maintenance by ada" in fragment.text  # an open page learns of it with its next look
    maintenance.end(actor="ada")

    assert "Maintenance by" not in viewer.see("/").text
    assert "Maintenance by" not in viewer.fetch("/").text


def test_who_is_no_administrator_changes_nothing(operator: Browser, engine: Engine, begin: Begin) -> None:
    begin()

    refused = operator.submit(f"/queues/{engine.queue}/send", status=503, payload="1", priority="0")
    assert "Under maintenance" in refused.text
    assert "New disks." in refused.text
    assert "Nothing was changed" in refused.text
    assert engine.counted()[0] == 0
    page = operator.see(f"/queues/{engine.queue}")
    denied = [one for one in page.all("span", aria_disabled="true") if one.text.startswith("Send")]
    assert "Maintenance by ada" in denied[0].attributes["title"]
    maintenance.end(actor="ada")

    operator.submit(f"/queues/{engine.queue}/send", payload="1", priority="0")
    assert engine.counted()[0] == 1


def test_a_refusal_says_when_to_come_back(operator: Browser, engine: Engine, begin: Begin) -> None:
    begin()

    answer = operator.post(f"/queues/{engine.queue}/send", {"payload": "1"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")


def test_one_s_own_affairs_go_on(operator: Browser, begin: Begin) -> None:
    begin()

    assert operator.post("/preferences", {"theme": "dark"}).status_code == 302
    for address in ("/account/recovery-codes", "/account/sign-on", "/login/sign-on"):
        assert operator.post(address).status_code == 404, "there is none of these here, whatever the maintenance"
    assert operator.post("/logout").status_code == 302


def test_administrators_go_on(admin: Browser, engine: Engine, begin: Begin) -> None:
    begin()

    page = admin.submit(f"/queues/{engine.queue}/pause", reason="while it is quiet")
    assert "Paused" in page.text
    assert "paused by maintenance" in page.text


def test_an_administrator_sees_what_it_does_before_it_is_done(admin: Browser, engine: Engine, begin: Begin) -> None:
    engine.send(1)
    plan = admin.see("/maintenance/plan", reason="New disks.", minutes="60", holds_claims="on", refuses_sends="on")
    assert "Delivery is paused" in plan.text
    assert "Sends are refused" in plan.text
    assert maintenance.current() is None
    fields = {name: value for name, value in plan.fields().items() if name != "csrfmiddlewaretoken"}
    page = admin.submit("/maintenance/begin", **fields)

    assert "Maintenance started. Every page shows a notice." in page.text
    row = maintenance.current()
    assert row is not None
    assert (row.started_by, row.reason, row.holds_claims, row.refuses_sends) == (admin.name, "New disks.", True, True)
    page = admin.submit("/maintenance/end", reason="Done.")
    assert "Maintenance ended. Every queue has its earlier state." in page.text
    assert maintenance.current() is None
    assert "Nothing was changed: maintenance had ended already." in admin.submit("/maintenance/end").text


@pytest.mark.parametrize(("reason", "minutes"), [("", "60"), ("x", "61"), ("x" * 501, "0")])
def test_a_form_that_makes_no_sense_says_so(admin: Browser, begin: Begin, reason: str, minutes: str) -> None:
    page = admin.see("/maintenance/plan", status=422, reason=reason, minutes=minutes)
    assert page.all("ul", class_="errorlist")
    admin.submit("/maintenance/begin", status=422, reason=reason, minutes=minutes)
    assert maintenance.current() is None


def test_beginning_asks_for_the_password_again(admin: Browser, begin: Begin) -> None:
    session = admin.session
    session["password_checked_at"] = 0
    session.save()

    answer = admin.post("/maintenance/begin", {"reason": "x", "minutes": "60"})
    assert (answer.status_code, b"Confirm your password" in answer.content) == (403, True)
    assert maintenance.current() is None


def test_a_queue_says_that_it_is_held(viewer: Browser, engine: Engine, begin: Begin) -> None:
    engine.send(1)
    begin()

    page = viewer.see(f"/queues/{engine.queue}")
    assert "Held by maintenance." in page.text
    assert "Maintenance holds every queue" in page.text
    assert "paused by maintenance" in page.text


def test_metrics_show_maintenance_and_backlog_alerts_are_muted(engine: Engine, begin: Begin) -> None:
    engine.send(1)
    engine.value(
        "update signalbox.ready set ready_at = ready_at - interval '1 day' where queue_id = %s returning 1",
        engine.queue_id,
    )
    engine.value("select signalbox.configure_queue(%s, '{\"alert_oldest_age_seconds\": 1}')", engine.queue)
    assert firing(engine) == {"SignalboxOldestAgeHigh", "SignalboxNoConsumers"}
    begin()

    assert firing(engine) == set()
    fleet = read_fleet()
    page = Exposition.parse(render_fleet(fleet))
    assert (page.value("maintenance"), page.value("maintenance_overdue_seconds")) == (1, 0)
    (numbers,) = [one for one in fleet.queues if one.name == engine.queue]
    info = Exposition.parse(render_settings(fleet)).series("queue_info", queue=numbers.name)
    assert {dict(labels)["paused"] for labels in info} == {"true"}
    maintenance.end(actor="ada")

    assert firing(engine) == {"SignalboxOldestAgeHigh", "SignalboxNoConsumers"}
    assert Exposition.parse(render_fleet(read_fleet())).value("maintenance") == 0


def firing(engine: Engine) -> set[str]:
    """Alerts of the built-in rules for the queue."""
    (numbers,) = [one for one in read_numbers() if one.name == engine.queue]
    return {name for name, condition in QUEUE_CONDITIONS.items() if condition(QueueReading(numbers))}


def test_one_that_is_late_says_so(viewer: Browser, begin: Begin) -> None:
    begin()
    Maintenance.objects.update(until=timezone.now() - timedelta(minutes=5))
    standings.forget()

    assert "announced until" in viewer.see("/").text
    page = Exposition.parse(render_fleet(read_fleet()))
    assert 300 <= page.value("maintenance_overdue_seconds") < 3600 * 24


def test_it_is_on_and_off_from_a_terminal(engine: Engine, begin: Begin) -> None:
    def said(*arguments: str) -> str:
        out = io.StringIO()
        call_command("maintenance", *arguments, stdout=out)
        return out.getvalue().strip()

    assert said("status") == "off"
    assert said("on", "--reason", "New disks.", "--dry-run").startswith("would hold")
    assert maintenance.current() is None
    on = said("on", "--reason", "New disks.", "--until", "2h", "--refuse-sends")
    assert on.startswith("on, by manage.py, until ")
    assert "New disks. (no messages are handed out, sends are refused, only administrators can make changes)" in on
    assert json.loads(said("status", "--json"))["refuses_sends"] is True
    assert said("off", "--reason", "Done.") == "off: every queue goes on as it was"
    assert said("off") == "it was off already"
    assert json.loads(said("status", "--json")) == {"on": False}
    with pytest.raises(CommandError, match="--until is 'soon'"):
        said("on", "--reason", "x", "--until", "soon")
    with pytest.raises(CommandError, match="reason is missing"):
        said("on", "--reason", " ")
