"""Alerts from Alertmanager are stored once, however often they are sent, and refused where they make no sense."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from metrics.alerts import alert_list, receiving
from metrics.alerts.models import Alert
from queues.errors import InvalidArgument
from tests.metrics.alertmanager import BEGAN, alert, message


@pytest.fixture(autouse=True)
def no_alerts_left(commits: None) -> Iterator[None]:
    """Remove firing alerts, which other tests would show."""
    Alert.objects.all().delete()
    yield
    Alert.objects.all().delete()


@pytest.fixture
def queue(commits: None) -> str:
    """Name that no other test uses; the queue need not exist."""
    return f"alerted-{uuid.uuid4().hex[:10]}"


def rows(queue: str) -> list[Alert]:
    return list(Alert.objects.filter(queue_name=queue).order_by("starts_at"))


def test_a_repeated_notification_is_stored_once(queue: str) -> None:
    for _ in range(3):
        receiving.receive(message(alert(queue=queue)))

    (row,) = rows(queue)
    assert (row.state, row.name, row.severity, row.tenant_name) == (
        "firing",
        "SignalboxDeadLetters",
        "warning",
        "default",
    )
    assert row.description == f"SignalboxDeadLetters of {queue} at length"


def test_an_alert_ends_when_its_source_says_so(queue: str) -> None:
    receiving.receive(message(alert(queue=queue)))
    receiving.receive(message(alert(queue=queue, status="resolved")))

    (row,) = rows(queue)
    assert (row.state, row.resolved_at.isoformat()) == ("resolved", "2026-11-20T10:30:00+00:00")


def test_an_alert_that_comes_back_fires_again(queue: str) -> None:
    receiving.receive(message(alert(queue=queue, status="resolved")))
    receiving.receive(message(alert(queue=queue)))  # Alertmanager had missed that it went on
    receiving.receive(message(alert(queue=queue, starts_at="2026-11-20T11:00:00Z")))

    before, now = rows(queue)
    assert (before.state, now.state) == ("resolved", "firing")
    assert before.resolved_at == now.starts_at  # an alert whose end was never reported


def test_word_of_an_earlier_time_that_comes_late_does_not_fire_again(queue: str) -> None:
    first, second = alert(queue=queue), alert(queue=queue, starts_at="2026-11-20T11:00:00Z")
    receiving.receive(message(second))
    receiving.receive(message(first))
    receiving.receive(message(first, second))

    assert [row.state for row in rows(queue)] == ["resolved", "firing"]


def test_a_moment_is_read_with_any_offset(queue: str) -> None:
    receiving.receive(message(alert(queue=queue, starts_at="2026-11-20T09:00:00+23:59")))

    (row,) = rows(queue)
    assert row.starts_at.isoformat() == "2026-11-19T09:01:00+00:00"


def test_a_message_counts_what_it_says(queue: str) -> None:
    received = receiving.receive(
        message(alert(queue=queue), alert("SignalboxNoConsumers", queue=queue, status="resolved"))
    )

    assert (received.firing, received.resolved) == (1, 1)


def test_an_alert_twice_in_one_message_is_one(queue: str) -> None:
    receiving.receive(message(alert(queue=queue), alert(queue=queue, status="resolved")))

    assert [row.state for row in rows(queue)] == ["resolved"]


def test_hostile_text_is_kept_as_text_and_cut(queue: str) -> None:
    told = alert(queue=queue, reason="\0<script>\ud800")
    told["annotations"]["description"] = "x" * 100_000
    receiving.receive(message(told))

    (row,) = rows(queue)
    assert row.labels["reason"] == "<script>?"
    assert len(row.description) == 2_000


def without(field: str, value: Any = None) -> dict[str, Any]:
    return alert(queue="never") | {field: value}


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ([], "body"),
        ({}, "version"),
        (message() | {"version": "3"}, "version"),
        (message() | {"alerts": {}}, "alerts"),
        (message() | {"alerts": [alert()] * 5_001}, "alerts"),
        (message("x"), "alerts[0]"),  # type: ignore[arg-type]
        (message(alert(queue="never"), without("status", "maybe")), "alerts[1].status"),
        (message(without("labels", {"alertname": 7})), "alerts[0].labels"),
        (message(without("labels", {"queue": "never"})), "alerts[0].labels.alertname"),
        (message(without("labels", {str(n): "" for n in range(65)})), "alerts[0].labels"),
        (message(without("annotations", [])), "alerts[0].annotations"),
        (message(without("fingerprint", "")), "alerts[0].fingerprint"),
        (message(without("fingerprint", "a" * 65)), "alerts[0].fingerprint"),
        (message(without("startsAt", "yesterday")), "alerts[0].startsAt"),
        (message(without("startsAt", "2026-11-20T09:00:00")), "alerts[0].startsAt"),
        (message(without("startsAt", "2026-13-40T09:00:00Z")), "alerts[0].startsAt"),
        (message(without("status", "resolved") | {"endsAt": None}), "alerts[0].endsAt"),
    ],
)
def test_what_makes_no_sense_is_refused_whole_and_says_where(commits: None, told: Any, field: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        receiving.receive(told)

    assert refusal.value.field == field
    assert rows("never") == []


def test_both_sources_make_one_line(queue: str) -> None:
    receiving.receive(message(alert(queue=queue), alert("SignalboxNoConsumers", queue=queue, severity="critical")))
    own = Alert.objects.get(queue_name=queue, name="SignalboxDeadLetters")
    own.pk, own.source, own.starts_at = None, "console", own.starts_at + timedelta(minutes=1)
    own.description = "as of now"
    own.save(force_insert=True)

    worse, both = alert_list.firing(queue)
    assert (worse.name, worse.sources) == ("SignalboxNoConsumers", ["prometheus"])
    assert (both.name, both.sources, both.since.minute) == ("SignalboxDeadLetters", ["console", "prometheus"], 0)
    assert both.descriptions == ["as of now"]


def test_episodes_apart_in_time_are_two_lines(queue: str) -> None:
    receiving.receive(message(alert(queue=queue, status="resolved")))
    receiving.receive(message(alert(queue=queue, status="firing", starts_at="2026-11-20T11:00:00Z")))

    over, now = alert_list.merge(rows(queue))
    assert (over.is_firing, now.is_firing) == (False, True)


def test_alerts_without_a_queue_are_distinguished_by_their_labels(queue: str) -> None:
    kinds = [alert("SomebodyElsesAlert", holder_kind=kind, mark=queue) for kind in ("backend", "standby")]
    receiving.receive(message(*kinds))

    assert len(alert_list.merge(Alert.objects.filter(labels__mark=queue))) == 2


def test_the_watchdog_is_missed_once_it_has_been_heard(commits: None) -> None:
    receiving.receive(message(alert("SignalboxWatchdog", severity="none")))
    heard = alert_list.read_watchdog()

    assert heard.seen_at is not None
    assert not heard.missing
    assert not alert_list.read_watchdog(heard.seen_at + timedelta(minutes=5)).missing
    assert alert_list.read_watchdog(heard.seen_at + timedelta(minutes=5, seconds=1)).missing
    assert not alert_list.Watchdog(None, timezone.now()).missing
    assert not any(one.name == "SignalboxWatchdog" for one in alert_list.firing())


def test_the_beginning_is_kept_to_the_microsecond(queue: str) -> None:
    receiving.receive(message(alert(queue=queue, starts_at=BEGAN)))

    assert rows(queue)[0].starts_at.isoformat() == "2026-11-20T09:00:00.123456+00:00"
