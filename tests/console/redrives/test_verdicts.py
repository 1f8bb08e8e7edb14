"""Verdicts: the health of a queue and its sentence, computed from numbers only."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from console.overview.verdicts import Health, judge
from queues.counters.queue_numbers import QueueNumbers
from queues.models import Queue

CALM = QueueNumbers(
    queue_id=1,
    name="orders",
    tenant="default",
    is_dead_letter_queue=False,
    paused=False,
    closed=False,
    ready=0,
    scheduled=0,
    waiting=0,
    leased=0,
    dead=0,
    oldest_ready_age_seconds=None,
    in_per_second=0.0,
    out_per_second=0.0,
    consumers=1,
    totals={},
    dead_lettered_by_reason={},
    added_total=0,
    removed_total=0,
    queue=Queue(alert_oldest_age_seconds=300.0, alert_dead_letters=0),
)


def said(**numbers: Any) -> tuple[Health, str]:
    verdict = judge(replace(CALM, **numbers))
    return verdict.health, verdict.sentence.replace("\u00a0", " ")


def test_nothing_wrong_says_nothing() -> None:
    assert said() == (Health.HEALTHY, "")
    assert said(ready=500, oldest_ready_age_seconds=2.0, in_per_second=90, out_per_second=90) == (Health.HEALTHY, "")


def test_too_old_says_how_old() -> None:
    assert said(ready=9, oldest_ready_age_seconds=400.0) == (
        Health.BREACHING,
        "Oldest ready message: 6 m 40 s (limit 5 m).",
    )


def test_a_queue_without_consumers_is_watched() -> None:
    """Give the cause to `metrics.diagnosis`."""
    assert said(ready=7, consumers=0, oldest_ready_age_seconds=1.0) == (Health.WATCH, "")
    assert said(ready=1, consumers=0, oldest_ready_age_seconds=900.0)[0] is Health.BREACHING


def test_the_dead_are_counted_against_what_is_allowed() -> None:
    assert said(dead=1) == (Health.BREACHING, "1 dead letter (limit 0).")
    some = Queue(alert_oldest_age_seconds=300.0, alert_dead_letters=10)
    assert said(dead=1_204, queue=some) == (Health.BREACHING, "1,204 dead letters (limit 10).")
    assert said(dead=10, queue=some) == (Health.HEALTHY, "")


def test_a_pause_names_its_author_time_and_reason() -> None:
    queue = Queue(
        alert_oldest_age_seconds=300.0,
        alert_dead_letters=0,
        paused_by="ana",
        paused_at=datetime(2026, 1, 2, 11, 3, tzinfo=UTC),
        paused_reason="printer vendor outage",
    )

    health, sentence = said(paused=True, queue=queue, ready=204, oldest_ready_age_seconds=9_000.0)

    assert health is Health.PAUSED
    assert sentence == "Paused by ana, 02 Jan 11:03 UTC: “printer vendor outage”."
    assert said(paused=True) == (Health.PAUSED, "Paused.")


def test_a_pause_does_not_hide_the_dead() -> None:
    assert said(paused=True, dead=3) == (Health.BREACHING, "Paused. 3 dead letters (limit 0).")


def test_a_dead_letter_queue_breaches_its_own_limit() -> None:
    assert said(dead=75, is_dead_letter_queue=True) == (Health.BREACHING, "75 dead letters (limit 0).")


def test_green_is_for_queues_without_dead_letters() -> None:
    some = Queue(alert_oldest_age_seconds=300.0, alert_dead_letters=10)
    assert [judge(replace(CALM, dead=dead, queue=some)).icon for dead in (0, 10, 11)] == [
        "healthy",
        "info",
        "breaching",
    ]


def test_a_backlog_that_waits_is_watched_before_it_breaches() -> None:
    waiting = said(ready=918, oldest_ready_age_seconds=65.0, in_per_second=12.4, out_per_second=14.1)

    assert waiting == (Health.WATCH, "")


def test_the_worst_sort_first() -> None:
    oldest = judge(replace(CALM, name="a", ready=1, oldest_ready_age_seconds=3_000.0))
    older = judge(replace(CALM, name="b", ready=1, oldest_ready_age_seconds=400.0))
    many_dead = judge(replace(CALM, name="c", dead=9))
    dead = judge(replace(CALM, name="d", dead=1))
    watch = judge(replace(CALM, name="e", ready=1, consumers=0))
    paused = judge(replace(CALM, name="f", paused=True))
    calm = judge(CALM)

    verdicts = [calm, paused, watch, dead, many_dead, older, oldest]
    assert sorted(verdicts, key=lambda one: one.order) == verdicts[::-1]


@pytest.mark.parametrize(
    ("numbers", "health"),
    [
        ({"ready": 10, "out_per_second": 2.0, "oldest_ready_age_seconds": 40.0}, Health.HEALTHY),
        ({"ready": 10, "in_per_second": 2.0, "out_per_second": 2.01, "oldest_ready_age_seconds": 40.0}, Health.WATCH),
        ({"ready": 100, "out_per_second": 2.0, "oldest_ready_age_seconds": 40.0}, Health.WATCH),
        ({"ready": 10, "oldest_ready_age_seconds": 1.0}, Health.HEALTHY),
    ],
)
def test_a_queue_that_drains_soon_is_healthy(numbers: dict[str, Any], health: Health) -> None:
    assert said(**numbers) == (health, "")


def test_nothing_visible_has_no_age() -> None:
    assert judge(replace(CALM, oldest_ready_age_seconds=0.0)).oldest_seconds is None
    assert judge(replace(CALM, ready=1, oldest_ready_age_seconds=0.0)).oldest_seconds == 0.0


def test_lanes_that_nothing_moves_are_watched() -> None:
    assert said(waiting=3) == (Health.WATCH, "")
    assert said(waiting=3, leased=1) == (Health.HEALTHY, "")


def test_a_queue_that_refuses_says_why() -> None:
    full = said(refusing=("backlog",), ready=9)
    both = said(refusing=("backlog", "rate"), ready=9, consumers=0)

    assert full == (
        Health.WATCH,
        "Sends were refused in the last minute: the backlog exceeds its limit of messages.",
    )
    assert both[1] == (
        "Sends were refused in the last minute: the backlog exceeds its limit of messages and"
        " sends exceed the rate limit."
    )
