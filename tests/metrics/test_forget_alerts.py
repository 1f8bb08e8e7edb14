"""Alerts are kept for a month, and never too many of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from metrics import tasks
from metrics.alerts import receiving
from metrics.alerts.models import Alert
from tests.metrics.alertmanager import alert, message


@pytest.fixture(autouse=True)
def no_alerts_left(commits: None) -> Iterator[None]:
    Alert.objects.all().delete()
    yield
    Alert.objects.all().delete()


def left() -> set[str]:
    return set(Alert.objects.values_list("queue_name", flat=True))


def test_what_was_last_heard_of_long_ago_goes_firing_or_not() -> None:
    receiving.receive(message(*(alert(queue=name) for name in ("old", "new"))))
    receiving.receive(message(alert(queue="over", status="resolved")))
    Alert.objects.exclude(queue_name="new").update(seen_at=timezone.now() - timedelta(days=30, minutes=1))

    assert tasks.forget_alerts() == 2
    assert left() == {"new"}
    assert tasks.forget_alerts() == 0


def test_the_oldest_resolved_go_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_ROWS", 2)
    for name in ("first", "second", "third"):
        receiving.receive(message(alert(queue=name, status="resolved")))
    receiving.receive(message(alert(queue="firing")))

    assert tasks.forget_alerts() == 1
    assert left() == {"second", "third", "firing"}
