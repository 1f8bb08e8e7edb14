"""Analysis runs: group the failures of the archive's last days by template, and compare failures with successes.

A run computes its result from all files of the window, and replaces the last result in one transaction; a repeated or
killed run therefore changes nothing twice. The window ends with the archive's last day, not with today.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import Max, Min, QuerySet

from dlq.masking.rules import Masking
from pipeline.analysis import comparing, looking, templates
from pipeline.analysis.analysis_models import Comparison, Finding, Template, trend_of
from pipeline.analysis.features import Hidden
from pipeline.analysis.normal_errors import RULES
from pipeline.archive import spark_tables
from pipeline.archive.spark_tables import rows_of
from pipeline.jobs import runs
from pipeline.jobs.runs import alone, interrupted_when_cancelled
from pipeline.models import ArchiveFile, Run
from queues.models import Queue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USUAL_DAYS = 30
MAX_DAYS = 366
MAX_COMPARISONS = 2_000
"""Largest number of pairs of queue and cause whose comparison is stored: those with the most dead letters."""
STEPS = (
    "starting Spark",
    "grouping failures by template",
    "comparing failures with successes",
    "collecting findings",
    "saving",
)
MADE_BY = f"1-{RULES}"
"""Version of the computation. A result of another version is computed again."""


@dataclass(frozen=True)
class Window:
    """Whole days of the archive, in UTC."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=n) for n in range((self.last - self.first).days + 1)]


@dataclass(frozen=True)
class Analysed:
    """The result of one call: the current analysis, if there is one, and whether this call computed it."""

    run: Run | None
    is_new: bool


def analyse(
    session: Callable[[], SparkSession], *, actor: str, days: int = USUAL_DAYS, since: date | None = None
) -> Analysed:
    """Analyse the archive, unless nothing changed since the last analysis. Raises `Busy`."""
    with alone("signalbox.analyse"):
        runs.fail_dead(Run.Kind.ANALYSE)
        window = window_of(days, since)
        if window is None:
            return Analysed(None, False)
        basis = _basis(window)
        last = Run.objects.filter(kind=Run.Kind.ANALYSE, state=Run.State.COMMITTED).order_by("-pk").first()
        if last is not None and last.outcome.get("basis") == basis:
            return Analysed(last, False)
        with runs.begun(Run.Kind.ANALYSE, actor, steps=STEPS) as run:
            spark = session()
            with interrupted_when_cancelled(Run.Kind.ANALYSE, spark):
                _commit(run, window, basis, _Result.of(run, spark, window))
        return Analysed(run, True)


def window_of(days: int = USUAL_DAYS, since: date | None = None) -> Window | None:
    """Return the archive's last days, or its days from `since` on; None when there are no such days."""
    known = ArchiveFile.objects.aggregate(first=Min("day"), last=Max("day"))
    if known["last"] is None:
        return None
    first = since or known["last"] - timedelta(days=max(1, days) - 1)
    first = max(first, known["first"], known["last"] - timedelta(days=MAX_DAYS - 1))
    return Window(first, known["last"]) if first <= known["last"] else None


def _basis(window: Window) -> dict[str, str]:
    """Describe all inputs of an analysis: window, files, masking rules, merged failure groups and version."""
    files = list(_files(window).order_by("pk").values_list("pk", flat=True))
    rules = sorted(map(repr, _rows("select part, path, queue_name, tenant_name from signalbox.masking_rule")))
    return {
        "made_by": MADE_BY,
        "window": f"{window.first}..{window.last}",
        "files": _digest(files),
        "masked": _digest(rules),
        "merged": _digest(sorted(_heads().items())),
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _files(window: Window) -> QuerySet[ArchiveFile]:
    return ArchiveFile.objects.filter(day__range=(window.first, window.last)).select_related("run")


@dataclass(frozen=True)
class _Result:
    """The results that Spark computed. Their number is bounded, whatever the archive contains."""

    templates: Sequence[dict[str, Any]]
    failures: int
    comparisons: Sequence[dict[str, Any]]
    compared: int
    """The number of comparisons before the bound."""
    findings: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, run: Run, spark: SparkSession, window: Window) -> _Result:
        """Compute the results, and note each of the STEPS."""
        runs.note_step(run)
        files = _files(window)
        failed = spark_tables.of_files(spark, "failures", files.filter(kind="failures"), templates.COLUMNS)
        days = templates.by_day(failed).persist()
        whole = days.groupBy().sum("failures").toArrow().to_pylist()[0]["sum(failures)"] or 0
        named = rows_of(templates.templates(days))
        days.unpersist()
        runs.note_step(run)
        found = looking.standing_out(looking.worth_comparing(looking.counts(*_messages(spark, files)))).persist()
        compared = found.where("place = 0").count()
        runs.note_step(run)
        most = MAX_COMPARISONS * (1 + comparing.MAX_FOUND)
        order = ["failures", "cause", "queue_id", "place"]
        rows = rows_of(found.orderBy(*order, ascending=[False, True, True, True]).limit(most))
        found.unpersist()
        runs.note_step(run)
        heads = [row for row in rows if row["place"] == 0][:MAX_COMPARISONS]
        return cls(named, whole, heads, compared, _certain(rows, heads, compared))


def _certain(rows: Sequence[dict[str, Any]], heads: Sequence[dict[str, Any]], groups: int) -> Sequence[dict[str, Any]]:
    """Keep the findings that are certain enough for the number of comparisons that were made."""
    known = {(row["queue_id"], row["cause"]) for row in heads}
    return [
        row
        for row in rows
        if row["place"]
        and (row["queue_id"], row["cause"]) in known
        and comparing.is_certain(row["surprise"], row["tests"], groups)
    ]


def _messages(spark: SparkSession, files: QuerySet[ArchiveFile]) -> tuple[DataFrame, DataFrame]:
    """Read the features of dead letters with their causes, and of the acknowledged messages of the same queues."""
    dead_files, settled = list(files.filter(kind="dead_letters")), list(files.filter(kind="settled"))
    died = spark_tables.of_files(spark, "dead_letters", dead_files, ("queue_id", "queue"))
    names = {row["queue_id"]: row["queue"] for row in rows_of(died.where("queue_id is not null").distinct())}
    hidden = _hidden(names)
    dead = _said(spark, "dead_letters", dead_files, list(names), hidden)
    acked = _said(spark, "settled", settled, list(names), hidden)
    heads = _heads()
    if heads:
        known = spark.createDataFrame(sorted(heads.items()), "fingerprint string, head string")
        dead = dead.join(known, "fingerprint", "left").selectExpr("*", "coalesce(head, fingerprint) as cause")
    else:
        dead = dead.withColumn("cause", dead["fingerprint"])
    return dead.where("cause is not null"), acked


def _said(
    spark: SparkSession, kind: str, files: Iterable[ArchiveFile], queue_ids: Sequence[int], hidden: Mapping[int, Hidden]
) -> DataFrame:
    by_url = spark_tables.paths_by_url(files) or {".": []}
    return spark_tables.union(
        [looking.said(spark, url, kind, paths, queue_ids, hidden) for url, paths in by_url.items()]
    )


def _hidden(names: Mapping[int, str | None]) -> dict[int, Hidden]:
    """Read the masking rules of each queue. All rules apply to a deleted queue, because its tenant is unknown."""
    masking = Masking()
    existing = set(Queue.objects.filter(queue_id__in=names).values_list("queue_id", flat=True))
    hidden = {}
    for queue_id, name in names.items() if masking else ():
        rules = masking.of_dead_letters(name) if queue_id in existing and name else masking.everywhere()
        hidden[queue_id] = (rules.payload, rules.attributes)
    return hidden


def _heads() -> dict[str, str]:
    """Map each fingerprint that was merged into a failure group to the fingerprint of the group."""
    return dict(_rows("select fingerprint, head from signalbox.failure_group_member"))


def _commit(run: Run, window: Window, basis: dict[str, str], result: _Result) -> None:
    """Replace the last analysis in one transaction."""
    with transaction.atomic():
        for model in (Finding, Comparison, Template):
            model.objects.all().delete()
        _copy(Template, [_template(run, window, row) for row in result.templates])
        _copy(Comparison, [row | {"run_id": run.pk} for row in result.comparisons])
        _copy(Finding, [row | {"run_id": run.pk} for row in result.findings])
        archived = _files(window).order_by("run_id").values_list("run_id", flat=True).distinct()
        outcome = {
            "basis": basis,
            "days": [str(day) for day in window.days],
            "archive_runs": list(archived),
            "failures": result.failures,
            "templates": len(result.templates),
            "comparisons": len(result.comparisons),
            "left_out": result.compared - len(result.comparisons),
            "findings": len(result.findings),
        }
        runs.commit(run, result.failures, outcome)


def _template(run: Run, window: Window, row: dict[str, Any]) -> dict[str, Any]:
    failures_of_day = {entry["day"]: -entry["less"] for entry in row["days"]}
    days = [failures_of_day.get(day, 0) for day in window.days]
    named = {
        name: [{**{key: entry[key] for key in keys}, "failures": -entry["less"]} for entry in row[name]]
        for name, keys in (("queues", ("queue_id", "queue", "tenant")), ("fingerprints", ("fingerprint",)))
    }
    texts = {name: json.dumps(value) for name, value in {"days": days, **named}.items()}
    return row | texts | {"run_id": run.pk, "trend": trend_of(days)}


def _copy(model: type[Any], rows: Sequence[dict[str, Any]]) -> None:
    names = [field.column for field in model._meta.local_concrete_fields if field.column]
    columns = ", ".join(f'"{name}"' for name in names)
    with (
        connection.cursor() as cursor,
        cursor.copy(f'copy signalbox."{model._meta.db_table}" ({columns}) from stdin') as out,
    ):
        for row in rows:
            # PostgreSQL stores no NUL, which a decoded JSON string may contain.
            values = (row[name] for name in names)
            out.write_row([value.replace("\0", "") if isinstance(value, str) else value for value in values])


def _rows(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
