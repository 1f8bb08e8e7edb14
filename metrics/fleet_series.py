"""What is not of one queue, as series: the installation, its tenants, PostgreSQL, the exporter, this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.conf import settings

from metrics import names
from metrics.engine import Engine
from metrics.fleet import Fleet, Signs
from metrics.names import Metric
from metrics.text import Page
from metrics.totals import Totals, totals
from metrics.xmin_holders import KINDS, Holder, oldest
from queues.maintenance.models import Maintenance

_SCOPES: dict[str, tuple[Metric, ...]] = {
    "fleet": names.FLEET_TOTALS,
    "tenant": names.TENANT_TOTALS,
}


def add_totals(page: Page, fleet: Fleet) -> None:
    """Of the installation, and of every tenant."""
    whole, tenants = totals((numbers, fleet.durations_of(numbers)) for numbers in fleet.queues)
    _add(page, _SCOPES["fleet"], whole)
    for tenant, its in sorted(tenants.items()):
        _add(page, _SCOPES["tenant"], its, tenant)


def _add(page: Page, metrics: Sequence[Metric], of: Totals, *tenant: str) -> None:
    queues, messages, age, consumers, added, removed, dead_lettered, first_receives = metrics
    page.add(queues, of.queues, *tenant)
    for state, count in of.messages.items():
        page.add(messages, count, *tenant, state)
    page.add(age, of.oldest_visible_age_seconds, *tenant)
    page.add(consumers, of.consumers, *tenant)
    page.add(added, of.added, *tenant)
    page.add(removed, of.removed, *tenant)
    page.add(dead_lettered, of.dead_lettered, *tenant)
    page.add(first_receives, of.met, *tenant, "met")
    page.add(first_receives, of.missed, *tenant, "missed")


def add_refusals(page: Page, refusals: Mapping[str, Mapping[str, int]]) -> None:
    for tenant, reasons in refusals.items():
        for reason, refused in reasons.items():
            page.add(names.TENANT_REFUSED, refused, tenant, reason)


def add_postgres(page: Page, holders: Sequence[Holder], engine: Engine) -> None:
    """Who holds old snapshots, and how the server is."""
    for kind in KINDS:
        transactions, seconds = oldest(holders, kind)
        page.add(names.OLDEST_XMIN_TRANSACTIONS, transactions, kind)
        if seconds is not None:  # unknown: no number is better than a wrong one
            page.add(names.OLDEST_XMIN_AGE, seconds, kind)
    page.add(names.OLDEST_XMIN_THRESHOLD, settings.OLD_SNAPSHOT_SECONDS)
    for table, ratio in engine.dead_tuple_ratios.items():
        page.add(names.DEAD_TUPLE_RATIO, ratio, table)
    page.add(names.NOTIFY_QUEUE_USAGE, engine.notify_queue_usage)
    page.add(names.DATABASE_BYTES, engine.database_bytes)
    if engine.replication_lag_seconds is not None:
        page.add(names.REPLICATION_LAG, engine.replication_lag_seconds)
    if engine.epoch is not None:
        page.add(names.SHARD_EPOCH, engine.epoch)
    page.add(names.PUBLISHED_TABLES, engine.published_tables)
    page.add(names.UNIDENTIFIED_TABLES, engine.unidentified_tables)


def add_trash(page: Page, engine: Engine) -> None:
    page.add(names.TRASH_MESSAGES, engine.trash_messages)
    page.add(names.TRASH_SECONDS_LEFT, engine.trash_seconds_left or 0.0)


def add_maintenance(page: Page, maintenance: Maintenance | None) -> None:
    page.add(names.MAINTENANCE, float(maintenance is not None))
    page.add(names.MAINTENANCE_OVERDUE, maintenance.overdue().total_seconds() if maintenance else 0.0)


def add_clock(page: Page, signs: Signs) -> None:
    page.add(names.CLOCK_AHEAD, signs.clock_ahead_seconds)


def add_archive(page: Page, engine: Engine) -> None:
    page.add(names.ARCHIVE_HORIZON_AGE, engine.archive_age_seconds or 0.0)


def add_exporter(page: Page, fleet: Fleet | None, *, up: bool) -> None:
    """The exporter's own state, which is all that is left when it is not up."""
    page.add(names.EXPORTER_UP, float(up))
    page.add(names.EXPORTER_LAST_REFRESH, fleet.read_at if fleet else 0.0)
    page.add(names.EXPORTER_REFRESH_DURATION, fleet.read_seconds if fleet else 0.0)
