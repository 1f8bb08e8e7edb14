"""Limits on batches: refused completely, checked once, and reported when they can never succeed."""

from __future__ import annotations

import pytest

from tests.queues.control.quotas import Connect, MakeEngine, refused, send_batch


def test_a_batch_that_would_exceed_is_refused_whole(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=5)
    send_batch(engine, [1, 2, 3])

    assert refused(send_batch, engine, [4, 5, 6]) | {"column": ""} == {
        "reason": "backlog",
        "limit": 5,
        "actual": 6,
        "retry_after": 1,
        "scope": "queue",
        "column": "",
    }
    assert engine.counted()[0] == 3
    assert len(send_batch(engine, [4, 5])) == 2


def test_a_batch_with_options_is_asked_for_once(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=5, publish_rate_per_second=5)

    assert refused(send_batch, engine, [0] * 6, priorities=[1] * 6)["actual"] == 6
    assert len(send_batch(engine, [0] * 5, priorities=[1] * 5)) == 5
    assert engine.value("select current_setting('signalbox.admitted', true)") in (None, "")
    assert engine.counted()[0] == 5


@pytest.mark.parametrize("scope", ["window", "in_flight"])
def test_what_a_batch_repeats_is_not_asked_for(make_engine: MakeEngine, scope: str) -> None:
    """A sender that repeats a delivered batch gets the ids, though its messages fill the queue."""
    engine = make_engine(max_backlog_messages=3, publish_rate_per_second=3, dedup_scope=scope)
    keys = ["a", "b", "a", "c"]
    first = send_batch(engine, keys, deduplication_ids=keys)

    assert send_batch(engine, keys, deduplication_ids=keys) == first
    assert refused(send_batch, engine, [*keys, "d"], deduplication_ids=[*keys, "d"])["actual"] == 4
    assert engine.counted()[0] == 3


def test_after_a_batch_in_a_transaction_the_next_send_is_asked_for_again(
    make_engine: MakeEngine, connect: Connect
) -> None:
    engine = make_engine(max_backlog_messages=3)
    sender = engine.on(connect(autocommit=False))
    send_batch(sender, [1, 2], priorities=[1, 2])
    sender.send(3)

    assert refused(sender.send, 4)["actual"] == 4


def test_a_batch_larger_than_the_limit_is_refused_for_good(make_engine: MakeEngine) -> None:
    backlog = make_engine(max_backlog_messages=2)
    rate = make_engine(publish_rate_per_second=2)

    assert refused(send_batch, backlog, [1, 2, 3])["retry_after"] is None
    assert refused(send_batch, rate, [1, 2, 3])["retry_after"] is None
