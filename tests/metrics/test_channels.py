"""Channels of the console: what they get, what is kept of their secrets, and receivers that misbehave."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.db import connection

from metrics.alerts import channels, notifications, webhooks
from metrics.alerts.channels import ChannelFields
from metrics.alerts.models import AlertChannel, Notification
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.metrics.receivers import Receiver, receiver
from tests.metrics.test_tell_people import NOON, SECRET, alert


@pytest.fixture(autouse=True)
def no_channels_left(commits: None, settings: LazySettings) -> Iterator[None]:
    settings.ALERTS_WEBHOOK_HTTP = settings.ALERTS_WEBHOOK_PRIVATE = True
    settings.CONSOLE_URL = "https://console.example"
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (AlertChannel, Notification):
        model.objects.all().delete()


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as received:
        yield received


def channel(kind: str, address: str, name: str = "on call", **fields: Any) -> AlertChannel:
    return channels.create(kind, ChannelFields(name, address, **fields), actor="ann")


def test_each_channel_gets_the_alerts_that_it_asks_for(hook: Receiver) -> None:
    channel("webhook", hook.url, "signed", secret=SECRET, severities=("critical",))
    channel("slack", hook.url, "chat", queue="orders-*", tenant="acme")
    channel("mail", "ann@example.org, bob@example.org", "mail")
    channel("mail", "nobody@example.org", "off", enabled=False)
    critical = alert(severity="critical", queue_name="payments", description="<!channel> & 3 messages")

    assert notifications.write([alert(), critical], NOON) == 3
    assert notifications.deliver(NOON) == 3

    (headers, signed), (_, chat) = hook.arrived
    assert [one["queue"] for one in json.loads(signed)["alerts"]] == ["payments"]
    assert headers["Signalbox-Signature"] == webhooks.sign(SECRET, headers["Signalbox-Timestamp"], signed)
    text = json.loads(chat)["text"]
    assert text.startswith("*FIRING* SignalboxDeadLetters of orders-dlq (warning)\nIt holds 3 messages.\n")
    assert "<https://console.example/queues/orders-dlq|Open>" in text
    assert "payments" not in text
    assert [sent.to for sent in mail.outbox] == [["ann@example.org", "bob@example.org"]]
    assert AlertChannel.objects.filter(last_sent_at=NOON).count() == 3


def test_a_chat_reads_no_mention_in_an_alert(hook: Receiver) -> None:
    channel("slack", hook.url)
    notifications.write([alert(description="<!channel> & <https://evil.example|click>")], NOON)
    notifications.deliver(NOON)

    assert "&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;" in json.loads(hook.arrived[0][1])["text"]


def test_a_failure_is_kept_with_the_channel_and_tried_again(hook: Receiver) -> None:
    made = channel("slack", hook.url)
    hook.answers = [500]
    notifications.write([alert()], NOON)

    assert notifications.deliver(NOON) == 0
    made.refresh_from_db()
    assert (made.last_sent_at, made.last_error, made.last_error_at) == (None, "NotAcceptedError: answered 500", NOON)
    later = NOON + timedelta(seconds=5)
    assert notifications.deliver(later) == 1
    made.refresh_from_db()
    assert (made.last_sent_at, made.last_error) == (later, "")


def test_secrets_are_in_no_table_and_no_audit(hook: Receiver, settings: LazySettings) -> None:
    made = channel("webhook", f"{hook.url}/T0-very-secret", secret=SECRET)
    again = ChannelFields("renamed", secret=f"another {SECRET}")
    channels.change(made.pk, again, version=1, actor="bob")
    notifications.write([alert()], NOON)

    with connection.cursor() as cursor:
        for table in ("alert_channel", "alert_notification", "audit_event"):
            cursor.execute(f"select coalesce(string_agg(t::text, ' '), '') from signalbox.{table} t")
            (rows,) = cursor.fetchone()
            assert "T0-very-secret" not in rows
            assert SECRET not in rows
    changed = AuditEvent.objects.filter(action="alert.channel_change").latest("audit_event_id")
    assert (changed.actor, changed.details["after"]["secret"]) == ("bob", "replaced")
    assert "address" not in changed.details["after"]
    assert notifications.deliver(NOON) == 1  # the address was kept, the secret replaced
    ((headers, body),) = hook.arrived
    assert headers["Signalbox-Signature"] == webhooks.sign(f"another {SECRET}", headers["Signalbox-Timestamp"], body)

    settings.SECRET_KEY = "another key"
    notifications.write([alert()], NOON)
    assert notifications.deliver(NOON) == 0
    assert "SECRET_KEY_FALLBACKS" in Notification.objects.latest("notification_id").last_error


def test_a_channel_that_is_off_or_gone_gives_up_what_waits(hook: Receiver) -> None:
    off, gone = channel("slack", hook.url, "off"), channel("slack", hook.url, "gone")
    notifications.write([alert()], NOON)
    channels.change(off.pk, ChannelFields("off", enabled=False), version=1, actor="ann")
    assert channels.remove(gone.pk, actor="ann", reason="unused")
    assert not channels.remove(gone.pk, actor="ann", reason="unused")

    assert notifications.deliver(NOON) == 0
    assert hook.arrived == []
    errors = set(Notification.objects.filter(state="failed").values_list("last_error", flat=True))
    assert errors == {"The channel was switched off.", "The channel was removed."}


def test_of_two_changes_of_one_version_the_second_is_refused() -> None:
    made = channel("mail", "ann@example.org")
    channels.change(made.pk, ChannelFields("first"), version=1, actor="bob")

    with pytest.raises(InvalidArgument, match="bob changed this channel after you opened it"):
        channels.change(made.pk, ChannelFields("second"), version=1, actor="ann")


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("pager", {"address": "x"}, "kind"),
        ("mail", {"address": ""}, "address"),
        ("mail", {"address": "ann@example.org, b\r\nBcc: eve"}, "address"),
        ("mail", {"address": ",".join(["a@b.example"] * 21)}, "address"),
        ("mail", {"address": "a@b.example", "secret": SECRET}, "secret"),
        ("mail", {"address": "a@b.example", "severities": ()}, "severities"),
        ("mail", {"address": "a@b.example", "severities": ("info",)}, "severities"),
        ("mail", {"address": "a@b.example", "name": "\n"}, "name"),
        ("mail", {"address": "a@b.example", "queue": "a b"}, "queue"),
        ("mail", {"address": "a@b.example", "tenant": "<x>"}, "tenant"),
        ("webhook", {"address": "https://hook.example/x", "secret": "short"}, "secret"),
        ("slack", {"address": "http://hook.example/x"}, "address"),
        ("slack", {"address": "https://user@hook.example/x"}, "address"),
        ("slack", {"address": "https://169.254.169.254/latest"}, "address"),
        ("slack", {"address": "https://[::ffff:127.0.0.1]/"}, "address"),
        ("slack", {"address": "file:///etc/passwd"}, "address"),
    ],
)
def test_a_mistake_names_its_field(kind: str, fields: dict[str, Any], field: str, settings: LazySettings) -> None:
    settings.ALERTS_WEBHOOK_HTTP = settings.ALERTS_WEBHOOK_PRIVATE = False

    with pytest.raises(InvalidArgument) as refused:
        channels.create(kind, ChannelFields(**{"name": "n", **fields}), actor="ann")
    assert refused.value.field == field
    assert not AlertChannel.objects.exists()


def test_a_name_that_resolves_to_this_machine_is_refused_at_delivery(settings: LazySettings) -> None:
    settings.ALERTS_WEBHOOK_PRIVATE = False
    made = channel("slack", "https://localhost/services/T0")

    assert "PrivateAddressError" in notifications.send_test(made, actor="ann").answer


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The receiver sends a header now and then, so that no single read times out."""
    monkeypatch.setattr(webhooks, "MAX_SECONDS", 0.2)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def _drip() -> None:
            taken, _ = server.accept()
            with taken:
                taken.sendall(b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.01):
                    try:
                        taken.sendall(b"X: 1\r\n")
                    except OSError:
                        return

        thread = threading.Thread(target=_drip)
        thread.start()
        try:
            with pytest.raises(TimeoutError, match=r"no complete answer within 0\.2 s"):
                webhooks.post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {}, 60)
        finally:
            over.set()
            thread.join()
