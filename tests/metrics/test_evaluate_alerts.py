"""The console's own look for alerts: what holds for long enough fires, what is over ends, a restart loses nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from django.conf import LazySettings
from django.db import connections

from metrics.alerts import alert_list, evaluating, receiving, silences
from metrics.alerts.conditions import INSTALLATION_CONDITIONS, QUEUE_CONDITIONS
from metrics.alerts.evaluating import Outcome
from metrics.alerts.models import Alert, Evaluation, Notification, Silence
from metrics.alerts.rules import WATCHDOG_MISSING, all_rules
from metrics.diagnosis import diagnose, read_evidence
from metrics.reading.fleet import Engine as PostgreSQL
from metrics.reading.fleet import read_engine
from metrics.reading.xmin_holders import BACKEND, CATALOG_SLOT, Holder, read_holders
from queues.control import clock, maintenance
from queues.counters.queue_numbers import read_numbers
from queues.models import Maintenance
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
    """Evaluate this test's queue and its dead-letter queue only, some seconds after noon; the server is healthy."""
    holder = engine.value("select signalbox.create_queue(%s)", f"{engine.queue}-dlq")
    engine.value("select signalbox.configure_queue(%s, '{\"alert_no_consumers_seconds\": 0}')", engine.queue)
    monkeypatch.setattr(evaluating, "read_numbers", lambda: read_numbers([engine.queue_id, holder]))
    monkeypatch.setattr(evaluating, "read_engine", PostgreSQL)  # whatever other tests have left open
    monkeypatch.setattr(evaluating, "read_holders", lambda: ())

    def _look(seconds: float, evaluator: str = "this one") -> Outcome:
        outcome = evaluating.evaluate(NOON + timedelta(seconds=seconds), evaluator)
        assert outcome is not None
        return outcome

    return _look


def rows(**chosen: str) -> list[Alert]:
    return list(Alert.objects.filter(**chosen).order_by("alert_id"))


def notified() -> list[list[tuple[str, str]]]:
    """(alert, state) of each notification written, in order."""
    news = Notification.objects.order_by("notification_id").values_list("news", flat=True)
    return [[(one["alert"], one["status"]) for one in each["alerts"]] for each in news]


def test_episodes_above_the_limit_are_not_restarted_at_each_evaluation(
    engine: Engine, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "MAX_OPEN", 1)
    engine.die()
    engine.send("no consumer comes for it")

    for seconds in (0, 120, 240):
        look(seconds)

    assert len(rows()) == 1
    assert len(notified()) <= 1


def test_a_dead_letter_fires_at_once_and_is_over_a_minute_after_it_is_gone(engine: Engine, look: Look) -> None:
    letter = engine.die()

    look(0)
    (row,) = rows()
    assert (row.name, row.state, row.queue_name) == ("SignalboxDeadLetters", "firing", f"{engine.queue}-dlq")
    assert row.description == "1 dead letter (limit 0)."

    engine.value("select signalbox.redrive(array[%s::bigint])", letter)
    engine.ack(*(row[1] for row in engine.receive()))
    look(15)  # another may die in a moment
    assert [row.state for row in rows()] == ["firing"]
    look(75)
    (row,) = rows()
    assert (row.state, row.resolved_at) == ("resolved", NOON + timedelta(seconds=75))
    assert notified() == [[("SignalboxDeadLetters", "firing")], [("SignalboxDeadLetters", "resolved")]]


def test_a_condition_fires_only_after_it_has_held(engine: Engine, look: Look) -> None:
    engine.send()

    look(0)
    assert [row.state for row in rows()] == ["pending"]
    assert alert_list.firing() == []
    assert look(59).fired == []
    outcome = look(60)
    assert [row.name for row in outcome.fired] == ["SignalboxNoConsumers"]
    assert rows()[0].starts_at == NOON
    assert notified() == [[("SignalboxNoConsumers", "firing")]]


def test_a_condition_that_passes_was_none(engine: Engine, look: Look) -> None:
    engine.send()
    look(0)
    engine.ack(*(row[1] for row in engine.receive()))

    look(30)
    assert rows() == []
    assert notified() == []


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
    assert len(notified()) == 2


def test_a_restart_continues_without_repeated_notifications(engine: Engine, look: Look) -> None:
    engine.die()
    engine.send()
    look(0, "before")
    look(30, "before")
    look(60, "after")

    assert {row.name: row.state for row in rows()} == {
        "SignalboxDeadLetters": "firing",
        "SignalboxNoConsumers": "firing",
    }
    assert notified() == [[("SignalboxDeadLetters", "firing")], [("SignalboxNoConsumers", "firing")]]


def test_a_condition_must_hold_again_after_a_long_pause(engine: Engine, look: Look) -> None:
    engine.send()
    look(0)
    look(3600)

    assert [row.state for row in rows()] == ["pending"]
    assert [row.name for row in look(3660).fired] == ["SignalboxNoConsumers"]


def test_dead_letter_and_paused_queues_raise_no_consumer_alert(engine: Engine, look: Look) -> None:
    engine.die()
    engine.send()
    engine.value("select signalbox.configure_queue(%s, '{\"paused\": true}')", engine.queue)
    look(0)
    look(300)

    assert [row.name for row in rows()] == ["SignalboxDeadLetters"]


def rules_of_prometheus() -> dict[str, dict[str, Any]]:
    files = (Path(__file__).parents[2] / "dashboards" / "alerts").glob("*.rules.yaml")
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def test_every_rule_means_what_its_like_in_prometheus_means() -> None:
    theirs = rules_of_prometheus()

    for name in {*QUEUE_CONDITIONS, *INSTALLATION_CONDITIONS} - {WATCHDOG_MISSING.name}:
        rule, like = all_rules()[name], theirs[name]
        assert like.get("for", "0s") == _prometheus_span(rule.for_seconds)
        assert like.get("keep_firing_for", "0s") == _prometheus_span(rule.keep_seconds)
        assert like["labels"]["severity"] == rule.severity
        assert like["annotations"]["summary"] == rule.summary
        assert like["annotations"]["runbook_url"] == rule.runbook_url


def test_the_numbers_of_conditions_are_those_of_the_expressions() -> None:
    rules = all_rules()

    assert rules["SignalboxNearExpiry"].bound == 0.8
    assert rules["SignalboxArchiveStale"].bound == 86_400.0
    assert rules["SignalboxClockAhead"].bound == clock.TOLERATED_SECONDS


def _prometheus_span(seconds: float) -> str:
    minutes = seconds / 60
    return "0s" if not minutes else f"{minutes:g}m" if minutes < 60 else f"{minutes / 60:g}h"


LOOKS_AT_CHANGE = re.compile(r"\b(rate|increase|changes)\(")
NOT_OF_THE_CONSOLE = {
    "SignalboxDatabaseReadOnly",  # what is found is written down
    "SignalboxExporterStale",
    "SignalboxExporterDown",
    "SignalboxExporterTruncated",
    "SignalboxThresholdMissing",
    "SignalboxWatchdog",
}


def test_every_rule_that_takes_one_reading_is_evaluated_here_too() -> None:
    one_reading = {name for name, rule in rules_of_prometheus().items() if not LOOKS_AT_CHANGE.search(rule["expr"])}

    assert one_reading - NOT_OF_THE_CONSOLE <= {*QUEUE_CONDITIONS, *INSTALLATION_CONDITIONS}


def fires_and_ends(look: Look, name: str, *, hold: float, keep: float, end: Callable[[], object]) -> Alert:
    """The alert fires after its condition held for `hold`, and ends `keep` seconds after `end`."""
    look(0)
    for seconds in range(200, int(hold), 200):  # a pause of five minutes between evaluations restarts the hold
        look(seconds)
    look(hold - 1)
    assert [row.state for row in rows(name=name)] == ["pending"]
    look(hold)
    assert [row.state for row in rows(name=name)] == ["firing"]
    end()
    if keep:
        look(hold + 1)
        for seconds in range(200, int(keep), 200):
            look(hold + 1 + seconds)
        look(hold + keep)
        assert [row.state for row in rows(name=name)] == ["firing"]
    look(hold + 1 + keep)
    (row,) = rows(name=name)
    assert row.state == "resolved"
    return row


def test_messages_that_are_about_to_expire(engine: Engine, look: Look) -> None:
    engine.value("select signalbox.configure_queue(%s, '{\"retention_seconds\": 1000}')", engine.queue)
    engine.send()
    engine.connection.execute(
        "update signalbox.ready set ready_at = clock_timestamp() - interval '810 seconds' where queue_id = %s",
        [engine.queue_id],
    )

    row = fires_and_ends(
        look,
        "SignalboxNearExpiry",
        hold=60,
        keep=300,
        end=lambda: engine.ack(*(message[1] for message in engine.receive())),
    )

    assert (row.severity, row.queue_name) == ("critical", engine.queue)
    assert "more than 80% of retention_seconds (16 m 40 s)" in row.description
    assert ("SignalboxNearExpiry", "firing") in notified()[0]


def test_a_lease_that_is_held_for_long(engine: Engine, look: Look) -> None:
    engine.value("select signalbox.configure_queue(%s, '{\"alert_lease_age_seconds\": 100}')", engine.queue)
    engine.send()
    handle = engine.receive_one(visibility_timeout=4000)[1]
    engine.connection.execute(
        "update signalbox.lease set leased_at = leased_at - interval '101 seconds' where queue_id = %s",
        [engine.queue_id],
    )

    row = fires_and_ends(look, "SignalboxLeaseHeldTooLong", hold=120, keep=300, end=lambda: engine.ack(handle))

    assert row.description == "Longest delivery in flight: 1 m 41 s (limit 1 m 40 s)."


def test_what_a_paused_subscription_holds_for_long(engine: Engine, look: Look) -> None:
    """The diagnosis and the alert of the queue that it feeds say so."""
    source = f"{engine.queue}-source"
    engine.value("select signalbox.create_queue(%s)", source)
    engine.value("select signalbox.configure_queue(%s, '{\"alert_oldest_age_seconds\": 100}')", engine.queue)
    engine.value("select signalbox.subscribe(%s, %s)", source, engine.queue)
    engine.value("select signalbox.pause_subscription(%s, %s)", source, engine.queue)
    engine.value("select signalbox.send(%s, '1')", source)
    engine.connection.execute(
        "update signalbox.held_copy h set held_at = held_at - interval '101 seconds' from"
        " signalbox.queue_subscription s where s.subscription_id = h.subscription_id and s.target_queue_id = %s",
        [engine.queue_id],
    )
    diagnosis = diagnose(read_evidence(read_numbers([engine.queue_id]))[engine.queue_id])
    assert f"Not yet sent from {source}: 1 message, the oldest for" in diagnosis.sentence
    assert diagnosis.sentence.endswith("the subscription is paused.")

    def resume() -> None:
        engine.value("select signalbox.pause_subscription(%s, %s, false)", source, engine.queue)
        engine.value("select signalbox.feed_queues()")

    row = fires_and_ends(look, "SignalboxUpstreamLag", hold=120, keep=120, end=resume)

    assert row.severity == "warning"
    assert row.description.startswith(f"Not yet sent from {source}: 1 message, the oldest for 1 m ")
    assert row.description.endswith("(limit 1 m 40 s). The subscription is paused.")


def test_expired_leases_that_stay_unreclaimed(engine: Engine, look: Look) -> None:
    engine.send()
    handle = engine.receive_one(visibility_timeout=0)[1]

    row = fires_and_ends(look, "SignalboxLeasesNotReclaimed", hold=300, keep=0, end=lambda: engine.ack(handle))

    assert row.description == "1 lease ended and the messages were not returned."


def test_a_few_dead_letters_are_listed_and_not_notified(engine: Engine, look: Look) -> None:
    letter = engine.die()
    engine.value("select signalbox.configure_queue(%s, '{\"alert_dead_letters\": 5}')", f"{engine.queue}-dlq")

    row = fires_and_ends(
        look,
        "SignalboxDeadLettersNotEmpty",
        hold=3600,
        keep=0,
        end=lambda: engine.value("select signalbox.redrive(array[%s::bigint])", letter),
    )

    assert (row.severity, row.queue_name) == ("info", f"{engine.queue}-dlq")
    assert "SignalboxDeadLettersNotEmpty" not in {name for news in notified() for name, _ in news}


HOLDER = Holder(
    BACKEND, "7", 10, 900.0, 7, "ann", "db", "psql", None, "idle in transaction", NOON, NOON, "select 1", "console"
)


@pytest.mark.parametrize(
    ("name", "hold", "changes"),
    [
        ("SignalboxOldSnapshot", 600, {"holders": (HOLDER,)}),
        ("SignalboxArchiveStale", 600, {"engine": PostgreSQL(archive_age_seconds=90_000)}),
        ("SignalboxTablesUnidentified", 300, {"engine": PostgreSQL(unidentified_tables=2)}),
        ("SignalboxTablesPublished", 600, {"engine": PostgreSQL(published_tables=150)}),
    ],
)
def test_what_is_wrong_with_the_installation(
    look: Look, monkeypatch: pytest.MonkeyPatch, name: str, hold: float, changes: dict[str, Any]
) -> None:
    def read(engine: PostgreSQL = PostgreSQL(), holders: tuple[Holder, ...] = ()) -> None:  # noqa: B008 - frozen
        monkeypatch.setattr(evaluating, "read_engine", lambda: engine)
        monkeypatch.setattr(evaluating, "read_holders", lambda: holders)

    read(**changes)
    row = fires_and_ends(look, name, hold=hold, keep=0, end=read)
    assert row.queue_name == ""
    assert row.runbook_url == f"docs/runbooks/{name}.md"


def test_a_publication_is_read_from_the_database(engine: Engine, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "read_engine", read_engine)
    monkeypatch.setattr(evaluating, "read_holders", read_holders)
    engine.connection.execute("create publication somebody_elses for table signalbox.ready")
    try:
        look(0)
    finally:
        engine.connection.execute("drop publication somebody_elses")

    (row,) = rows(name="SignalboxTablesPublished")
    assert row.description == "A publication covers 1 table: subscribers receive every step."


def test_slots_for_logical_decoding_are_no_old_snapshots(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "read_holders", lambda: (replace(HOLDER, kind=CATALOG_SLOT),))

    assert "SignalboxOldSnapshot" not in {row.name for row in [*rows(), *look(0).fired]}


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
    assert notified() == [[("SignalboxDeadLetters", "firing")]]


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


def test_a_silenced_alert_is_notified_when_the_silence_ends(engine: Engine, look: Look) -> None:
    engine.die()
    Silence.objects.create(queue_pattern="test-*", comment="x", created_by="ann", ends_at=NOON + timedelta(seconds=60))

    assert look(0).fired == []
    assert notified() == []
    assert [row.state for row in rows()] == ["firing"]
    assert [row.name for row in look(61).fired] == ["SignalboxDeadLetters"]


def test_the_end_of_an_unannounced_alert_is_not_notified(engine: Engine, look: Look) -> None:
    letter = engine.die()
    Silence.objects.create(alert_pattern="Signal*", comment="x", created_by="ann", ends_at=NOON + timedelta(hours=1))
    look(0)
    engine.value("select signalbox.redrive(array[%s::bigint])", letter)
    engine.ack(*(row[1] for row in engine.receive()))

    look(15)
    assert [row.state for row in look(75).resolved] == ["resolved"]
    assert notified() == []


def test_maintenance_that_goes_on_for_longer_than_announced_is_an_alert(look: Look, begin: Begin) -> None:
    begin()
    Maintenance.objects.update(until=NOON)
    assert look(0).pending == 0
    assert look(1).pending == 1
    assert look(290).fired == []

    (row,) = look(301).fired
    assert (row.name, row.queue_name) == ("SignalboxMaintenanceOverdue", "")
    assert row.description.startswith("Its announced end was 5 m 01 s ago")
    assert row.runbook_url == "docs/runbooks/SignalboxMaintenanceOverdue.md"
    maintenance.end(actor="ada")
    assert [row.name for row in look(316).resolved] == ["SignalboxMaintenanceOverdue"]


def test_overdue_maintenance_is_one_alert_from_both_sources(look: Look, begin: Begin) -> None:
    begin()
    Maintenance.objects.update(until=NOON)
    for seconds in (1, 200, 302):
        look(seconds)
    receiving.receive(message(alert("SignalboxMaintenanceOverdue", severity="warning")))

    (episode,) = alert_list.firing()
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
