"""The diagnosis as a function: total, and never claiming what its evidence does not carry; and where a backlog goes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.diagnosis import Evidence, diagnose
from metrics.diagnosis.causes import CAUSES
from metrics.diagnosis.diagnosis import look_ahead
from metrics.diagnosis.evidence import DeadRows, Failures, Flow, Lanes, PriorityWait, Work
from metrics.diagnosis.suspects import Cause, speed
from metrics.diagnosis.thresholds import DEAD_ROWS, DOMINANT_SHARE, FAILING_SHARE, FAILURES, UP_FACTOR
from metrics.reading.xmin_holders import BACKEND, Holder
from metrics.wording import span
from queues.control.subscriptions import Feed
from queues.counters.queue_numbers import QueueNumbers
from queues.models import Queue, Tenant

NO_LIMITS = {"max_backlog_messages": 0, "max_backlog_bytes": 0, "max_oldest_age_seconds": 0.0}
QUEUE = Queue(
    tenant=Tenant(name="acme"),
    max_receives=5,
    retention_seconds=345_600.0,
    aging_seconds=60.0,
    **NO_LIMITS,
    max_in_flight=0,
)
CALM = QueueNumbers(
    queue_id=1,
    name="orders",
    tenant="acme",
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
    queue=QUEUE,
)
STILL = Flow(seconds=60, added=0, removed=0, delivered=0, acked=0, failed=0, died=0, growth=0)

counts = st.integers(0, 10**6)
seconds = st.floats(0, 10**7)
flows = st.builds(
    Flow,
    seconds=st.floats(1, 4000),
    added=counts,
    removed=counts,
    delivered=counts,
    acked=counts,
    failed=counts,
    died=counts,
    growth=st.integers(-(10**6), 10**6),
    aged_seconds=st.floats(-(10**6), 10**6),
)
holders = st.builds(
    Holder,
    kind=st.just(BACKEND),
    name=st.text(max_size=9),
    age_transactions=counts,
    age_seconds=st.none() | seconds,
    pid=st.none() | counts,
    **dict.fromkeys(("user", "database", "application", "client", "state", "query"), st.none()),
    started_at=st.none(),
    query_started_at=st.none(),
    reader=st.just("signalbox"),
)
queue_settings = st.builds(
    Queue,
    tenant=st.just(QUEUE.tenant),
    max_receives=st.integers(1, 1000),
    retention_seconds=st.floats(60, 10**7),
    max_backlog_messages=counts,
    max_backlog_bytes=counts,
    max_oldest_age_seconds=seconds,
    max_in_flight=counts,
    aging_seconds=st.floats(0, 1000),
)


feeds = st.builds(
    Feed,
    source=st.just("upstream"),
    target=st.just("orders"),
    tenant=st.just("acme"),
    paused=st.booleans(),
    lag=counts,
    lag_seconds=seconds,
    window=st.none() | counts,
)


@st.composite
def evidences(draw: Any) -> Evidence:
    """Anything that could be read, however unlikely."""
    numbers = replace(
        CALM,
        **{name: draw(counts) for name in ("ready", "scheduled", "waiting", "leased", "dead", "consumers")},
        **{name: draw(st.booleans()) for name in ("is_dead_letter_queue", "paused", "closed")},
        oldest_ready_age_seconds=draw(st.none() | seconds),
        bytes_held=draw(st.none() | counts),
        in_per_second=draw(seconds),
        out_per_second=draw(seconds),
        queue=draw(queue_settings),
    )
    latest = draw(st.integers(0, 100))
    parts = st.integers(0, latest)
    return Evidence(
        numbers=numbers,
        minute=draw(st.none() | flows),
        ten_minutes=draw(st.none() | flows),
        before=draw(st.none() | flows),
        consumers_gone=draw(counts),
        last_consumer_seconds=draw(st.none() | seconds),
        failures=Failures(latest, "fp", draw(parts), draw(st.none() | st.text(max_size=5)), draw(parts), draw(parts)),
        paused_seconds=draw(st.none() | seconds),
        may_be_in_flight=draw(st.none() | st.integers(-9, 9)),
        due_seconds=draw(st.none() | st.floats(-100, 10**6)),
        work=Work(draw(counts), draw(st.none() | seconds), draw(counts), draw(st.none() | seconds)),
        lanes=Lanes(draw(seconds), draw(st.floats(0, 1)), draw(st.text(max_size=5)), draw(counts), draw(counts)),
        priorities=tuple(
            PriorityWait(priority, draw(seconds))
            for priority in sorted(draw(st.sets(st.integers(0, 9), max_size=4)), reverse=True)
        ),
        holder=draw(st.none() | holders),
        dead_rows=draw(st.none() | st.builds(DeadRows, st.just("ready"), counts, counts, st.none() | seconds)),
        feeds=tuple(draw(st.lists(feeds, max_size=3))),
    )


@given(evidences())
def test_it_always_answers_and_always_the_same(evidence: Evidence) -> None:
    diagnosis = diagnose(evidence)

    assert diagnosis == diagnose(evidence)
    assert diagnosis.sentence.endswith(".")
    looked_at = [suspect.cause for suspect in (*diagnosis.found, *diagnosis.ruled_out)]
    assert sorted(looked_at) == (sorted(Cause) if diagnosis.backlog else [])
    assert all(suspect.sentence for suspect in (*diagnosis.found, *diagnosis.ruled_out))
    assert all(suspect.proof and suspect.figures and suspect.advice for suspect in diagnosis.found)
    json.dumps(diagnosis.as_dict(), allow_nan=False)


@given(evidences())
def test_it_never_claims_what_is_below_its_threshold(evidence: Evidence) -> None:
    found = {suspect.cause for suspect in diagnose(evidence).found}
    numbers, recent, before = evidence.numbers, evidence.recent, evidence.before

    assert Cause.PAUSED not in found or numbers.paused
    assert Cause.CLOSED not in found or numbers.closed
    assert Cause.CONSUMER_OUTAGE not in found or numbers.consumers == 0
    assert Cause.FEWER_CONSUMERS not in found or 0 < numbers.consumers <= evidence.consumers_gone
    assert Cause.SCHEDULED not in found or (numbers.scheduled > 0 and evidence.waiting == 0)
    assert Cause.QUOTA not in found or (evidence.may_be_in_flight or 0) <= 0
    assert Cause.HOT_KEY not in found or evidence.lanes.waiting * 2 >= numbers.waiting > 0
    assert Cause.LANES_BLOCKED not in found or evidence.lanes.dead_share >= 0.5
    assert Cause.OLD_SNAPSHOT not in found or evidence.holder is not None
    assert Cause.AUTOVACUUM_BEHIND not in found or (evidence.dead_rows and evidence.dead_rows.dead >= DEAD_ROWS)
    assert Cause.SLOW_CONSUMERS not in found or (evidence.work.factor or 0) >= UP_FACTOR
    assert Cause.UPSTREAM not in found or any(feed.lag and feed.lag_seconds >= 10 for feed in evidence.feeds)
    assert Cause.PRIORITY_STARVATION not in found or len(evidence.priorities) > 1
    if found & {Cause.POISON_DATA, Cause.DOWNSTREAM_THROTTLING}:
        assert recent is not None
        assert recent.failed >= FAILURES
        assert recent.failing >= FAILING_SHARE
    if Cause.POISON_DATA in found:
        assert evidence.failures.of_fingerprint >= DOMINANT_SHARE * evidence.failures.count
        assert Cause.DOWNSTREAM_THROTTLING not in found
    if Cause.PRODUCER_BURST in found:
        assert before is not None
        stretches = [flow for flow in (evidence.minute, evidence.ten_minutes) if flow is not None]
        assert any(flow.in_per_second >= UP_FACTOR * before.in_per_second for flow in stretches)


def test_every_cause_is_looked_at_once() -> None:
    evidence = Evidence(replace(CALM, ready=1, oldest_ready_age_seconds=99.0))

    assert sorted(cause(evidence).cause for cause in CAUSES) == sorted(Cause)


@pytest.mark.parametrize(
    ("numbers", "backlog"),
    [
        ({}, False),
        ({"ready": 5, "oldest_ready_age_seconds": 9.0}, False),
        ({"ready": 5, "oldest_ready_age_seconds": 10.0}, True),
        ({"ready": 5, "oldest_ready_age_seconds": 1.0, "paused": True}, True),
        ({"ready": 5, "oldest_ready_age_seconds": 1.0, "consumers": 0}, True),
        ({"waiting": 5, "leased": 1}, False),
        ({"waiting": 5}, True),
        ({"scheduled": 5}, True),
        ({"ready": 5, "oldest_ready_age_seconds": 99.0, "is_dead_letter_queue": True}, False),
    ],
)
def test_what_a_backlog_is(numbers: dict[str, Any], backlog: bool) -> None:
    assert diagnose(Evidence(replace(CALM, **numbers))).backlog is backlog


def test_what_rests_while_others_are_delivered_is_no_backlog() -> None:
    resting = replace(CALM, scheduled=5)

    assert diagnose(Evidence(resting, minute=STILL)).backlog
    assert not diagnose(Evidence(resting, minute=replace(STILL, delivered=1))).backlog


def test_a_lane_that_flows_is_no_backlog() -> None:
    held = replace(CALM, waiting=1)

    assert diagnose(Evidence(held, minute=STILL)).backlog
    assert not diagnose(Evidence(held, minute=replace(STILL, delivered=1))).backlog


def waiting(count: int, age: float = 120.0, **flows: Flow) -> Evidence:
    return Evidence(replace(CALM, ready=count, oldest_ready_age_seconds=age), **flows)


def test_a_backlog_eta_states_its_uncertainty() -> None:
    steady = waiting(100, minute=replace(STILL, growth=-30), ten_minutes=replace(STILL, seconds=600, growth=-150))
    turning = waiting(100, minute=replace(STILL, growth=-30), ten_minutes=replace(STILL, seconds=600, growth=150))
    growing = waiting(100, minute=replace(STILL, growth=3), ten_minutes=replace(STILL, seconds=600, growth=9))

    assert plain(look_ahead(steady).drain_words) == "3 m 20 s to 6 m 40 s"
    assert plain(look_ahead(turning).drain_words) == "at least 3 m 20 s"
    assert look_ahead(growing).drain_words == "not draining"
    assert "over the last 10 m the backlog" in plain(look_ahead(growing).sentences[0])
    assert look_ahead(waiting(100)).drain_words == ""


def test_expiry_is_forecast_at_the_pace_at_which_the_oldest_grows_older() -> None:
    whole = replace(STILL, seconds=600, aged_seconds=600.0, growth=9)
    half = replace(whole, aged_seconds=300.0)
    day, retention = 86_400.0, 345_600.0

    assert look_ahead(waiting(9, day, ten_minutes=whole)).expires_in == retention - day
    assert look_ahead(waiting(9, day, ten_minutes=half)).expires_in == 2 * (retention - day)
    assert look_ahead(waiting(9, day, ten_minutes=replace(whole, aged_seconds=-1.0))).expires_in is None
    assert look_ahead(waiting(9, retention + 1, ten_minutes=whole)).expires_in == 0.0


def test_what_is_drained_before_does_not_expire() -> None:
    draining = replace(STILL, seconds=600, aged_seconds=600.0, growth=-60)

    assert look_ahead(waiting(10, 60.0, ten_minutes=draining)).expires_in is None


def test_the_backlog_limit_is_forecast() -> None:
    limited = replace(
        CALM,
        ready=400,
        oldest_ready_age_seconds=60.0,
        queue=Queue(**NO_LIMITS | {"max_backlog_messages": 1000}, retention_seconds=9e5),
    )
    growing = replace(STILL, added=120, removed=60, growth=60)

    assert look_ahead(Evidence(limited, minute=growing)).full_in == 600.0
    assert look_ahead(Evidence(limited, minute=STILL)).full_in is None
    assert look_ahead(Evidence(replace(limited, ready=1000), minute=STILL)).full_in == 0.0
    assert look_ahead(waiting(400, minute=growing)).full_in is None
    hardly = replace(growing, added=61, growth=1, seconds=86_400.0)
    assert look_ahead(Evidence(limited, ten_minutes=hardly)).full_in is None


def test_failures_without_traces_blame_no_cause() -> None:
    failing = replace(STILL, delivered=10, failed=10, died=5)

    backlog = replace(CALM, ready=50, oldest_ready_age_seconds=60.0)
    found = {suspect.cause for suspect in diagnose(Evidence(backlog, minute=failing)).found}

    assert not found & {Cause.POISON_DATA, Cause.DOWNSTREAM_THROTTLING}


def test_of_several_limits_the_first_is_forecast() -> None:
    limits = Queue(
        max_backlog_messages=1000, max_backlog_bytes=50_000, max_oldest_age_seconds=100.0, retention_seconds=9e5
    )
    numbers = replace(CALM, ready=400, oldest_ready_age_seconds=60.0, bytes_held=40_000, queue=limits)
    growing = replace(STILL, added=120, removed=60, growth=60)  # by 1 message and 100 bytes each second

    bytes_first = look_ahead(Evidence(numbers, minute=growing))
    assert (bytes_first.full_by, bytes_first.full_in) == ("max_backlog_bytes", 100.0)
    assert f"Its limit of bytes (max_backlog_bytes) is reached in {span(100.0)}." in bytes_first.sentences
    age_first = look_ahead(Evidence(numbers, minute=replace(growing, aged_seconds=30.0)))
    assert (age_first.full_by, age_first.full_in) == ("max_oldest_age_seconds", 80.0)
    reached = look_ahead(Evidence(replace(numbers, bytes_held=50_000), minute=STILL))
    assert (reached.full_by, reached.full_in) == ("max_backlog_bytes", 0.0)
    assert "Its limit of bytes (max_backlog_bytes) is reached." in reached.sentences


def test_rates_are_said_in_the_unit_that_fits() -> None:
    assert [speed(rate) for rate in (0, 0.0001, 0.001, 0.05, 1.0, 41.24, 250)] == [
        "none",
        "none",
        "3.6/h",
        "3/min",
        "1/s",
        "41.2/s",
        "250/s",
    ]


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("numbers", "feed", "why"),
    [
        ({"closed": True}, {"paused": True}, "the subscription is paused"),
        ({"closed": True}, {}, "this queue is closed"),
        ({"refusing": ("backlog",)}, {}, "this queue is full (backlog)"),
        ({"leased": 10}, {"window": 10}, "sends up to 10 ahead"),
        ({"leased": 9}, {"window": 10}, "the subscription is behind"),
    ],
)
def test_a_queue_knows_what_keeps_its_subscriptions_from_sending(numbers: Any, feed: Any, why: str) -> None:
    slow = Feed("source", "orders", "acme", lag=3, lag_seconds=90.0, **feed)
    diagnosis = diagnose(Evidence(replace(CALM, **numbers), feeds=(Feed("other", "orders", "acme"), slow)))

    assert diagnosis.found[0].cause == Cause.UPSTREAM
    assert diagnosis.sentence.startswith("Not yet sent from source: 3 messages, the oldest for")
    assert why in diagnosis.sentence


def test_a_subscription_that_is_not_behind_is_no_backlog() -> None:
    feeds = (Feed("source", "orders", "acme", lag=3, lag_seconds=9.0, paused=True),)
    assert not diagnose(Evidence(CALM, feeds=feeds)).backlog
