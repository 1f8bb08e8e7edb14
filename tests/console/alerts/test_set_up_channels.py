"""An administrator sets up a channel, tests it, and reads its last delivery; everybody sees who gets alerts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from metrics.alerts.models import AlertChannel, Notification
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.metrics.receivers import receiver

SECRET = "a secret of sixteen or more"


@pytest.fixture(autouse=True)
def no_channels_left(commits: None, settings: LazySettings) -> Iterator[None]:
    settings.ALERTS_WEBHOOK_HTTP = settings.ALERTS_WEBHOOK_PRIVATE = True
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (AlertChannel, Notification):
        model.objects.all().delete()


def sent(browser: Browser, path: str, status: int = 200, **fields: str) -> Page:
    answer = browser.post(path, fields, follow=True)
    assert answer.status_code == status, answer.content.decode()[:2000]
    return Page(answer.content.decode())


def test_a_channel_is_made_tested_changed_and_removed(admin: Browser, viewer: Browser) -> None:
    assert "No channels" in admin.see("/alerts/channels").text
    with receiver() as hook:
        new = {"name": "On call", "address": f"{hook.url}/T0", "secret": SECRET, "severities": "critical"}
        page = sent(admin, "/alerts/channels/new/webhook", **new, enabled="on")
        assert "Created the channel On call." in page.text
        made = AlertChannel.objects.get()
        assert "The test arrived. The receiver answered 204." in sent(admin, f"/alerts/channels/{made.pk}/test").text
        hook.answers = [404]
        page = sent(admin, f"/alerts/channels/{made.pk}/test")
        assert "The test did not arrive. The receiver answered 404" in page.text
        assert "NotAcceptedError: answered 404" in page.text
    assert len(hook.arrived) == 2

    shown = admin.see(f"/alerts/channels/{made.pk}")
    assert "/T0" not in shown.html
    assert SECRET not in shown.html
    fields = shown.fields() | {"name": "On call 2", "queue": "orders-*"}
    assert "Changed the channel On call 2." in sent(admin, f"/alerts/channels/{made.pk}", **fields).text
    stale = sent(admin, f"/alerts/channels/{made.pk}", status=422, **fields)
    assert "changed this channel after you opened it" in stale.text

    seen = viewer.see("/alerts/channels")
    assert "On call 2" in seen.text
    assert "critical alerts of orders-*" in seen.text
    assert "Managing people and access requires the admin role." in seen.text
    assert "On call (127.0.0.1)" in viewer.see("/alerts/notifications").text

    assert "Removed the channel" in sent(admin, f"/alerts/channels/{made.pk}/remove", reason="unused").text
    events = AuditEvent.objects.filter(action__startswith="alert.channel").order_by("-audit_event_id")[:5]
    assert [one.action.removeprefix("alert.channel_") for one in events] == [
        "remove",
        "change",
        "test",
        "test",
        "create",
    ]


def test_a_refused_form_names_the_field_and_keeps_no_secret(admin: Browser) -> None:
    given = {"name": "x", "address": "gopher://hook", "secret": SECRET, "severities": "critical"}
    page = sent(admin, "/alerts/channels/new/webhook", status=422, **given)

    assert "must be a URL with https or http" in page.text
    assert SECRET not in page.html
    assert not AlertChannel.objects.exists()


def test_the_channels_of_the_environment_are_listed_without_their_secrets(
    viewer: Browser, settings: LazySettings
) -> None:
    settings.ALERTS_MAIL_TO, settings.ALERTS_WEBHOOKS = ["ann@example.org"], ["https://hook.example/T0-secret"]
    page = viewer.see("/alerts/channels")

    assert "ann@example.org" in page.text
    assert "hook.example" in page.text
    assert "T0-secret" not in page.html
