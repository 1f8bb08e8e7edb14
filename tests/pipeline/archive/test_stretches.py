"""Bodies in the log's stretch, far from it, and kept beside the log: all are found, however messages ended."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from pipeline.archive import querying
from pipeline.archive.parts import Part
from pipeline.archive.schemas import SETTLED
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle


def test_messages_that_end_long_after_they_were_sent_are_archived_with_their_bodies(
    archive: Archive, engine: Engine
) -> None:
    early = [engine.send({"early": n}) for n in range(2)]
    handles = [row[1] for row in engine.receive(2)]
    engine.value("select setval('signalbox.message_id', nextval('signalbox.message_id') + 400)")
    late = settle(engine, 60)
    engine.ack(*handles)

    archive.run()

    found = {row["message_id"]: row["payload"] for row in archive.read("settled", engine)}
    assert sorted(found) == early + late
    assert [found[one] for one in early] == ['{"early": 0}', '{"early": 1}']
    assert None not in found.values()


@pytest.mark.parametrize("apart", [1, 50])
def test_bodies_that_are_kept_beside_the_log_are_found(archive: Archive, engine: Engine, apart: int) -> None:
    """Bodies in a dropped part of the log, and bodies far apart."""
    ids = []
    for _ in range(6):
        ids += settle(engine, 2)
        engine.value("select setval('signalbox.message_id', nextval('signalbox.message_id') + %s)", apart)
    engine.value(
        "with gone as (delete from signalbox.message where message_id = any(%s) returning *) "
        "insert into signalbox.message_kept (message_id, queue_id, payload, attributes, group_id, deduplication_id, "
        "trace_id, priority, sent_at) select message_id, queue_id, payload, attributes, group_id, deduplication_id, "
        "trace_id, priority, sent_at from gone returning 1",
        ids[:3],
    )

    archive.run()

    found = {row["message_id"]: row["payload"] for row in archive.read("settled", engine)}
    assert sorted(found) == ids
    assert set(found.values()) == {'{"n": 0}', '{"n": 1}'}


def test_what_reads_a_part_is_named_bounded_and_alone() -> None:
    """One process of the server for a connection, so that their cap is one of processes too; nothing is written."""
    asked = querying.session_settings(Part(SETTLED.name, 0, 1, 2, 1))

    assert asked["application_name"] == "signalbox archive settled"
    assert 0 < int(asked["statement_timeout"]) <= 3_600_000
    assert (asked["max_parallel_workers_per_gather"], asked["default_transaction_read_only"]) == (0, "on")


def test_a_part_done_again_is_the_same_file(archive: Archive, engine: Engine) -> None:
    settle(engine, 30)
    archive.run(part_rows=10)
    before = {path: (Path(archive.url) / path).read_bytes() for path in archive.named()}
    archive.again()
    archive.run(part_rows=10)

    after = {path: (Path(archive.url) / path).read_bytes() for path in archive.named()}
    assert len(before) > 1
    assert after == before


def test_a_large_body_is_archived_as_its_hash_and_size(archive: Archive, engine: Engine) -> None:
    """The body itself stays where it is, for as long as the log or a dead letter points to it."""
    body = uuid.uuid4().bytes * 2
    engine.value("select signalbox.claim_body(%s, 300000)", body)
    engine.value("select signalbox.send(%s, 'null', body_sha256 => %s)", engine.queue, body)
    engine.ack(engine.receive_one()[1])

    archive.run()

    (row,) = archive.read("settled", engine)
    assert (row["body_sha256"], row["body_bytes"], row["payload"]) == (body, 300_000, "null")
