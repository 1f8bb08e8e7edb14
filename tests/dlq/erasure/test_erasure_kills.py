"""kill -9 between and within the slices of an erasure: a successor does the rest, and counts nothing twice."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from dlq.erasure import erasures, external
from dlq.erasure.erasures import ErasureRequest
from dlq.erasure.models import Erasure
from tests.dlq.processes import PROJECT, environment
from tests.engine import Engine
from tests.races.sessions import until

pytestmark = [pytest.mark.usefixtures("commits"), pytest.mark.proof]
MESSAGES = 12


@pytest.fixture(autouse=True)
def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove data that other tests have left."""
    monkeypatch.setattr(external, "_locations", {})


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("rewritten", "before"),
        ("dead", "within"),
        ("dead", "between"),
        ("log", "within"),
        ("log", "between"),
        ("again", "within"),
    ],
)
@pytest.mark.timeout(600)
def test_what_a_killed_process_left_is_done_once(engine: Engine, dsn: str, place: str, step: str) -> None:
    person = f"person {engine.queue}"
    letters = [engine.die({"customer": {"id": person}}, error=f"no {person}") for _ in range(MESSAGES)]
    for _ in range(MESSAGES):
        engine.send({"customer": {"id": person}})
    job = erasures.create(
        ErasureRequest("customer.id", person, live="delete", rows_per_second=1_000_000),
        actor="ann",
        reason="request",
        confirmation="erase",
        wake=False,
    )
    Erasure.objects.filter(pk=job.pk).update(slice_rows=5)

    killed = subprocess.run(
        [sys.executable, "-m", "tests.dlq.erasure.killed_erasure", str(job.pk), place, step],
        cwd=PROJECT,
        env=environment(dsn),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    Erasure.objects.filter(pk=job.pk).update(lease_expires_at=None)  # as if its lease had run out

    def over() -> bool:
        erasures.run_slice(job.pk)
        job.refresh_from_db()
        return not job.is_active

    until(over, "the end of the erasure")
    assert (job.state, job.became) == ("done", {"erased": MESSAGES, "deleted": MESSAGES})
    assert (job.places["dead"]["found"], job.places["log"]["found"]) == (MESSAGES, MESSAGES)
    assert engine.rows(
        "select distinct payload from signalbox.dead_letter where dead_letter_id = any(%s)", letters
    ) == [({"erased": str(job.pk)},)]
    assert engine.counted() == engine.recounted() == (0, 0, 0, MESSAGES, 0)
    for table in ("message", "message_kept", "dead_letter", "failure", "erasure", "erasure_find"):
        assert engine.rows(f"select 1 from signalbox.{table} t where strpos(t::text, %s) > 0", person) == []
