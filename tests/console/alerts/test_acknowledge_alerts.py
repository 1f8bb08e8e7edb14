"""Firing alerts are grouped by cause, lead to a redrive, and are acknowledged by a person."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone

from metrics.alerts import receiving
from metrics.alerts.models import Alert, Silence
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message


@pytest.fixture(autouse=True)
def no_alerts_left(commits: None) -> Iterator[None]:
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (Alert, Silence):
        model.objects.all().delete()


def found_here(name: str, queue: str, description: str) -> Alert:
    """A firing alert of the built-in check."""
    now, here = timezone.now(), Alert.Source.CONSOLE
    return Alert.objects.create(
        source=here, fingerprint=f"{name[-20:]}{queue[-20:]}", state="firing", name=name, severity="critical",
        tenant_name="default", queue_name=queue, description=description, summary=f"{name} in short",
        starts_at=now, seen_at=now, runbook_url=f"docs/runbooks/{name}.md",
    )  # fmt: skip


def test_alerts_of_one_cause_are_one_row_with_the_sentence_first(viewer: Browser, engine: Engine) -> None:
    found_here("SignalboxOldestAgeHigh", engine.queue, "Oldest ready message: 21 m (limit 30 s).")
    found_here("SignalboxNoConsumers", engine.queue, "No active consumers: 3 messages ready.")

    page = viewer.see("/alerts")

    (row,) = page.all("article")
    assert "Firing 1" in page.text
    assert "Alerts 1 (1 alert firing)" in page.text
    assert "Oldest ready message: 21 m" in row.text
    assert "No active consumers: 3 messages" in row.text
    for name in ("SignalboxOldestAgeHigh", "SignalboxNoConsumers"):
        assert row.text.index("Oldest ready message: 21 m") < row.text.index(name)
    assert page.link("Why") == f"/queues/{engine.queue}#why"
    assert "Redrive with canary" not in row.text


def test_other_queues_and_other_reasons_are_rows_of_their_own(viewer: Browser, engine: Engine) -> None:
    names = ("SignalboxDeadLetters", "SignalboxNoConsumers")
    receiving.receive(message(*(alert(name, queue=engine.queue) for name in names)))
    receiving.receive(message(alert(queue=f"other-{engine.queue}"), alert("TheirAlert"), alert("TheirAlert", host="b")))

    assert len(viewer.see("/alerts").all("article")) == 5


def test_a_dead_letter_alert_leads_to_a_redrive_of_its_queue(
    operator: Browser, viewer: Browser, engine: Engine
) -> None:
    engine.die(error_class="CardDeclined")
    receiving.receive(message(alert(queue=f"{engine.queue}-dlq")))

    address = operator.see("/alerts").link("Redrive with canary")

    assert operator.see(address).fields()["filter_text"] == f'queue:"{engine.queue}-dlq"'
    (denied, *_) = viewer.see("/alerts").all("span", role="link")
    assert "Redrive with canary" in denied.text
    assert "Redriving and triaging dead letters requires the operator role." in denied.text


def test_a_person_acknowledges_until_the_alert_ends(operator: Browser, admin: Browser, engine: Engine) -> None:
    delivery = message(alert(queue=engine.queue))
    receiving.receive(delivery)
    row = Alert.objects.get()

    done = operator.submit("/alerts/acknowledge", id=row.pk)
    assert f"1 alert acknowledged by {operator.name}." in done.text
    assert f"acknowledged by {operator.name}" in admin.see("/alerts").all("article")[0].text
    assert f"acknowledged by {operator.name}" in admin.see(f"/queues/{engine.queue}").text
    event = AuditEvent.objects.get(action="alert.acknowledge", queue_name=engine.queue)
    assert (event.actor, event.details["alerts"]) == (operator.name, ["SignalboxDeadLetters"])

    receiving.receive(delivery)  # Alertmanager repeats it
    assert "acknowledged by" in admin.see("/alerts").text
    receiving.receive(message(alert(queue=engine.queue, status="resolved")))
    receiving.receive(delivery)
    assert "acknowledged by" not in admin.see("/alerts").text


def test_an_acknowledgement_can_be_withdrawn(operator: Browser, engine: Engine) -> None:
    receiving.receive(message(alert(queue=engine.queue)))
    row = Alert.objects.get()
    operator.submit("/alerts/acknowledge", id=row.pk)

    page = operator.submit("/alerts/acknowledge", id=row.pk, withdraw="yes")

    assert "1 alert no longer acknowledged." in page.text
    assert not Alert.objects.get().acknowledged_by
    assert AuditEvent.objects.filter(action="alert.acknowledge_end", queue_name=engine.queue).count() == 1


def test_a_new_alert_of_the_cause_is_not_acknowledged(operator: Browser, engine: Engine) -> None:
    first = found_here("SignalboxOldestAgeHigh", engine.queue, "Oldest ready message: 21 m.")
    operator.submit("/alerts/acknowledge", id=first.pk)
    found_here("SignalboxNoConsumers", engine.queue, "No active consumers.")

    assert "acknowledged by" not in operator.see("/alerts").all("article")[0].text


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30, "\u0661"])
def test_an_alert_that_does_not_exist_changes_nothing(operator: Browser, number: str) -> None:
    assert "Nothing was changed" in operator.submit("/alerts/acknowledge", id=number).text
