"""An operator silences a known alert: it stays on the page and sends no notification."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from metrics.alerts import receiving
from metrics.alerts.models import Alert, Notification, Silence
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message


@pytest.fixture(autouse=True)
def no_alerts_left(commits: None) -> Iterator[None]:
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (Alert, Silence, Notification):
        model.objects.all().delete()


def asked(browser: Browser, status: int = 200, **fields: str) -> Page:
    """The answer to the form."""
    given = {"alert": "", "queue": "", "hours": "4", "comment": "known"} | fields
    answer = browser.post("/alerts/silences", given, follow=True)
    assert answer.status_code == status, answer.content.decode()[:2000]
    return Page(answer.content.decode())


def test_an_operator_silences_an_alert_from_its_line_and_ends_it(operator: Browser, engine: Engine) -> None:
    receiving.receive(message(alert(queue=engine.queue), alert("SignalboxMessageGroupsStuck", queue=engine.queue)))
    line = operator.see("/alerts").link("Silence… SignalboxDeadLetters")
    form = operator.see(line)
    assert (form.fields()["alert"], form.fields()["queue"]) == ("SignalboxDeadLetters", engine.queue)
    assert "Matching firing alerts 1" in form.text

    done = asked(operator, alert="SignalboxDeadLetters", queue=engine.queue, comment="vendor is on it")
    assert f"Silenced SignalboxDeadLetters of {engine.queue}." in done.text

    page = operator.see("/alerts")
    assert "Firing 2" in page.text
    assert page.text.index("SignalboxMessageGroupsStuck") < page.text.index("SignalboxDeadLetters")
    assert "silenced until" in page.text
    assert f"vendor is on it ({operator.name})" in page.text
    assert "Alerts 1 (1 alert firing)" in page.text
    assert "silenced until" in operator.see(f"/queues/{engine.queue}").text
    event = AuditEvent.objects.get(action="alert.silence", queue_name=engine.queue)
    assert (event.actor, event.reason, event.details["alert"]) == (
        operator.name,
        "vendor is on it",
        "SignalboxDeadLetters",
    )

    silence = Silence.objects.get()
    assert "The silence ended." in operator.submit(f"/alerts/silences/{silence.pk}/end").text
    assert "had ended already" in operator.submit(f"/alerts/silences/{silence.pk}/end").text
    assert "silenced until" not in operator.see("/alerts").text
    assert AuditEvent.objects.filter(action="alert.silence_end", queue_name=engine.queue).count() == 1


def test_what_a_silence_matches_is_shown_before_it_is_made(operator: Browser, engine: Engine) -> None:
    receiving.receive(message(alert(queue=engine.queue), alert(queue=f"other-{engine.queue}")))

    page = asked(operator, queue="other-*", comment="", preview="yes")

    assert "Matching firing alerts 1" in page.text
    assert f"other-{engine.queue} at length" in page.text
    assert not Silence.objects.exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "name at least one of them"),
        ({"alert": "*", "queue": "**"}, "name at least one of them"),
        ({"alert": "a b"}, "alert is a name of at most 200 letters and digits"),
        ({"queue": "<script>"}, "queue is a name of at most 100 letters and digits"),
        ({"queue": "orders", "comment": " "}, "This field is required."),
        ({"queue": "orders", "hours": "9999"}, "Select a valid choice"),
    ],
)
def test_a_silence_that_makes_no_sense_says_where(operator: Browser, given: dict[str, str], said: str) -> None:
    assert said in asked(operator, status=422, **given).text
    assert not Silence.objects.exists()


def test_there_are_never_too_many(operator: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metrics.alerts.silences.MAX_ACTIVE", 1)
    asked(operator, queue="one")

    assert "there are 1 silences: end one first" in asked(operator, status=422, queue="two").text


def test_the_longest_is_thirty_days(operator: Browser) -> None:
    asked(operator, queue="orders", hours="720")

    assert Silence.objects.get().ends_at > timezone.now() + timedelta(days=29)


def test_a_viewer_sees_why_not(viewer: Browser, engine: Engine) -> None:
    receiving.receive(message(alert(queue=engine.queue)))
    for path in ("/alerts", "/alerts/silences"):
        assert "Silencing alerts requires the operator role." in viewer.see(path).text


def test_a_watchdog_can_be_given_up(operator: Browser) -> None:
    receiving.receive(message(alert("SignalboxWatchdog", severity="none")))
    Alert.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    assert "Prometheus has stopped reporting" in operator.see("/").text

    asked(operator, alert="SignalboxWatchdog*")
    assert "Prometheus has stopped reporting" not in operator.see("/").text


def test_what_did_not_arrive_says_why_and_keeps_the_address_to_itself(viewer: Browser, settings: LazySettings) -> None:
    news = {
        "alerts": [{"status": "firing", "alert": "SignalboxDeadLetters", "queue": "orders<b>", "severity": "warning"}],
        "more": 0,
    }
    hook = "https://hooks.example/services/top-secret"
    Notification.objects.create(channel="webhook", target=hook, news=news, attempts=2, last_error="answered <500>")
    Notification.objects.create(channel="mail", target="ann@example.org", news=news, state="sent", attempts=1)

    page = viewer.see("/alerts/notifications")
    assert "[firing] SignalboxDeadLetters of orders<b>" in page.text
    assert "answered <500> Next attempt" in page.text
    assert "webhook hooks.example" in page.text
    assert "top-secret" not in page.html
    assert "mail ann@example.org" in page.text
    assert "No notifications are sent" in page.text
    settings.ALERTS_MAIL_TO = ["ann@example.org"]
    assert "No notifications are sent" not in viewer.fetch("/alerts/notifications").text
