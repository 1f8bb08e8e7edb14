"""Failure analysis in Spark, from the archive to the results in PostgreSQL, and repeated."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from django.core.management import call_command
from django.db import connection

from dlq.masking import rules
from dlq.masking.rules import MaskingRule
from pipeline.analysis import features, looking, templates
from pipeline.analysis.analysis_models import Comparison, Finding, Template, trend_of
from pipeline.archive import spark_tables
from pipeline.archive.schemas import KINDS
from pipeline.models import Run
from tests.engine import Engine
from tests.pipeline.analysis.test_comparing import COUNTRY, Queue, order
from tests.pipeline.conftest import Archive, ship

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
pytestmark = pytest.mark.timeout(600)


@pytest.mark.proof
def test_counting_in_spark_is_counting(spark: Any) -> None:
    """Queues of a planted cause and of none: what tasks find is what all counts say, worth comparing or not."""
    planted, clean = Queue(), Queue()
    rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    ids = iter(range(1, 10_000))

    def add(queue: Queue, queue_id: int, count: int, died: bool, seed: int, **given: Any) -> None:
        def make(chance: random.Random) -> dict[str, Any]:
            return order(chance, **given)

        (queue.died if died else queue.succeeded)(count, make, seed=seed)
        chance = random.Random(seed)
        rows[died] += [row(queue_id, next(ids), make(chance), "v2:a" if died else None) for _ in range(count)]

    add(planted, 7, 60, True, 1, country="XX")
    add(planted, 7, 9, True, 2, country="DE")
    add(planted, 7, 200, False, 3)
    add(clean, 8, 80, True, 4)
    add(clean, 8, 150, False, 5)
    rows[False] += [one | {"fingerprint": None, "at": NOON + timedelta(hours=1)} for one in rows[True]]  # redriven
    rows[True] += [one | {"at": NOON + timedelta(minutes=1)} for one in rows[True]]  # they died twice

    dead, acked = (table(spark, rows[died]) for died in (True, False))
    counted = looking.counts(dead.withColumnRenamed("fingerprint", "cause"), acked)
    found = spark_tables.rows_of(looking.standing_out(looking.worth_comparing(counted)))

    for queue_id, queue in ((7, planted), (8, clean)):
        (compared,) = queue.compared()
        of = sorted((one for one in found if one["queue_id"] == queue_id), key=lambda one: one["place"])
        assert [(one["failures"], one["successes"]) for one in of[:1]] == [(compared.failures, compared.successes)]
        assert {one["tests"] for one in of} == {queue.tests}
        assert [(one["path"], one["kind"], one["value"]) for one in of[1:]] == queue.found()
        assert [(one["failures_with"], one["successes_with"]) for one in of[1:]] == [
            (one.failures_with, one.successes_with) for one in compared.standing
        ]
    assert planted.found() == [COUNTRY]
    assert clean.found() == []


def row(queue_id: int, message_id: int, payload: Any, cause: str | None) -> dict[str, Any]:
    said = [
        dict(zip(("path", "kind", "value"), one, strict=True)) for one in features.of_message(json.dumps(payload), None)
    ]
    return {"queue_id": queue_id, "fingerprint": cause, "message_id": message_id, "at": NOON, "features": said}


def table(spark: Any, rows: list[dict[str, Any]]) -> Any:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=looking.SAID))


@pytest.mark.proof
def test_templates_are_counted_over_queues_and_days(spark: Any, engine: Engine) -> None:
    def failed(n: int, **given: Any) -> dict[str, Any]:
        usual = {"queue_id": 7, "queue": "a", "tenant": "t", "reason": "runtime_error", "error_class": "E"}
        return (
            usual
            | {
                "failed_at": NOON + timedelta(days=n % 3),
                "died": n % 2 == 0,
                "error": f"order {n} took {n} ms",
                "fingerprint": f"v2:{n % 25:02}",
            }
            | given
        )

    rows = [failed(n) for n in range(60)] + [failed(n, queue_id=8, queue="b", tenant="u") for n in range(30)]
    rows += [failed(0, error=None, error_class=None), failed(1, error="else")]
    names = templates.COLUMNS
    schema = pa.schema([KINDS["failures"].schema.field(name) for name in names])

    found = spark_tables.rows_of(
        templates.templates(templates.by_day(spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))))
    )

    first = found[0]
    assert (first["error"], first["failures"], first["deaths"]) == ("order * took *", 90, 45)
    assert first["template"] == engine.value("select signalbox.fingerprint('runtime_error', 'E', 'order 5 took 5 ms')")
    assert {one["template"] for one in found[1:]} == {
        engine.value("select signalbox.fingerprint('runtime_error', null, null)"),
        engine.value("select signalbox.fingerprint('runtime_error', 'E', 'else')"),
    }
    assert (first["first_seen"], first["last_seen"]) == (NOON, NOON + timedelta(days=2))
    assert (first["queue_count"], first["tenant_count"], first["fingerprint_count"]) == (2, 2, 25)
    assert [(one["queue"], -one["less"]) for one in first["queues"]] == [("a", 60), ("b", 30)]
    assert len(first["fingerprints"]) == templates.MAX_NAMED
    assert Counter({one["day"].day: -one["less"] for one in first["days"]}) == {2: 30, 3: 30, 4: 30}


def cause_of(engine: Engine) -> str:
    rows = engine.rows("select fingerprint from signalbox.dead_letter where source_queue_id = %s", engine.queue_id)
    (cause,) = {str(one[0]) for one in rows}
    return cause


def results() -> list[Any]:
    """All rows that analyses have written, of any run."""
    return [
        sorted(repr({name: value for name, value in one.items() if name != "run_id"}) for one in model.objects.values())
        for model in (Template, Comparison, Finding)
    ]


@pytest.mark.proof
def test_the_command_analyses_the_archive_and_a_rerun_changes_nothing(
    spark: Any, archive: Archive, engine: Engine
) -> None:
    ship(engine, 30, dies=True, country="XX")
    ship(engine, 60, dies=False, country="DE")
    rule = rules.add(part="payload", path="card.number", queue=engine.queue, actor="tests")
    try:
        archive.run(part_rows=20)
        first = command("analyse", "--json")
        before = results()
        again = command("analyse", "--json")
        Run.objects.filter(kind=Run.Kind.ANALYSE).update(outcome={})
        anew = command("analyse", "--json", "--days", "3")
    finally:
        MaskingRule.objects.filter(pk=rule.pk).delete()

    assert (first["is_new"], again["is_new"], anew["is_new"]) == (True, False, True)
    assert again["run"] == first["run"]
    assert results() == before
    cause = cause_of(engine)
    compared = Comparison.objects.get(cause=cause, queue_id=engine.queue_id)
    assert (compared.failures, compared.successes, compared.failures_unread) == (30, 60, 0)
    found = Finding.objects.filter(cause=cause, queue_id=engine.queue_id)
    assert (["payload", "country"], "value", '"XX"', 30, 0) in [
        (one.path, one.kind, one.value, one.failures_with, one.successes_with) for one in found
    ]
    assert "4111" not in repr(results())
    run = Run.objects.get(pk=anew["run"])
    assert run.outcome["archive_runs"] == list(Run.objects.filter(kind=Run.Kind.ARCHIVE).values_list("pk", flat=True))
    template = Template.objects.get(fingerprints__contains=[{"fingerprint": cause}])
    assert (template.failures, template.deaths, sum(template.days)) == (30, 30, 30)
    assert template.trend == trend_of(template.days)  # steady, unless midnight was among them
    assert [one["queue"] for one in template.queues] == [engine.queue]


@pytest.mark.proof
def test_merged_causes_are_one(spark: Any, archive: Archive, engine: Engine) -> None:
    ship(engine, 6, dies=True)
    cause = cause_of(engine)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into signalbox.failure_group_member (fingerprint, head, merged_by) values (%s, 'v2:head', 'tests')",
            [cause],
        )
    try:
        archive.run()
        command("analyse", "--json")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("delete from signalbox.failure_group_member where fingerprint = %s", [cause])

    assert [one.cause for one in Comparison.objects.filter(queue_id=engine.queue_id)] == ["v2:head"]


def test_without_an_archive_there_is_nothing_and_no_java(archive: Archive) -> None:
    assert command("analyse", "--json") == {"run": None, "is_new": False}


def command(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("pipeline", *arguments, stdout=out)
    return json.loads(out.getvalue())  # type: ignore[no-any-return]
