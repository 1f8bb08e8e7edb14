"""Erasure in the archive: files are rewritten, and nothing is lost, doubled or left, whatever is killed."""

from __future__ import annotations

import itertools
import json
import signal
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from dlq.erasure import erasures, external, report
from dlq.erasure.erasures import ErasureRequest
from dlq.erasure.external import PLACE
from dlq.erasure.models import Erasure
from dlq.jobs.runner import Ending
from dlq.redrives.staged.models import StagedMessage
from pipeline.analysis.analysis_models import Finding, Template
from pipeline.archive.files import Store
from pipeline.erasure import in_archive
from pipeline.erasure.models import ArchiveErasure, Discarded
from pipeline.errors import Busy
from pipeline.jobs.runs import alone
from pipeline.models import ArchiveFile, Run
from tests.dlq.redrives.stagings import stage
from tests.engine import Engine
from tests.pipeline.archive.test_archiving import streamed
from tests.pipeline.conftest import Archive
from tests.pipeline.forks import Forks
from tests.pipeline.object_store import bucket_url, credentials
from tests.races.sessions import until
from tests.streams import make_log

__all__ = ["bucket_url"]
_people = itertools.count(1)


@pytest.fixture
def person(engine: Engine) -> str:
    return f"person {engine.queue} {next(_people)}"


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, archive: Archive) -> Iterator[Archive]:
    """The archive in a folder, and in an object store."""
    if request.param == "folder":
        yield archive
        return
    with credentials():
        yield replace(archive, url=request.getfixturevalue("bucket_url").replace("FOLDER", uuid.uuid4().hex))


def settled(engine: Engine, person: str, others: int = 9) -> int:
    """Send one person's message among others and acknowledge it; return its id."""
    mine = engine.send({"customer": {"id": person}}, attributes={"who": person})
    for n in range(others):
        engine.send({"customer": {"id": n}})
    engine.ack(*[row[1] for row in engine.receive(others + 1)])
    return mine


def started(person: str, **how: Any) -> Erasure:
    """An erasure that is done with the database, and waits for the archive if there is one."""
    job = erasures.create(
        ErasureRequest("customer.id", person, rows_per_second=1_000_000, **how),
        actor="ann",
        reason="request",
        confirmation="erase",
        wake=False,
    )

    def is_there() -> bool:
        erasures.run_slice(job.pk)
        job.refresh_from_db()
        return job.place == PLACE or not job.is_active

    until(is_there, "the end of the database's part")
    return job


def finished(job: Erasure) -> Erasure:
    def over() -> bool:
        in_archive.erase(job.pk)
        erasures.run_slice(job.pk)
        job.refresh_from_db()
        return not job.is_active

    until(over, "the end of the erasure")
    assert job.state == "done"
    return job


def bytes_of(archive: Archive) -> str:
    """Contents of every file, as text."""
    store = Store(archive.url)
    return "\n".join(str(store.read(path).to_pylist()) for path in archive.files())


def test_a_file_loses_what_is_erased_and_keeps_its_rows(place: Archive, engine: Engine, person: str) -> None:
    mine = settled(engine, person)
    engine.die({"customer": {"id": person}}, error=f"no {person}", details=f"at {person}")
    log = make_log(place.connection, partitions=1)
    for one in (person, "another"):
        log.append({"customer": {"id": one}}, key="k")
    place.run()
    before = {one["message_id"]: one for kind in ("settled", "dead_letters") for one in place.read(kind, engine)}
    rows = list(ArchiveFile.objects.order_by("pk").values_list("kind", "day", "rows", "first_at", "last_at"))

    job = finished(started(person))

    assert person not in bytes_of(place)
    assert place.files() == place.named()
    assert list(ArchiveFile.objects.order_by("pk").values_list("kind", "day", "rows", "first_at", "last_at")) == rows
    after = {one["message_id"]: one for kind in ("settled", "dead_letters") for one in place.read(kind, engine)}
    marker = f'{{"erased": "{job.pk}"}}'
    emptied = {"payload": marker, "attributes": None}
    assert after[mine] == before[mine] | emptied
    assert {id_: one for id_, one in after.items() if one["payload"] != marker} == {
        id_: one for id_, one in before.items() if person not in str(one)
    }
    [failure] = place.read("failures", engine)
    assert (failure["error"], failure["details"], failure["died"]) == (marker, None, True)
    assert [one["payload"] for one in streamed(place, log.stream_id)] == [marker, '{"customer": {"id": "another"}}']
    told = report.report(job)["elsewhere"]["archive"]
    assert (told["files_rewritten"], told["rows_erased"], told["old_files_to_remove"]) == (4, 4, 0)
    assert sum(Run.objects.values_list("bytes", flat=True)) == sum(ArchiveFile.objects.values_list("bytes", flat=True))


def test_what_has_left_the_database_is_found_by_its_payload(archive: Archive, engine: Engine, person: str) -> None:
    mine = settled(engine, person)
    archive.run()
    engine.connection.execute("delete from signalbox.message where queue_id = %s", [engine.queue_id])

    job = finished(started(person))

    assert job.found == 0
    [row] = [row for row in archive.read("settled", engine) if row["message_id"] == mine]
    assert row["payload"] == f'{{"erased": "{job.pk}"}}'
    assert report.report(job)["elsewhere"]["archive"]["rows_erased"] == 1


def test_only_files_with_matches_are_rewritten(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, "another person")
    archive.run()
    untouched = archive.named()
    settled(engine, person)
    archive.run()

    finished(started(person))

    assert set(untouched) < set(archive.named())
    assert archive.files() == archive.named()


def test_row_groups_stay_as_they_are(
    archive: Archive, engine: Engine, person: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.archive.extracting.FLUSH_BYTES", 1)
    monkeypatch.setattr("pipeline.archive.querying.BATCH_BYTES", 1)
    for _ in range(3):
        settled(engine, person, others=2)
    archive.run()

    def groups() -> list[int]:
        """Pages of each file; there are two if midnight fell among the acks."""
        paths = ArchiveFile.objects.order_by("pk").values_list("path", flat=True)
        return [pq.ParquetFile(f"{archive.url}/{path}").num_row_groups for path in paths]

    before = groups()
    assert min(before) > 1
    finished(started(person))

    assert groups() == before
    assert person not in bytes_of(archive)


def test_a_second_erasure_takes_the_file_of_the_first(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    settled(engine, f"{person} too")
    archive.run()

    for somebody in (person, f"{person} too"):
        job = finished(started(somebody))

    assert person not in bytes_of(archive)
    assert archive.files() == archive.named()
    assert all(path.count("-erased-") == 1 for path in archive.named() if f"-erased-{job.pk}" in path)


def test_only_some_queues(archive: Archive, engine: Engine, person: str, make_engine: Any) -> None:
    other = make_engine()
    settled(engine, person)
    theirs = settled(other, person)
    archive.run()

    finished(started(person, queues=[engine.queue]))

    assert person not in str(archive.read("settled", engine))
    assert [row["message_id"] for row in archive.read("settled", other) if person in str(row)] == [theirs]


@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", ["writing", "written", "exchanging", "exchanged", "removed"])
def test_a_killed_attempt_is_finished_by_the_next(
    place: Archive, engine: Engine, person: str, forks: Forks, step: str
) -> None:
    settled(engine, person)
    engine.die({"customer": {"id": person}}, error=f"no {person}")
    place.run()
    ids = {kind: place.ids(kind, engine) for kind in ("settled", "failures", "dead_letters")}
    job = started(person)

    killed = forks.run("tests.pipeline.erasure.killed_erasure", job.pk, step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {kind: place.ids(kind, engine) for kind in ids} == ids, "the manifest names whole files at any moment"
    until(is_free, "the end of the killed process's session")
    finished(job)

    assert {kind: place.ids(kind, engine) for kind in ids} == ids
    assert [path for path in place.files() if ".begun-" not in path] == place.named()
    assert person not in "".join(str(place.read(kind, engine)) for kind in ids)
    assert not Discarded.objects.filter(erasure_id=job.pk, removed_at=None).exists()


def is_free() -> bool:
    """The server may not know yet that the process was killed."""
    try:
        with alone("signalbox.erase"):
            return True
    except Busy:
        return False


def test_it_waits_for_a_run_of_the_archive_that_began_before(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    archive.run()
    archive.again()  # as if it were still under way
    job = started(person)

    assert erasures.run_slice(job.pk) is Ending.RESTS
    row = in_archive.erase(job.pk)
    assert row is not None
    assert "which began earlier" in row.note
    archive.run()
    finished(job)

    assert person not in bytes_of(archive)


def test_a_terminal_erases_in_the_archive_without_a_worker(
    archive: Archive, engine: Engine, person: str, caplog: pytest.LogCaptureFixture
) -> None:
    settled(engine, person)
    archive.run()
    job = started(person)

    with alone("signalbox.erase"):
        external.work(job)
    assert f"erasure {job.pk} in the archive" in caplog.text
    assert person in bytes_of(archive)
    until(is_free, "the end of the lock")
    external.work(job)

    assert person not in bytes_of(archive)
    finished(job)


def test_a_file_that_is_being_read_is_removed_later(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    archive.run()
    [old] = archive.named()
    job = started(person)
    reader = Run.objects.create(kind=Run.Kind.ROLLUP, token="", url=archive.url, parts=[], started_by="tests")

    row = in_archive.erase(job.pk)
    assert row is not None
    assert "may read files that were replaced" in row.note
    assert old in archive.files()
    Run.objects.filter(pk=reader.pk).update(state=Run.State.COMMITTED, finished_at=timezone.now())
    finished(job)

    assert archive.files() == archive.named() != [old]


def test_findings_and_templates_that_quote_it_go(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    archive.run()
    run = Run.objects.latest("pk")
    common = {"cause": "v2:x", "queue_id": engine.queue_id, "run": run, "kind": "equal", "path": ["payload", "who"]}
    for place, value in ((1, person), (2, "another person")):
        Finding.objects.create(place=place, value=value, failures_with=1, successes_with=0, **common)
    now = timezone.now()
    counted = {"failures": 1, "deaths": 1, "queue_count": 1, "tenant_count": 1, "fingerprint_count": 1}
    lists: dict[str, Any] = {"days": [], "queues": [], "fingerprints": []}
    for name, error in (("v2:x", f"no {person} here"), ("v2:y", "nobody")):
        Template.objects.create(
            template=name, run=run, reason="rejected", error=error, first_seen=now, last_seen=now, **counted, **lists
        )

    job = finished(started(person))

    assert list(Finding.objects.values_list("value", flat=True)) == ["another person"]
    told = dict(Template.objects.values_list("template", "error"))
    assert told == {"v2:x": f'{{"erased": "{job.pk}"}}', "v2:y": "nobody"}
    assert report.report(job)["elsewhere"]["archive"]["findings_erased"] == 2


def test_what_was_stopped_is_not_worked_on(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    archive.run()
    job = started(person)
    erasures.cancel(job.pk, actor="ann")

    assert in_archive.erase(job.pk) is None
    assert ArchiveErasure.objects.get(pk=job.pk).files_rewritten == 0


@pytest.mark.parametrize("state", ["paused", "cancelled"])
def test_what_was_stopped_leaves_nothing_behind(archive: Archive, engine: Engine, person: str, state: str) -> None:
    """The replaced file still contains the person: it is deleted by any process; a paused job needs it."""
    settled(engine, person)
    archive.run()
    job = started(person)
    reader = Run.objects.create(kind=Run.Kind.ROLLUP, token="", url=archive.url, parts=[], started_by="tests")
    in_archive.erase(job.pk)
    (erasures.pause if state == "paused" else erasures.cancel)(job.pk, actor="ann")
    in_archive.remove_files_of_ended_erasures()
    assert len(archive.files()) == 2
    Run.objects.filter(pk=reader.pk).update(state=Run.State.COMMITTED, finished_at=timezone.now())

    in_archive.remove_files_of_ended_erasures()

    assert (archive.files() == archive.named()) is (state == "cancelled")
    left = Discarded.objects.filter(erasure_id=job.pk, removed_at=None)
    assert left.count() == (0 if state == "cancelled" else 1)


def test_messages_staged_during_an_erasure_are_erased(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    archive.run()
    job = started(person)
    held = stage(1, payload=json.dumps({"customer": {"id": person}}))  # a replay that had read the file before

    finished(job)

    assert list(StagedMessage.objects.filter(staging_id=held.pk).values_list("payload", flat=True)) == [
        f'{{"erased": "{job.pk}"}}'
    ]


def test_what_is_archived_after_it_is_clean(archive: Archive, engine: Engine, person: str) -> None:
    settled(engine, person)
    job = finished(started(person))

    done = archive.run()

    assert done.rows == 10
    assert person not in bytes_of(archive)
    assert f'{{"erased": "{job.pk}"}}' in bytes_of(archive)
