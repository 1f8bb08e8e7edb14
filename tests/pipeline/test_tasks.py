"""The Celery task runs the command, with the name of whoever asked."""

from __future__ import annotations

import logging

import pytest

from pipeline import tasks
from pipeline.archive import horizon
from tests.dlq.processes import environment
from tests.pipeline.conftest import Archive


def test_a_task_archives_up_to_now(archive: Archive, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive.connection.execute(
        "update signalbox.archive_horizon set below = below - 1 returning below"
    ).fetchone()
    for name, value in environment(dsn).items():
        monkeypatch.setenv(name, value)

    tasks.archive(actor="ann")

    at = horizon.read()
    assert at is not None
    assert before is not None
    assert at.below > before[0]


def test_a_task_that_fails_says_so_in_the_log(
    archive: Archive, dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in environment(dsn).items():
        monkeypatch.setenv(name, value)
    archive.connection.execute("select pg_advisory_lock(hashtext('signalbox.rollup'), 0)")
    caplog.set_level(logging.WARNING)

    tasks.rollup(actor="ann")

    assert "Another process is at it" in caplog.text
