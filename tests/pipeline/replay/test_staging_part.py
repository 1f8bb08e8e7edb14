"""Staging task: a part exists once and complete, and a frozen set cannot be written to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from dlq.redrives.staged import sets
from dlq.redrives.staged.models import StagedMessage, Staging
from pipeline.replay.staging_part import CHOSEN, Refused, StagingTarget, write_part

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def rows(*ids: int, **given: Any) -> Iterator[pa.RecordBatch]:
    """Rows in two batches and an empty one, as they may come."""
    usual = {"kind": "settled", "ended_at": NOON, "outcome": "acked", "payload": '{"n": 1}', "priority": 3}
    table = [usual | {"message_id": one} | given for one in ids]
    for some in (table[:1], [], table[1:]):
        yield pa.RecordBatch.from_pylist(some, schema=CHOSEN)


@pytest.fixture
def place(commits: None, dsn: str) -> StagingTarget:
    held = sets.begin(["settled"], None, None, run_id=1)
    return StagingTarget(dsn, held.pk, held.token)


def ids(place: StagingTarget) -> list[int]:
    staged = StagedMessage.objects.filter(staging_id=place.staging_id)
    return list(staged.order_by("message_id").values_list("message_id", flat=True))


def test_a_part_is_written_with_all_that_it_has(place: StagingTarget) -> None:
    given = {"queue": "orders", "attributes": '{"k": 1}', "body_sha256": b"x" * 32, "sent_at": NOON, "group_id": "g"}

    assert write_part(place, 0, rows(3, 5, **given)) == 2

    first = StagedMessage.objects.get(staging_id=place.staging_id, message_id=3)
    assert (first.queue, first.attributes, bytes(first.body_sha256), first.sent_at, first.group_id, first.priority) == (
        "orders",
        '{"k": 1}',
        b"x" * 32,
        NOON,
        "g",
        3,
    )
    assert (first.part, first.ended_at, first.payload, first.fingerprint) == (0, NOON, '{"n": 1}', None)
    assert ids(place) == [3, 5]


def test_a_part_that_is_there_is_counted_and_left_as_it_is(place: StagingTarget) -> None:
    write_part(place, 0, rows(3, 5))

    assert write_part(place, 0, rows(3, 5)) == 2
    assert write_part(place, 1, rows(7)) == 1
    assert ids(place) == [3, 5, 7]


def test_a_part_that_breaks_off_leaves_nothing(place: StagingTarget) -> None:
    def breaks() -> Iterator[pa.RecordBatch]:
        yield from rows(3, 5)
        raise OSError(5, "the archive is gone")

    with pytest.raises(Exception, match="the archive is gone"):
        write_part(place, 0, breaks())

    assert ids(place) == []


def test_a_message_is_in_a_set_once_whichever_part_brings_it(place: StagingTarget) -> None:
    write_part(place, 0, rows(3, 5))

    with pytest.raises(Exception, match="staged_message_pkey"):
        write_part(place, 1, rows(2, 3))

    assert ids(place) == [3, 5]


def test_a_part_of_nothing_asks_the_database_nothing(place: StagingTarget) -> None:
    assert write_part(StagingTarget("host=/nowhere", place.staging_id, place.token), 0, rows()) == 0


@pytest.mark.parametrize("state", [Staging.State.FROZEN, Staging.State.CLEARING, Staging.State.GONE])
def test_writing_to_a_set_that_is_not_being_filled_is_refused(place: StagingTarget, state: str) -> None:
    Staging.objects.filter(pk=place.staging_id).update(state=state)

    with pytest.raises(Refused):
        write_part(place, 0, rows(3))

    assert ids(place) == []


def test_an_attempt_with_another_token_is_refused(place: StagingTarget) -> None:
    with pytest.raises(Refused):
        write_part(StagingTarget(place.dsn, place.staging_id, "other"), 0, rows(3))
