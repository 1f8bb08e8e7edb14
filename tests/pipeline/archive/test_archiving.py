"""Completed messages are archived once, in whatever order they commit; messages in progress are not, yet."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pyarrow as pa
import pytest
from django.core.management import call_command
from psycopg.types.json import Jsonb

from pipeline.archive import archiving, extracting
from pipeline.archive.extracting import Job, Written
from pipeline.archive.files import NoStore, Store
from pipeline.archive.parts import Part
from pipeline.archive.schemas import KINDS, Kind
from pipeline.errors import Cancelled, CountsDiffer, Elsewhere
from pipeline.jobs import starting
from pipeline.models import ArchiveFile, Run
from pipeline.spark import sessions
from queues.control import archive_horizon, deletion
from tests.engine import Engine
from tests.pipeline.conftest import Archive, in_this_process, settle
from tests.streams import make_log


def test_each_settled_message_is_archived_once_with_its_body(archive: Archive, engine: Engine) -> None:
    ids = settle(engine, 20, attributes={"k": "v"}, group_id="g")

    done = archive.run()

    assert archive.ids("settled", engine) == ids
    row = archive.read("settled", engine)[0]
    assert (row["outcome"], row["queue"], row["tenant"], row["attributes"]) == (
        "acked",
        engine.queue,
        "default",
        '{"k": "v"}',
    )
    assert {row["payload"] for row in archive.read("settled", engine)} == {f'{{"n": {n}}}' for n in range(20)}
    assert row["settled_at"] >= row["sent_at"]
    assert row["work_ms"] is not None
    assert (
        done.rows == sum(run.rows for run in Run.objects.all()) == sum(file.rows for file in ArchiveFile.objects.all())
    )
    assert archive.files() == archive.named()


def test_a_queue_that_was_deleted_before_the_run_came_has_its_name_and_tenant(archive: Archive, engine: Engine) -> None:
    settle(engine, 3)
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint])", engine.die("dies"))
    deletion.delete_queue(engine.queue, actor="ann", reason="no longer needed")

    archive.run()

    rows = [row for kind in KINDS for row in archive.read(kind, engine)]
    assert len(rows) == 3 + 1 + 1 + 1  # acknowledged; deleted, its failure and its death
    assert {(row["queue"], row["tenant"]) for row in rows} == {(engine.queue, "default")}


def test_a_second_run_changes_nothing(archive: Archive, engine: Engine) -> None:
    settle(engine, 5)
    archive.run()
    before = archive.files(), list(ArchiveFile.objects.values())

    again = archive.run()

    assert (again.rows, again.runs) == (0, [])
    assert (archive.files(), list(ArchiveFile.objects.values())) == before


@pytest.mark.parametrize("verb", ["archive", "rollup", "analyse"])
def test_what_finds_nothing_to_do_starts_no_java(
    archive: Archive, engine: Engine, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    settle(engine, 3)
    archive.run()
    Run.objects.update(taken_in_by=Run.objects.get())
    if verb == "analyse":
        ArchiveFile.objects.all().delete()
    archive.until_over()

    def starts(*given: Any) -> NoReturn:
        raise AssertionError("a session was begun")

    monkeypatch.setattr(sessions, "session", starts)
    said = io.StringIO()
    call_command("pipeline", verb, "--json", *(["--to", archive.url] if verb == "archive" else []), stdout=said)

    assert {"archive": '"rows": 0', "rollup": '"days": 0', "analyse": '"run": null'}[verb] in said.getvalue()


def test_failures_and_deaths_are_archived_with_their_cause(
    archive: Archive, make_engine: Callable[..., Engine]
) -> None:
    engine = make_engine(max_receives=2, backoff_base_seconds=0, jitter=0)
    engine.send({"country": "XX"})
    for _ in range(2):
        engine.nack(engine.receive_one()[1], delay_seconds=0, error_class="Refused", error="no such country")

    archive.run()

    assert sorted(row["died"] for row in archive.read("failures", engine)) == [False, True]
    (letter,) = archive.read("dead_letters", engine)
    assert (letter["payload"], letter["error_class"]) == ('{"country": "XX"}', "Refused")
    assert letter["dead_letter_id"] is not None


def test_a_letter_that_came_and_went_between_two_runs_is_archived_all_the_same(
    archive: Archive, engine: Engine
) -> None:
    dead_letter_id = engine.die({"gone": True})
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint])", dead_letter_id)

    archive.run()

    (letter,) = archive.read("dead_letters", engine)
    assert (letter["payload"], letter["dead_letter_id"]) == ('{"gone": true}', None)


def test_a_death_is_archived_with_what_it_died_of_though_redrives_rewrote_it_since(
    archive: Archive, engine: Engine
) -> None:
    def dies_again(payload: dict[str, str]) -> None:
        (letter,) = engine.rows(
            "select dead_letter_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
        )[0]
        patch = Jsonb({str(letter): payload})
        engine.value("select count(*) from signalbox._redrive(array[%s::bigint], null, null, 'ann', %s)", letter, patch)
        engine.nack(engine.receive_one()[1], reason="rejected")

    engine.die({"country": "XX"})
    dies_again({"country": "DE"})
    dies_again({"country": "FR"})

    archive.run()

    found = sorted(archive.read("dead_letters", engine), key=lambda row: row["died_at"])
    assert [json.loads(row["payload"])["country"] for row in found] == ["XX", "DE", "FR"]


def test_what_a_redrive_sent_again_is_known(archive: Archive, engine: Engine) -> None:
    """Bodies beside the log, looked up alone; a replayed message is new, and was never a dead letter."""
    for far in (False, True):
        letter = engine.die({"n": 0})
        engine.value("select count(*) from signalbox.redrive(array[%s::bigint])", letter)
        if far:
            engine.value("select setval('signalbox.message_id', nextval('signalbox.message_id') + 1000)")
        engine.value(
            "select message_id"
            " from signalbox._replay(%s, array[7::bigint], array['{}'::jsonb], fingerprints => array[null])",
            engine.queue,
        )
        settle(engine, 3)

    archive.run()

    assert sorted(bool(row["redriven"]) for row in archive.read("settled", engine)) == [False] * 8 + [True] * 2


def test_letters_that_leave_while_they_are_read_do_not_stop_the_first_run(archive: Archive, engine: Engine) -> None:
    """Dead letters without history are not held; all others are archived."""
    gone, stays = engine.die({"old": 1}), engine.die({"old": 2})
    engine.value("delete from signalbox.failure where queue_id = %s returning 1", engine.queue_id)
    known = engine.die({"new": 1})
    engine.value("update signalbox.archive_horizon set below = 0 returning 1")

    def in_between(job: Job, parts: Sequence[Part]) -> list[Written]:
        engine.value("select count(*) from signalbox.redrive(array[%s::bigint])", gone)
        return in_this_process(job, parts)

    archive.run(in_between)

    assert sorted(row["dead_letter_id"] for row in archive.read("dead_letters", engine)) == [stays, known]


def test_a_cancel_while_its_files_are_checked_is_heeded(
    archive: Archive, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(engine, 3)
    check = Store.rows_of

    def cancelled(store: Store, path: str) -> int:
        starting.cancel(Run.objects.get(state=Run.State.RUNNING).pk, actor="tests")
        return check(store, path)

    monkeypatch.setattr(Store, "rows_of", cancelled)
    with pytest.raises(Cancelled):
        archive.run()

    assert (Run.objects.get().state, archive.files()) == (Run.State.CANCELLED, [])
    assert not starting.cancel(Run.objects.get().pk, actor="tests")


@pytest.mark.parametrize("spelt", ["{0}/", "file://{0}", "{0}/../archive", "archive"])
def test_a_folder_is_one_however_it_is_named(
    archive: Archive, engine: Engine, spelt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(engine, 3)
    archive.run()
    archive.again()
    whole = archive.url
    monkeypatch.chdir(Path(whole).parent)
    archive.url = spelt.format(whole)

    assert archive.run().url == whole

    assert [(run.state, run.url) for run in Run.objects.all()] == [(Run.State.COMMITTED, whole)]


def test_what_waits_for_its_row_group_is_bounded_however_many_days_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, before, held = KINDS["settled"], pa.total_allocated_bytes(), []

    def batches(dsn: str, kind: Kind, part: Part) -> Iterator[pa.RecordBatch]:
        for number in range(200):
            at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number % 40)
            row = {"txid": 1, "message_id": number, "settled_at": at, "payload": os.urandom(50_000).hex()}
            yield pa.RecordBatch.from_pylist([row], schema=kind.schema)
            held.append(pa.total_allocated_bytes() - before)

    monkeypatch.setattr(extracting, "FLUSH_BYTES", 1_000_000)
    monkeypatch.setattr(extracting, "batches", batches)
    written = extracting.write_part(Job("", str(tmp_path), "run"), Part(kind.name, 0, 0, 1, 200))

    assert (len(written), sum(file.rows for file in written)) == (40, 200)
    assert max(held) < 2_000_000


def test_the_first_run_takes_letters_whose_death_is_in_no_history(archive: Archive, engine: Engine) -> None:
    dead_letter_id = engine.die({"old": 1})
    engine.value("delete from signalbox.failure where queue_id = %s returning 1", engine.queue_id)
    engine.value("update signalbox.archive_horizon set below = 0 returning 1")

    archive.run()
    archive.run()

    assert [row["dead_letter_id"] for row in archive.read("dead_letters", engine)] == [dead_letter_id]


def test_what_a_slow_transaction_settles_is_not_lost(
    archive: Archive, engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    slow = connect(autocommit=False)
    engine.send(1)
    engine.send(2)
    (first, second) = engine.receive(2)
    slow.execute("select * from signalbox.ack(%s)", [[first[1]]])
    engine.ack(second[1])  # a later transaction, with later ids and times, that commits before

    archiving.archive(archive.url, actor="tests", execute=in_this_process)
    early = archive.ids("settled", engine)
    slow.commit()
    archive.run()

    assert early == []
    assert archive.ids("settled", engine) == [first[0], second[0]]


def test_a_large_window_becomes_several_runs_and_parts(archive: Archive, engine: Engine) -> None:
    for _ in range(6):
        settle(engine, 4)

    done = archive.run(run_rows=10, part_rows=3)

    assert len(done.runs) > 1
    assert archive.ids("settled", engine) == sorted(set(archive.ids("settled", engine)))
    assert len(archive.ids("settled", engine)) == 24


def test_what_one_transaction_did_is_archived_though_it_is_more_than_a_run_takes(
    archive: Archive, engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    """Rows of several kinds: after a restore, for example, all unarchived rows have one transaction."""
    large = engine.on(connect(autocommit=False))
    ids = [engine.send(n) for n in range(5)]
    (fails, *works) = large.receive(5)
    large.nack(fails[1], reason="rejected")
    large.ack(*[row[1] for row in works])
    large.connection.commit()

    archive.run(run_rows=3)

    assert sorted(archive.ids("settled", engine) + archive.ids("dead_letters", engine)) == ids
    assert archive.ids("failures", engine) == [fails[0]]


def test_files_that_lack_rows_are_never_committed(archive: Archive, engine: Engine) -> None:
    settle(engine, 3)

    def loses_some(job: Job, parts: Sequence[Part]) -> list[Written]:
        return in_this_process(job, parts)[1:]

    with pytest.raises(CountsDiffer, match="0 rows, but the database had 3"):
        archive.run(loses_some)

    assert (archive.files(), archive.named()) == ([], [])
    assert Run.objects.get().state == Run.State.FAILED
    archive.run()
    assert len(archive.ids("settled", engine)) == 3


def test_a_file_is_there_with_its_name_and_its_folders_after_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may drop the rows as soon as the manifest has it."""
    on_disk: list[tuple[str, bool]] = []
    root = tmp_path / "archive"
    target, sync = root / "settled" / "day=2026-01-01" / "a.parquet", os.fsync

    def synced(descriptor: int) -> None:
        on_disk.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), target.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    with Store(str(root)).writing("settled/day=2026-01-01/a.parquet") as stream:
        stream.write(b"x")

    folders = (target.parent, target.parent.parent, root, tmp_path)
    assert on_disk[1:] == [(str(folder), True) for folder in folders]


def test_files_that_are_not_what_was_written_are_never_committed(archive: Archive, engine: Engine) -> None:
    settle(engine, 3)

    def boasts(job: Job, parts: Sequence[Part]) -> list[Written]:
        return [replace(file, rows=file.rows + 1) for file in in_this_process(job, parts)]

    with pytest.raises(CountsDiffer, match="has 3 rows, but 4 were written"):
        archive.run(boasts)


def test_an_error_leaves_no_file_and_the_next_run_takes_all(archive: Archive, engine: Engine) -> None:
    settle(engine, 3)

    def breaks(job: Job, parts: Sequence[Part]) -> list[Written]:
        in_this_process(job, parts)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        archive.run(breaks)

    assert archive.files() == []
    assert "No space left on device" in Run.objects.get().error
    archive.run()
    assert len(archive.ids("settled", engine)) == 3


def test_a_cancelled_run_counts_for_nothing(archive: Archive, engine: Engine) -> None:
    settle(engine, 3)

    def is_cancelled_during_the_run(job: Job, parts: Sequence[Part]) -> list[Written]:
        assert starting.cancel(Run.objects.get().pk, actor="tests")
        return in_this_process(job, parts)

    with pytest.raises(Cancelled):
        archive.run(is_cancelled_during_the_run)

    assert (archive.files(), archive.named()) == ([], [])
    assert Run.objects.get().state == Run.State.CANCELLED
    assert not starting.cancel(Run.objects.get().pk, actor="tests")


def test_history_waits_again_from_the_moment_a_killed_first_run_is_taken_up(archive: Archive, engine: Engine) -> None:
    """The whole run must protect bodies: a body that is dropped earlier is in no archive."""
    settle(engine, 3)
    archive.run()
    archive.again()
    engine.value(
        "update signalbox.archive_horizon set holds = false, tried_at = now() - interval '2 hours' returning 1"
    )
    waits: list[bool] = []

    def execute(job: Job, parts: Sequence[Part]) -> list[Written]:
        waits.append(engine.value("select signalbox._archived_below() is not null"))
        return in_this_process(job, parts)

    archive.run(execute)

    assert waits == [True]


def test_a_run_that_was_begun_elsewhere_is_not_finished_here(archive: Archive, engine: Engine) -> None:
    Run.objects.create(token="t", url="/elsewhere", low=1, high=2, parts=[], started_by="tests")

    with pytest.raises(Elsewhere, match="/elsewhere"):
        archive.run()


@pytest.mark.parametrize("url", ["/elsewhere", "nowhere://elsewhere"])
def test_a_cancelled_run_of_another_process_stops_no_other_run(archive: Archive, engine: Engine, url: str) -> None:
    """The process and its address are gone: no other way ends the run, and history is kept for it."""
    ids = settle(engine, 3)
    begun = Run.objects.create(token="t", url=url, low=1, high=2, parts=[], started_by="tests")
    assert starting.cancel(begun.pk, actor="tests")

    archive.run()

    begun.refresh_from_db()
    assert begun.state == Run.State.CANCELLED
    assert archive.ids("settled", engine) == ids


def test_an_address_that_is_none_begins_nothing(archive: Archive, engine: Engine) -> None:
    settle(engine, 3)
    archive.connection.execute("delete from signalbox.archive_horizon")
    archive.url = "nowhere://archive"

    with pytest.raises(NoStore, match="nowhere"):
        archive.run()

    assert (list(Run.objects.all()), archive_horizon.read()) == ([], None)


@pytest.mark.parametrize("held_before", [False, True])
def test_history_waits_for_an_archive_that_has_worked(archive: Archive, engine: Engine, held_before: bool) -> None:
    """A run that fails at its start, without Java for example, stops no retention."""
    settle(engine, 3)
    if not held_before:
        assert archive_horizon.release()

    def breaks(job: Job, parts: Sequence[Part]) -> list[Written]:
        raise OSError(13, "Permission denied")

    with pytest.raises(OSError, match="Permission denied"):
        archive.run(breaks)

    at = archive_horizon.read()
    assert at is not None
    assert at.holds is held_before


def test_releasing_the_archive_lets_history_go(archive: Archive) -> None:
    assert archive_horizon.release()
    assert not archive_horizon.release()

    archive.run()

    at = archive_horizon.read()
    assert at is not None
    assert at.holds


def test_messages_of_streams_are_archived_once_up_to_what_may_still_commit(
    archive: Archive, engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    log, gone = make_log(connect(), partitions=2), make_log(connect(), partitions=1)
    slow = log.on(connect(autocommit=False))
    places = [log.append({"n": n}, key="k") for n in range(7)]
    places.append(slow.append({"n": 7}, key="k"))
    places.append(log.append({"n": 8}, key="k"))
    for each in range(9):
        gone.append(each)

    first = archiving.archive(archive.url, actor="tests", execute=in_this_process, part_rows=3, run_rows=6)
    log.connection.execute(
        "update signalbox.stream_segment set ends_at = 'epoch' where stream_id = %s", [log.stream_id]
    )
    needed = (
        "select count(*) from signalbox.stream_segment g left join signalbox.expired_stream_segments() e"
        " using (stream_id, starts_at) where g.stream_id = %s and e.table_name is null"
    )
    waits = log.value(needed, log.stream_id)
    slow.connection.commit()
    gone.value("select signalbox.configure_stream(%s, %s)", gone.name, Jsonb({"closed": True}))
    gone.value("select signalbox.delete_stream(%s)", gone.name)
    rest = archive.run(part_rows=3)

    assert (sum(run.rows for run in first.runs), sum(run.rows for run in rest.runs)) == (7 + 9, 2)
    assert len(first.runs) > 1
    assert archive.files() == archive.named()
    rows = streamed(archive, log.stream_id)
    assert [(row["partition"], row["position"]) for row in rows] == places
    assert [row["payload"] for row in rows] == [f'{{"n": {n}}}' for n in range(9)]
    assert {(row["stream"], row["tenant"], row["key"]) for row in rows} == {(log.name, "default", "k")}
    assert (waits, log.value(needed, log.stream_id)) == (1, 0), "retention drops what is archived, and no more"
    assert archive.run().runs == []


def test_a_large_body_of_a_stream_is_archived_as_its_hash_and_size(
    archive: Archive, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    log = make_log(connect(), partitions=1)
    body = os.urandom(32)
    log.value("select signalbox.claim_body(%s, 300000)", body)
    append = "select * from signalbox.append_batch_large(%s, array['null', 'null']::jsonb[], array[%s, null]::bytea[])"
    log.rows(append, log.name, body)

    archive.run()

    rows = streamed(archive, log.stream_id)
    assert [(row["payload"], row["body_sha256"], row["body_bytes"]) for row in rows] == [
        ("null", body, 300_000),
        ("null", None, None),
    ]


def streamed(archive: Archive, stream_id: int) -> list[dict[str, Any]]:
    """Archived messages of one stream, in their order."""
    paths = ArchiveFile.objects.filter(kind="stream_messages").values_list("path", flat=True)
    rows = [row for path in paths for row in Store(archive.url).read(path).to_pylist() if row["stream_id"] == stream_id]
    return sorted(rows, key=lambda row: (row["partition"], row["position"]))
