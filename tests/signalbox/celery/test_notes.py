"""Notes of test tasks exist after the tasks have ended, whatever the database did during the run."""

from __future__ import annotations

import os

import psycopg

from tests.signalbox.celery.shop import TABLES, Notes


def test_a_note_waits_for_a_database_that_takes_no_writes(dsn: str) -> None:
    notes = Notes(dsn, "patient")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(TABLES)
        connection.execute("set default_transaction_read_only = on")  # as it is for sessions that began under it
        notes._connection, notes._owner = connection, os.getpid()

        notes.end("a task")

    assert notes.run("select work from public.completion where queue = 'patient'") == [("a task",)]
