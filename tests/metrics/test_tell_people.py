"""Notifications by mail and signed webhooks: at least once, repeated after a failure, and failures are kept."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.db import connections

from metrics.alerts import message_text, notifications, webhooks
from metrics.alerts.models import Alert, Notification
from tests.metrics.receivers import Receiver, receiver

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECRET = "a secret of sixteen or more"
PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "alerts-without-prometheus.md").read_text()


@pytest.fixture(autouse=True)
def nothing_left_to_tell(commits: None, settings: LazySettings) -> Iterator[None]:
    settings.ALERTS_WEBHOOK_SECRET = SECRET
    settings.CONSOLE_URL = "https://console.example"
    Notification.objects.all().delete()
    yield
    Notification.objects.all().delete()


@pytest.fixture
def hook(settings: LazySettings) -> Iterator[Receiver]:
    with receiver() as received:
        settings.ALERTS_WEBHOOKS, settings.ALERTS_WEBHOOK_PRIVATE = [received.url], True
        yield received


def alert(**given: Any) -> Alert:
    facts = {
        "name": "SignalboxDeadLetters",
        "state": "firing",
        "severity": "warning",
        "queue_name": "orders-dlq",
        "tenant_name": "acme",
        "summary": "Dead letters above limit",
        "description": "It holds 3 messages.",
        "runbook_url": "docs/runbooks/SignalboxDeadLetters.md",
        "starts_at": NOON,
    }
    return Alert(**(facts | given))


def test_a_mail_says_what_where_since_when_and_what_to_do(settings: LazySettings) -> None:
    settings.ALERTS_MAIL_TO = ["ann@example.org", "bob@example.org"]
    settings.ENVIRONMENT = "production"

    assert notifications.write([alert(), alert(state="resolved", resolved_at=NOON, name="SignalboxQueuePaused")], NOON)
    assert notifications.deliver(NOON) == 1

    (sent,) = mail.outbox
    assert sent.to == ["ann@example.org", "bob@example.org"]
    assert sent.subject == "[production: firing] SignalboxDeadLetters of orders-dlq and 1 more"
    assert "FIRING SignalboxDeadLetters (warning)" in sent.body
    assert "https://console.example/queues/orders-dlq" in sent.body
    assert "https://console.example/runbooks/SignalboxDeadLetters" in sent.body
    assert "RESOLVED SignalboxQueuePaused" in sent.body


def test_a_webhook_is_signed(hook: Receiver) -> None:
    notifications.write([alert()], NOON)

    assert notifications.deliver(NOON) == 1
    ((headers, body),) = hook.arrived
    expected = webhooks.sign(SECRET, headers["Signalbox-Timestamp"], body)
    assert headers["Signalbox-Signature"] == expected
    told = json.loads(body)
    assert (told["version"], told["alerts"][0]["queue"]) == (1, "orders-dlq")
    assert headers["Signalbox-Notification"] == str(Notification.objects.get().pk)


def test_the_example_of_the_documentation_checks_signatures(hook: Receiver) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    notifications.write([alert()], NOON)
    notifications.deliver(NOON)
    ((headers, body),) = hook.arrived
    is_genuine = names["is_genuine"]

    assert is_genuine(SECRET, headers, body)
    assert not is_genuine("another secret", headers, body)
    assert not is_genuine(SECRET, headers, body + b" ")
    assert not is_genuine(SECRET, headers | {"Signalbox-Timestamp": "1000000000"}, body)
    stale = {"Signalbox-Timestamp": "1000000000", "Signalbox-Signature": webhooks.sign(SECRET, "1000000000", body)}
    assert not is_genuine(SECRET, headers | stale, body)


def test_what_does_not_arrive_is_sent_again_later_and_later(hook: Receiver) -> None:
    hook.answers = [500, 503]
    notifications.write([alert()], NOON)

    assert notifications.deliver(NOON) == 0
    row = Notification.objects.get()
    assert (row.state, row.attempts, row.last_error) == ("waiting", 1, "NotAcceptedError: answered 500")
    assert notifications.deliver(NOON + timedelta(seconds=4)) == 0
    assert notifications.deliver(NOON + timedelta(seconds=5)) == 0
    assert notifications.deliver(NOON + timedelta(seconds=14)) == 0
    assert len(hook.arrived) == 2
    assert notifications.deliver(NOON + timedelta(seconds=15)) == 1
    row.refresh_from_db()
    assert (row.state, row.attempts, row.last_error) == ("sent", 3, "")


def test_it_is_given_up_in_the_end_and_says_why(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ALERTS_MAIL_TO = ["ann@example.org"]

    def _refuse(*_: object) -> str:
        raise ConnectionRefusedError("no server listens\0")

    monkeypatch.setitem(notifications.SENDERS, "mail", _refuse)
    notifications.write([alert()], NOON)
    for day in range(notifications.MAX_ATTEMPTS + 1):
        notifications.deliver(NOON + timedelta(days=day))

    row = Notification.objects.get()
    assert (row.state, row.attempts) == ("failed", notifications.MAX_ATTEMPTS)
    assert row.last_error == "ConnectionRefusedError: no server listens"


@pytest.mark.parametrize(("attempts", "pause"), [(1, 5), (2, 10), (3, 20), (10, 2560), (11, 3600), (15, 3600)])
def test_pauses_double_up_to_an_hour(attempts: int, pause: float) -> None:
    assert notifications.pause_seconds(attempts) == pause


def test_a_redirect_is_not_followed(hook: Receiver) -> None:
    hook.answers = [302]
    notifications.write([alert()], NOON)

    assert notifications.deliver(NOON) == 0
    assert len(hook.arrived) == 1
    assert Notification.objects.get().last_error == "NotAcceptedError: answered 302"


def test_a_notification_of_a_killed_sender_is_sent_by_another(hook: Receiver) -> None:
    notifications.write([alert()], NOON)
    taken = notifications._take(NOON)

    assert taken is not None
    assert notifications.deliver(NOON + timedelta(seconds=119)) == 0
    assert notifications.deliver(NOON + timedelta(seconds=120)) == 1


def test_each_message_has_one_sender_at_a_time(hook: Receiver) -> None:
    for _ in range(20):
        notifications.write([alert()], NOON)
    start = threading.Barrier(3)

    def _deliver() -> None:
        start.wait(60)
        notifications.deliver(NOON)
        connections.close_all()

    threads = [threading.Thread(target=_deliver) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ids = [headers["Signalbox-Notification"] for headers, _ in hook.arrived]
    assert len(ids) == len(set(ids)) == 20


def test_one_channel_that_fails_holds_up_no_other(hook: Receiver, settings: LazySettings) -> None:
    settings.ALERTS_MAIL_TO = ["ann@example.org"]
    hook.answers = [500]
    notifications.write([alert()], NOON)

    assert notifications.deliver(NOON) == 1
    assert len(mail.outbox) == 1
    assert set(Notification.objects.values_list("channel", "state")) == {("mail", "sent"), ("webhook", "waiting")}


def test_without_channels_nothing_is_written() -> None:
    assert notifications.write([alert()], NOON) == 0
    assert Notification.objects.count() == 0


def test_many_alerts_make_one_message_that_says_how_many_more() -> None:
    told = message_text.write([alert(queue_name=f"q{number}") for number in range(250)], NOON)

    assert (len(told["alerts"]), told["more"]) == (200, 50)
    assert message_text.subject(told).endswith("and 249 more")
    assert "And 50 more." in message_text.text(told)


def test_a_subject_is_one_line(settings: LazySettings) -> None:
    settings.ALERTS_MAIL_TO = ["ann@example.org"]
    notifications.write([alert(queue_name="a\r\nBcc: eve@example.org")], NOON)

    assert notifications.deliver(NOON) == 1
    assert mail.outbox[0].subject == "[firing] SignalboxDeadLetters of a Bcc: eve@example.org"
