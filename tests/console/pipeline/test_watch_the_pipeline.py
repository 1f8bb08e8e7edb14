"""The pipeline page: how far the archive is, what runs took, and who may start and stop them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from celery import current_app
from django.conf import LazySettings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipeline.analysis import analysing
from pipeline.errors import PipelineError
from pipeline.jobs import runs
from pipeline.models import ArchiveFile, Run, RunRequest
from pipeline.spark.servers import Server
from queues.control import queues
from queues.models import AuditEvent
from signalbox import QueueClosed
from tests.archive_runs import committed_run
from tests.console.browsers import Browser

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def clean(commits: None) -> Iterator[None]:
    yield
    Server.objects.all().delete()
    ArchiveFile.objects.all().delete()
    Run.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("delete from signalbox.archive_horizon")


@pytest.fixture
def run(clean: None) -> Run:
    """A run that has ended, with two files."""
    return committed_run("/srv/archive<b>", ["a", "b"], NOW)


def test_a_page_without_an_archive_says_how_to_begin(viewer: Browser, clean: None) -> None:
    assert "manage.py pipeline archive" in viewer.see("/pipeline").text


def test_runs_are_listed_with_what_they_took(viewer: Browser, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(rows=36_000)  # in the hour that it took
    page = viewer.see("/pipeline")

    cells = dict(re.findall(r'data-label="(Rows|Bytes|Rows per second)">([^<]*)<', page.html))
    assert {name: text.replace("\xa0", " ").strip() for name, text in cells.items()} == {
        "Rows": "36,000",
        "Bytes": "2.0 KB",
        "Rows per second": "10",
    }
    assert page.link(f"Archive {run.pk}") == f"/pipeline/{run.pk}"
    assert "committed" in page.text
    assert "/srv/archive<b>" in page.text


def test_a_run_leads_from_its_window_to_files_and_buckets(viewer: Browser, run: Run) -> None:
    rollup = Run.objects.create(
        kind=Run.Kind.ROLLUP,
        token="",
        url="",
        parts=[],
        state=Run.State.COMMITTED,
        started_by="bob",
        outcome={"archive_runs": [run.pk], "days": ["2026-11-21"], "buckets": 12},
    )
    Run.objects.filter(pk=run.pk).update(taken_in_by=rollup)

    page = viewer.see(f"/pipeline/{run.pk}")

    assert "settled/day=2026-11-21/a.parquet" in page.text
    files = [row.split()[0][-9:] for row in viewer.see(page.link("File")).rows() if ".parquet" in row]
    assert files == ["a.parquet", "b.parquet"]
    assert page.link(f"rollup {rollup.pk}") == f"/pipeline/{rollup.pk}"
    page = viewer.see(f"/pipeline/{rollup.pk}")
    assert page.link(f"archive {run.pk}") == f"/pipeline/{run.pk}"
    assert page.link("2026-11-21") == "/history?from=2026-11-18T00%3A00&to=2026-11-24T23%3A59"


def test_the_horizon_is_said_and_called_old_when_it_stands(viewer: Browser, clean: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into signalbox.archive_horizon (below, moved_at) values (0, now())")
        assert "The archive is empty" in viewer.see("/pipeline").text
        cursor.execute("update signalbox.archive_horizon set below = 77")
        assert "Archived up to transaction 77" in viewer.see("/pipeline").text
        cursor.execute("update signalbox.archive_horizon set moved_at = now() - interval '2 days'")
        assert "History is kept until archived, so the database grows" in viewer.see("/pipeline").text
        cursor.execute("update signalbox.archive_horizon set holds = false")
    assert "History is deleted without archiving" in viewer.see("/pipeline").text


def test_an_admin_starts_a_run_and_the_audit_knows(
    admin: Browser, clean: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, list[Any], bool]] = []
    monkeypatch.setattr(
        current_app, "send_task", lambda name, **options: asked.append((name, options["args"], "kwargs" in options))
    )

    page = admin.submit("/pipeline/start/archive")

    assert "Requested an archive run. It is listed here when it starts." in page.text
    request = RunRequest.objects.latest("pk")
    assert (request.kind, request.requested_by, request.state) == ("archive", admin.name, "requested")
    assert asked == [("pipeline.run", [request.pk], False)]
    assert AuditEvent.objects.filter(actor=admin.name, action="pipeline.archive").exists()
    assert "There is no run called" in admin.submit("/pipeline/start/nothing", status=404).text


@pytest.mark.parametrize("error", [QueueClosed("closed"), psycopg.errors.InvalidSchemaName("not migrated")])
def test_a_broker_that_refuses_starts_nothing_and_breaks_no_page(
    admin: Browser, clean: None, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuses(name: str, **options: Any) -> None:
        raise error

    monkeypatch.setattr(current_app, "send_task", refuses)

    assert "Nothing started: Celery's broker cannot be reached" in admin.submit("/pipeline/start/archive").text
    assert RunRequest.objects.latest("pk").state == RunRequest.State.REFUSED


@pytest.mark.parametrize("kind", Run.Kind.values)
def test_an_admin_cancels_a_run_once(admin: Browser, run: Run, kind: str) -> None:
    Run.objects.filter(pk=run.pk).update(state=Run.State.RUNNING, finished_at=None, kind=kind)
    assert "Cancel" in admin.see(f"/pipeline/{run.pk}").text

    page = admin.submit(f"/pipeline/{run.pk}/cancel")

    assert f"Stopping run {run.pk}. Its partial output is discarded." in page.text
    assert Run.objects.get(pk=run.pk).cancel_requested
    assert AuditEvent.objects.filter(actor=admin.name, action="pipeline.cancel", details={"run_id": run.pk}).exists()
    assert "Nothing was changed" in admin.submit(f"/pipeline/{run.pk}/cancel").text


def test_the_spark_server_is_shown_as_it_is(viewer: Browser, clean: None) -> None:
    assert "Spark server" not in viewer.see("/pipeline").text
    Server.objects.create(host="<b>box", pid=4711, idle_seconds=600, jobs=3)

    def shown(**change: Any) -> str:
        Server.objects.update(**change)
        return viewer.see("/pipeline").text

    now = datetime.now(UTC)
    assert "Idle since the last job" in shown()
    assert "<b>box, process 4711" in shown()
    assert "Running a job." in shown(busy=True)
    assert "No sign of life since" in shown(seen_at=now - timedelta(hours=1))
    assert ": no job used it for 600 s. The next job starts a new server" in shown(
        ended_at=now, ended="no job used it for 600 s"
    )


def test_others_see_the_verbs_disabled(operator: Browser, clean: None) -> None:
    page = operator.see("/pipeline")

    assert "not available: Starting and cancelling pipeline runs requires the admin role." in page.text
    operator.submit("/pipeline/start/archive", status=403)


def test_the_page_costs_no_more_with_more_runs(viewer: Browser, run: Run) -> None:
    viewer.see("/pipeline")
    with CaptureQueriesContext(connection) as one:
        viewer.see("/pipeline")
    for _ in range(20):
        Run.objects.create(token="t", url="/x", low=1, high=2, parts=[], state=Run.State.FAILED, started_by="ann")

    with CaptureQueriesContext(connection) as many:
        viewer.see("/pipeline")

    assert len(many) == len(one)


def test_the_page_says_when_no_worker_consumes_pipeline_tasks(
    viewer: Browser, clean: None, settings: LazySettings
) -> None:
    queue = queues.create_queue(f"tasks-{uuid.uuid4().hex[:8]}")
    settings.PIPELINE_QUEUE, settings.BROKER_IS_DATABASE = queue.name, True
    note_consumer(queue.pk, "pipeline@old", "1 minute")
    assert f"celery -A console worker -Q {queue.name}" in viewer.see("/pipeline").text
    settings.BROKER_IS_DATABASE = False  # the workers of another broker write no rows
    assert "No worker" not in viewer.see("/pipeline").text

    settings.BROKER_IS_DATABASE = True
    note_consumer(queue.pk, "pipeline@new", "1 second")
    assert "No worker" not in viewer.see("/pipeline").text


def note_consumer(queue_id: int, name: str, ago: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into signalbox.consumer (queue_id, consumer, last_seen_at) values (%s, %s, now() - %s::interval)",
            [queue_id, name, ago],
        )


def test_a_running_analysis_says_which_step_it_works_on(viewer: Browser, clean: None) -> None:
    with runs.begun(Run.Kind.ANALYSE, "ann", steps=analysing.STEPS) as run:
        runs.note_step(run)
        runs.note_step(run)
        assert "step 3 of 5: comparing failures with successes" in viewer.see("/pipeline").text
        page = viewer.see(f"/pipeline/{run.pk}")
        assert "Step 3 of 5: comparing failures with successes" in page.text
        assert page.one("div", role="progressbar").attributes["aria-valuenow"] == "40"

    runs.fail(run, PipelineError("stopped by the test"))
    assert "step 3 of 5" not in viewer.see("/pipeline").text
