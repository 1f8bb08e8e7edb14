"""An erasure as a job: what it asks for, counts beforehand, says afterwards, and forgets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dlq.erasure import erasures, report
from dlq.erasure.erasures import ErasureRequest
from dlq.erasure.models import Erasure
from dlq.jobs.runner import Ending
from dlq.redrives import plans, redrives
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.dlq.erasure.erased import Connect, erase, finished, kept, marker, of
from tests.dlq.erasure.erased import no_archive as no_archive
from tests.dlq.erasure.erased import person as person
from tests.dlq.erasure.whole_samples import whole_samples as whole_samples
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits", "whole_samples")


def test_a_count_changes_nothing_and_is_exact(engine: Engine, person: str) -> None:
    engine.die(of(person))
    engine.send(of(person))
    before = kept(engine, person)

    job = erasures.create(ErasureRequest("customer.id", person), actor="ann", reason="first look", only_counts=True)
    finished(job)

    assert (job.states, job.became) == ({"pending": 1, "dead": 1}, {"counted": 2})
    assert (job.places["log"]["found"], job.places["dead"]["found"]) == (2, 1)
    assert kept(engine, person) == before


def test_a_preview_looks_at_every_place(engine: Engine, person: str) -> None:
    engine.send(of(person))
    engine.die(of(person))

    seen = erasures.preview(ErasureRequest("customer.id", person, rows_per_second=10))

    found = {one.place: one.found for one in seen.samples}
    assert (found["dead"], found["trash"]) == (1, 0)
    assert seen.seconds == seen.rows / 10
    assert kept(engine, person)


def test_the_value_is_forgotten_and_in_no_audit(engine: Engine, person: str) -> None:
    engine.die(of(person))
    job = erase(person, to_the_end=False)
    assert Erasure.objects.get(pk=job.pk).value == person

    finished(job)

    events = AuditEvent.objects.filter(action__startswith="erasure.", details__erasure_id=job.pk).order_by("pk")
    assert [event.action for event in events] == ["erasure.create", "erasure.finish"]
    assert person not in json.dumps([event.details for event in events])
    assert events[1].details["became"] == {"erased": 1}
    assert Erasure.objects.get(pk=job.pk).value == ""
    assert person not in json.dumps(report.report(job))


@pytest.mark.parametrize("verb", ["cancel", "fail"])
def test_what_ends_early_forgets_the_value_too(
    engine: Engine, person: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = erase(person, to_the_end=False)

    if verb == "cancel":
        assert erasures.cancel(job.pk, actor="ann")
    else:
        Erasure.objects.filter(pk=job.pk).update(place="nowhere")
        assert erasures.run_slice(job.pk) is Ending.STOPPED

    job.refresh_from_db()
    assert (job.value, job.state) == ("", {"cancel": "cancelled", "fail": "failed"}[verb])


def test_a_pause_and_a_resume(engine: Engine, person: str) -> None:
    engine.die(of(person))
    job = erase(person, to_the_end=False)

    assert erasures.pause(job.pk, actor="ann")
    assert erasures.run_slice(job.pk) is Ending.TAKEN
    assert erasures.resume(job.pk, actor="ann")

    assert finished(job).became == {"erased": 1}


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"live": "burn"}, "live"),
        ({"queues": ["nowhere"]}, "queues"),
        ({"tenant": "missing"}, "tenant"),
        ({"tenant": "default", "queues": ["q"]}, "tenant"),
        ({"rows_per_second": 0}, "rows_per_second"),
        ({"path": "a..b"}, "path"),
        ({"value": "null"}, "value"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(commits: None, how: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        erasures.create(
            ErasureRequest(**({"path": "a", "value": "b"} | how)), actor="ann", reason="r", confirmation="erase"
        )
    assert refused.value.field == field


@pytest.mark.parametrize(("given", "field"), [({"confirmation": "yes"}, "confirmation"), ({"reason": " "}, "reason")])
def test_it_asks_for_a_word_and_a_reason(commits: None, given: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        erasures.create(ErasureRequest("a", "b"), actor="ann", **({"reason": "r", "confirmation": "erase"} | given))
    assert refused.value.field == field


def test_jobs_of_others_go_on_as_if_nothing_was(engine: Engine, person: str) -> None:
    """A redrive of what was erased sends the marker, a deletion puts it in the trash."""
    dead = [engine.die(of(person)) for _ in range(2)]
    job = erase(person)

    letters = engine.value(
        "select array_agg(message_id) from signalbox.dead_letter where dead_letter_id = any(%s)", dead
    )
    plan = plans.make(check_filter(f"id:{letters[0]}"), actor="ann", reason="again")
    redrives.run_in_foreground(redrives.run(plan.pk, actor="ann", reason="again").pk)
    bound = plans.preview(check_filter(f"id:{letters[1]}")).upper_bound
    deletions.run_in_foreground(
        deletions.create(check_filter(f"id:{letters[1]}"), bound, actor="ann", reason="away").pk
    )

    assert engine.receive_one()[3] == marker(job)
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)


def test_after_a_restore_elsewhere_nothing_waits_for_ids_of_the_other_cluster(engine: Engine, connect: Connect) -> None:
    restoring = engine.on(connect(autocommit=False))
    restoring.connection.execute(
        "insert into signalbox.erasure_find (erasure_id, message_id, place, became, looked_in)"
        " values (9000000000, 9000000000, 'log', 'erased', '9000000000000')"  # no other test comes so far
    )

    restoring.value("select signalbox._rebase_counters()")

    noted = "select looked_in = pg_current_xact_id() from signalbox.erasure_find where erasure_id = 9000000000"
    assert restoring.value(noted) is True
    restoring.connection.rollback()
