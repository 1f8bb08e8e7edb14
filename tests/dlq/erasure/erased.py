"""Erasing one person's data in tests, and where it can still be read."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from dlq.erasure import erasures, external
from dlq.erasure.erasures import ErasureRequest
from dlq.erasure.models import Erasure
from dlq.jobs.runner import Ending
from tests.engine import Engine
from tests.races.sessions import until

_people = itertools.count(1)


Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture(autouse=True)
def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove data that other tests have left."""
    monkeypatch.setattr(external, "_locations", {})


@pytest.fixture
def person(engine: Engine) -> str:
    """Person who appears in no other test."""
    return f"person {engine.queue} {next(_people)}"


def of(person: str, **more: Any) -> dict[str, Any]:
    return {"customer": {"id": person}, **more}


def erase(person: str, *, to_the_end: bool = True, **how: Any) -> Erasure:
    job = erasures.create(
        ErasureRequest(path="customer.id", value=person, **({"rows_per_second": 1_000_000} | how)),
        actor="ann",
        reason="request 7",
        confirmation="erase",
    )
    return finished(job) if to_the_end else job


def finished(job: Erasure) -> Erasure:
    """A transaction of another test's leftovers may be waited for; never for long."""

    def over() -> bool:
        erasures.run_slice(job.pk)
        job.refresh_from_db()
        return not job.is_active

    until(over, f"the end of {job}")
    return job


def marker(job: Erasure) -> dict[str, str]:
    return {"erased": str(job.pk)}


TABLES = [
    "message", "message_kept", "dead_letter", "trash", "rewritten", "failure", "message_state", "settled",
    "erasure_find", "erasure", "audit_event",
]  # fmt: skip
"""Where the engine keeps what messages carried, and what an erasure writes itself."""


def kept(engine: Engine, person: str) -> dict[str, int]:
    """Tables that still contain the person, with their number of rows."""
    counted = {
        table: engine.value(f"select count(*) from signalbox.{table} t where strpos(t::text, %s) > 0", person)
        for table in TABLES
    }
    return {table: rows for table, rows in counted.items() if rows}


def logged(engine: Engine, message_id: int) -> Any:
    return engine.rows("select payload, attributes from signalbox.message where message_id = %s", message_id)[0]


def rests(job: Erasure) -> bool:
    """Run it up to where it waits for consumers."""
    until(lambda: _at_rest(job), "the rest of the job")
    return True


def _at_rest(job: Erasure) -> bool:
    ending = erasures.run_slice(job.pk)
    job.refresh_from_db()
    return ending is Ending.RESTS and "in flight" in job.note


def has_begun(job: Erasure) -> bool:
    """Fix the bound behind the places from which new messages are sent."""
    return stands_at(job, "rewritten")


def stands_at(job: Erasure, place: str) -> bool:
    """Run one more batch of the erasure."""
    erasures.run_slice(job.pk, 0)
    job.refresh_from_db()
    return bool(job.place == place)
