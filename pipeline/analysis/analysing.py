"""Analysis runs: the failures in the last days of the archive, by template, and what sets those of a cause apart.

The result is computed from all files of the window, and replaces the last one in one transaction, so that a run done
twice, or killed anywhere, changes nothing twice. The window ends with the archive and not with the clock.
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
from pipeline.jobs.runs import alone, heeding
from pipeline.models import ArchiveFile, Run
from queues.models import Queue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USUAL_DAYS = 30
MAX_DAYS = 366
MAX_COMPARISONS = 2_000
"""Causes in queues, those with the most deaths; what a page can lead to is bounded, the rest is counted."""
MADE_BY = f"1-{RULES}"
"""The version of all that is computed here: with another version an analysis computes everything again."""


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
    """The result of one call; nothing where nothing was archived, or nothing since the last time."""

    run: Run | None
    is_new: bool


def analyse(
    session: Callable[[], SparkSession], *, actor: str, days: int = USUAL_DAYS, since: date | None = None
) -> Analysed:
    """Bring the analysis up to the archive. Raises `Busy` while another process does that."""
    with alone("signalbox.analyse"):
        runs.fail_dead(Run.Kind.ANALYSE)
        window = window_of(days, since)
        if window is None:
            return Analysed(None, False)
        basis = _basis(window)
        last = Run.objects.filter(kind=Run.Kind.ANALYSE, state=Run.State.COMMITTED).order_by("-pk").first()
        if last is not None and last.outcome.get("basis") == basis:
            return Analysed(last, False)
        with runs.begun(Run.Kind.ANALYSE, actor) as run:
            spark = session()
            with heeding(Run.Kind.ANALYSE, spark):
                _commit(run, window, basis, _Found.of(spark, window))
        return Analysed(run, True)


def window_of(days: int = USUAL_DAYS, since: date | None = None) -> Window | None:
    """The last days that the archive has, or those from `since` on; None when it has none."""
    known = ArchiveFile.objects.aggregate(first=Min("day"), last=Max("day"))
    if known["last"] is None:
        return None
    first = since or known["last"] - timedelta(days=max(1, days) - 1)
    first = max(first, known["first"], known["last"] - timedelta(days=MAX_DAYS - 1))
    return Window(first, known["last"]) if first <= known["last"] else None


def _basis(window: Window) -> dict[str, str]:
    """Collect all that the result follows from: files, window, masked paths, merged groups, and rules."""
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
class _Found:
    """The answer of Spark: bounded, whatever the archive holds."""

    templates: Sequence[dict[str, Any]]
    failures: int
    comparisons: Sequence[dict[str, Any]]
    compared: int
    """How many there were before the bound."""
    findings: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, spark: SparkSession, window: Window) -> _Found:
        files = _files(window)
        failed = spark_tables.of_files(spark, "failures", files.filter(kind="failures"), templates.COLUMNS)
        days = templates.by_day(failed).persist()
        whole = days.groupBy().sum("failures").toArrow().to_pylist()[0]["sum(failures)"] or 0
        named = rows_of(templates.templates(days))
        days.unpersist()
        found = looking.standing_out(looking.worth_comparing(looking.counts(*_messages(spark, files)))).persist()
        compared = found.where("place = 0").count()
        most = MAX_COMPARISONS * (1 + comparing.MAX_FOUND)
        order = ["failures", "cause", "queue_id", "place"]
        rows = rows_of(found.orderBy(*order, ascending=[False, True, True, True]).limit(most))
        found.unpersist()
        heads = [row for row in rows if row["place"] == 0][:MAX_COMPARISONS]
        return cls(named, whole, heads, compared, _certain(rows, heads, compared))


def _certain(rows: Sequence[dict[str, Any]], heads: Sequence[dict[str, Any]], groups: int) -> Sequence[dict[str, Any]]:
    """Keep what stands out given the number of queues with causes that were compared."""
    known = {(row["queue_id"], row["cause"]) for row in heads}
    return [
        row
        for row in rows
        if row["place"]
        and (row["queue_id"], row["cause"]) in known
        and comparing.is_certain(row["surprise"], row["tests"], groups)
    ]


def _messages(spark: SparkSession, files: QuerySet[ArchiveFile]) -> tuple[DataFrame, DataFrame]:
    """Read the messages that died, each with its cause, and those that succeeded in the same queues."""
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
    return spark_tables.together(
        [looking.said(spark, url, kind, paths, queue_ids, hidden) for url, paths in by_url.items()]
    )


def _hidden(names: Mapping[int, str | None]) -> dict[int, Hidden]:
    """Read the masking rules of each queue; all rules for a queue that is gone, since its tenant is unknown."""
    masking = Masking()
    there = set(Queue.objects.filter(queue_id__in=names).values_list("queue_id", flat=True))
    found = {}
    for queue_id, name in names.items() if masking else ():
        rules = masking.of_dead_letters(name) if queue_id in there and name else masking.everywhere()
        found[queue_id] = (rules.payload, rules.attributes)
    return found


def _heads() -> dict[str, str]:
    """Fingerprints that people merged into others."""
    return dict(_rows("select fingerprint, head from signalbox.failure_group_member"))


def _commit(run: Run, window: Window, basis: dict[str, str], found: _Found) -> None:
    """Readers see the last analysis whole, or this one."""
    with transaction.atomic():
        for model in (Finding, Comparison, Template):
            model.objects.all().delete()
        _copy(Template, [_template(run, window, row) for row in found.templates])
        _copy(Comparison, [row | {"run_id": run.pk} for row in found.comparisons])
        _copy(Finding, [row | {"run_id": run.pk} for row in found.findings])
        archived = _files(window).order_by("run_id").values_list("run_id", flat=True).distinct()
        outcome = {
            "basis": basis,
            "days": [str(day) for day in window.days],
            "archive_runs": list(archived),
            "failures": found.failures,
            "templates": len(found.templates),
            "comparisons": len(found.comparisons),
            "left_out": found.compared - len(found.comparisons),
            "findings": len(found.findings),
        }
        runs.commit(run, found.failures, outcome)


def _template(run: Run, window: Window, row: dict[str, Any]) -> dict[str, Any]:
    of_day = {one["day"]: -one["less"] for one in row["days"]}
    days = [of_day.get(day, 0) for day in window.days]
    queues = [
        {"queue_id": one["queue_id"], "queue": one["queue"], "tenant": one["tenant"], "failures": -one["less"]}
        for one in row["queues"]
    ]
    fingerprints = [{"fingerprint": one["fingerprint"], "failures": -one["less"]} for one in row["fingerprints"]]
    lists = {"days": days, "queues": queues, "fingerprints": fingerprints}
    texts = {name: json.dumps(value) for name, value in lists.items()}
    return row | texts | {"run_id": run.pk, "trend": trend_of(days)}


def _copy(model: type[Any], rows: Sequence[dict[str, Any]]) -> None:
    names = [field.column for field in model._meta.local_concrete_fields if field.column]
    columns = ", ".join(f'"{name}"' for name in names)
    with (
        connection.cursor() as cursor,
        cursor.copy(f'copy signalbox."{model._meta.db_table}" ({columns}) from stdin') as out,
    ):
        for row in rows:
            # PostgreSQL's text has no NUL; JSON of the archive has it escaped, an error cannot have it.
            values = (row[name] for name in names)
            out.write_row([value.replace("\0", "") if isinstance(value, str) else value for value in values])


def _rows(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
