"""The console's own look for alerts: what holds for long enough fires, what is over ends, a restart loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from django.conf import LazySettings
from django.db import connections

from metrics.alerts import episodes, evaluating, receiving, silences
from metrics.alerts.evaluating import Outcome
from metrics.alerts.models import Alert, Evaluation, Notification, Silence
from metrics.alerts.own_rules import MAINTENANCE_OVERDUE, OWN_RULES
from queues import clock, maintenance
from queues.counters import read_numbers
from queues.maintenance.models import Maintenance
from tests.engine import Engine
from tests.maintained import Begin, begin
from tests.metrics.alertmanager import alert, message

__all__ = ["begin"]

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

Look = Callable[..., Outcome]
Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture(autouse=True)
def no_alerts_left(commits: None, settings: LazySettings) -> Iterator[None]:
    settings.ALERTS_MAIL_TO = ["ops@example.org"]
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (Alert, Evaluation, Notification, Silence):
        model.objects.all().delete()


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Look:
    """Looks at this test's queue and its dead-letter queue alone, so many seconds after noon."""
    holder = engine.value("select signalbox.create_queue(%s)", f"{engine.queue}-dlq")
    engine.value("select signalbox.configure_queue(%s, '{\"alert_no_consumers_seconds\": 0}')", engine.queue)
    monkeypatch.setattr(evaluating, "read_numbers", lambda: read_numbers([engine.queue_id, holder]))

    def _look(seconds: float, evaluator: str = "this one") -> Outcome:
        outcome = evaluating.evaluate(NOON + timedelta(seconds=seconds), evaluator)
        assert outcome is not None
        return outcome

    return _look


def rows(**chosen: str) -> list[Alert]:
    return list(Alert.objects.filter(**chosen).order_by("alert_id"))


def told() -> list[list[tuple[str, str]]]:
    """(alert, state) of each notification written, in order."""
    news = Notification.objects.order_by("notification_id").values_list("news", flat=True)
    return [[(one["alert"], one["status"]) for one in each["alerts"]] for each in news]


def test_more_than_the_most_are_not_begun_anew_with_every_look(
    engine: Engine, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "MOST_OPEN", 1)
    engine.die()
    engine.send("nobody comes for it")

    for seconds in (0, 120, 240):
        look(seconds)

    assert len(rows()) == 1
    assert len(told()) <= 1


def test_a_dead_letter_fires_at_once_and_is_over_a_minute_after_it_is_gone(engine: Engine, look: Look) -> None:
    letter = engine.die()

    look(0)
    (row,) = rows()
    assert (row.name, row.state, row.queue_name) == ("SignalboxDeadLetters", "firing", f"{engine.queue}-dlq")
    assert row.description == "It holds 1 message that failed for good; alert_dead_letters allows 0."

    engine.value("select signalbox.redrive(array[%s::bigint])", letter)
    engine.ack(*(row[1] for row in engine.receive()))
    look(15)  # another may die in a moment
    assert [row.state for row in rows()] == ["firing"]
    look(75)
    (row,) = rows()
    assert (row.state, row.resolved_at) == ("resolved", NOON + timedelta(seconds=75))
    assert told() == [[("SignalboxDeadLetters", "firing")], [("SignalboxDeadLetters", "resolved")]]


def test_a_condition_fires_only_after_it_has_held(engine: Engine, look: Look) -> None:
    engine.send()

    look(0)
    assert [row.state for row in rows()] == ["pending"]
    assert episodes.firing() == []
    assert look(59).fired == []
    outcome = look(60)
    assert [row.name for row in outcome.fired] == ["SignalboxNoConsumers"]
    assert rows()[0].starts_at == NOON
    assert told() == [[("SignalboxNoConsumers", "firing")]]


def test_a_condition_that_passes_was_none(engine: Engine, look: Look) -> None:
    engine.send()
    look(0)
    engine.ack(*(row[1] for row in engine.receive()))

    look(30)
    assert rows() == []
    assert told() == []


def test_what_fires_is_over_only_when_it_stays_calm(engine: Engine, look: Look) -> None:
    engine.send()
    look(0)
    look(60)
    (handle,) = [row[1] for row in engine.receive()]
    look(135)  # nothing is ready; it may come back at once
    assert [row.state for row in rows()] == ["firing"]
    engine.nack(handle, delay_seconds=0)
    look(150)
    engine.ack(*(row[1] for row in engine.receive()))
    look(165)
    look(224)
    assert [row.state for row in rows()] == ["firing"]

    look(225)
    assert [row.state for row in rows()] == ["resolved"]
    assert len(told()) == 2


def test_a_restart_goes_on_where_it_was_and_tells_nobody_twice(engine: Engine, look: Look) -> None:
    engine.die()
    engine.send()
    look(0, "before")
    look(30, "before")
    look(60, "after")

    assert {row.name: row.state for row in rows()} == {
        "SignalboxDeadLetters": "firing",
        "SignalboxNoConsumers": "firing",
    }
    assert told() == [[("SignalboxDeadLetters", "firing")], [("SignalboxNoConsumers", "firing")]]


def test_what_nobody_looked_at_for_long_has_to_hold_anew(engine: Engine, look: Look) -> None:
    engine.send()
    look(0)
    look(3600)

    assert [row.state for row in rows()] == ["pending"]
    assert [row.name for row in look(3660).fired] == ["SignalboxNoConsumers"]


def test_dead_letter_queues_need_no_consumers_and_paused_ones_wake_nobody(engine: Engine, look: Look) -> None:
    engine.die()
    engine.send()
    engine.value("select signalbox.configure_queue(%s, '{\"paused\": true}')", engine.queue)
    look(0)
    look(300)

    assert [row.name for row in rows()] == ["SignalboxDeadLetters"]


def test_every_rule_means_what_its_like_in_prometheus_means() -> None:
    files = (Path(__file__).parents[2] / "dashboards" / "alerts").glob("*.rules.yaml")
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    theirs = {rule["alert"]: rule for group in groups for rule in group["rules"]}

    for rule in (*OWN_RULES, MAINTENANCE_OVERDUE):
        like = theirs[rule.name]
        assert like["labels"]["severity"] == rule.severity
        assert like["annotations"]["summary"] == rule.summary
        assert like["annotations"]["runbook_url"] == rule.runbook_url


def test_one_process_looks_at_a_time(engine: Engine, look: Look, connect: Connect) -> None:
    other = connect(autocommit=False)
    other.execute("select pg_advisory_xact_lock(hashtext('signalbox.alerts'), 0)")
    engine.die()

    assert evaluating.evaluate(NOON) is None
    assert rows() == []
    other.rollback()
    assert [row.name for row in look(0).fired] == ["SignalboxDeadLetters"]


def test_another_process_waits_its_turn_and_takes_over(look: Look, settings: LazySettings) -> None:
    settings.ALERTS_EVERY_SECONDS = 10
    look(0, "first")

    assert evaluating.evaluate(NOON + timedelta(seconds=5), "second") is None
    assert evaluating.evaluate(NOON + timedelta(seconds=9), "second") is not None
    assert Evaluation.objects.get().evaluator == "second"


def test_two_who_look_at_once_make_one_alert(engine: Engine, look: Look) -> None:
    engine.die()
    start = threading.Barrier(2)

    def _look(name: str) -> None:
        start.wait(60)
        evaluating.evaluate(NOON, name)
        connections.close_all()

    threads = [threading.Thread(target=_look, args=[name]) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(rows()) == 1
    assert told() == [[("SignalboxDeadLetters", "firing")]]


def test_a_look_that_fails_leaves_nothing(engine: Engine, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.die()

    def _fail(*_: object) -> None:
        raise RuntimeError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(evaluating.notifications, "write", _fail)
        with pytest.raises(RuntimeError):
            look(0)

    assert rows() == []
    assert [row.name for row in look(1).fired] == ["SignalboxDeadLetters"]


def test_silenced_trouble_is_told_when_the_silence_ends(engine: Engine, look: Look) -> None:
    engine.die()
    Silence.objects.create(queue_pattern="test-*", comment="x", created_by="ann", ends_at=NOON + timedelta(seconds=60))

    assert look(0).fired == []
    assert told() == []
    assert [row.state for row in rows()] == ["firing"]
    assert [row.name for row in look(61).fired] == ["SignalboxDeadLetters"]


def test_nobody_hears_the_end_of_what_he_was_not_told_of(engine: Engine, look: Look) -> None:
    letter = engine.die()
    Silence.objects.create(alert_pattern="Signal*", comment="x", created_by="ann", ends_at=NOON + timedelta(hours=1))
    look(0)
    engine.value("select signalbox.redrive(array[%s::bigint])", letter)
    engine.ack(*(row[1] for row in engine.receive()))

    look(15)
    assert [row.state for row in look(75).resolved] == ["resolved"]
    assert told() == []


def test_maintenance_that_goes_on_for_longer_than_announced_is_an_alert(look: Look, begin: Begin) -> None:
    begin()
    Maintenance.objects.update(until=NOON)
    assert look(0).pending == 0
    assert look(1).pending == 1
    assert look(290).fired == []

    (row,) = look(301).fired
    assert (row.name, row.queue_name) == ("SignalboxMaintenanceOverdue", "")
    assert row.description.startswith("It was to have ended 5 m 01 s ago")
    assert row.runbook_url == "docs/runbooks/SignalboxMaintenanceOverdue.md"
    maintenance.end(actor="ada")
    assert [row.name for row in look(316).resolved] == ["SignalboxMaintenanceOverdue"]


def test_maintenance_that_is_late_is_one_line_whoever_says_so(look: Look, begin: Begin) -> None:
    begin()
    Maintenance.objects.update(until=NOON)
    for seconds in (1, 200, 302):
        look(seconds)
    receiving.receive(message(alert("SignalboxMaintenanceOverdue", severity="warning")))

    (episode,) = episodes.firing()
    assert episode.sources == ["console", "prometheus"]


def test_a_clock_that_is_ahead_is_an_alert(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "ahead_seconds", lambda: clock.TOLERATED_SECONDS)
    assert look(0).pending == 0
    monkeypatch.setattr(clock, "ahead_seconds", lambda: 86_400.0)
    assert look(1).pending == 1

    (row,) = look(62).fired
    assert (row.name, row.queue_name, row.severity) == ("SignalboxClockAhead", "", "critical")
    assert "ahead of the database server's" in row.description
    assert row.runbook_url == "docs/runbooks/SignalboxClockAhead.md"
    monkeypatch.setattr(clock, "ahead_seconds", lambda: 0.0)
    assert [row.name for row in look(80).resolved] == ["SignalboxClockAhead"]


def test_prometheus_that_falls_silent_is_an_alert(look: Look) -> None:
    receiving.receive(message(alert("SignalboxWatchdog", severity="none")))
    Alert.objects.update(seen_at=NOON)

    assert look(300).fired == []
    assert [row.name for row in look(301).fired] == ["SignalboxWatchdogMissing"]
    Alert.objects.filter(name="SignalboxWatchdog").update(seen_at=NOON + timedelta(seconds=302))
    assert [row.name for row in look(303).resolved] == ["SignalboxWatchdogMissing"]


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("", "anything", True),
        ("orders", "orders", True),
        ("orders", "orders-dlq", False),
        ("orders*", "orders-dlq", True),
        ("*-dlq", "orders-dlq", True),
        ("*-dlq", "orders", False),
        ("o*-*q", "orders-dlq", True),
        ("*rd*s-*", "orders-dlq", True),
        ("*dlq*orders*", "orders-dlq", False),
        ("ab*ba", "aba", False),
        ("orders.", "orders-", False),
        ("*" * 90 + "x", "a" * 100, False),
    ],
)
def test_a_star_is_any_text(pattern: str, name: str, fits: bool) -> None:
    assert silences.matches("", pattern, Alert(name="A", queue_name=name)) is fits
