"""The metrics of the installation and of PostgreSQL."""

from __future__ import annotations

from django.conf import settings

from metrics.names.metric import Metric, by, counter, gauge
from metrics.reading.fleet import Fleet
from metrics.reading.xmin_holders import KINDS, oldest

TENANT_REFUSALS: tuple[Metric[Fleet], ...] = (
    counter(
        "tenant_refused",
        "Requests other than sends that a tenant's quotas refused; reason is queues, retention, long_polls or rate.",
        lambda fleet: {
            (tenant, reason): refused
            for tenant, reasons in fleet.tenant_refusals.items()
            for reason, refused in reasons.items()
        },
        *("tenant", "reason"),
    ),
)
INSTALLATION_METRICS: tuple[Metric[Fleet], ...] = (
    gauge(
        "trash_messages",
        "Messages in the trash, which can still be restored.",
        lambda fleet: fleet.engine.trash_messages,
    ),
    gauge(
        "trash_seconds_left",
        "Time until the first message in the trash is deleted permanently; 0 when the trash is empty.",
        lambda fleet: fleet.engine.trash_seconds_left or 0.0,
    ),
    gauge(
        "archive_horizon_age_seconds",
        "Time since the horizon of the archive last moved; 0 where history does not wait for an archive.",
        lambda fleet: fleet.engine.archive_age_seconds or 0.0,
    ),
    gauge(
        "maintenance",
        "1 while the installation is under maintenance.",
        lambda fleet: float(fleet.conditions.maintenance is not None),
    ),
    gauge(
        "maintenance_overdue_seconds",
        "Time since the announced end of maintenance; 0 when maintenance is off or has no announced end.",
        lambda fleet: fleet.conditions.maintenance.overdue().total_seconds() if fleet.conditions.maintenance else 0.0,
    ),
    gauge(
        "clock_ahead_seconds",
        "How far the engine's clock is ahead of the server's. Leases and delays last longer by that time.",
        lambda fleet: fleet.signs.clock_ahead_seconds,
    ),
)
POSTGRES_METRICS: tuple[Metric[Fleet], ...] = (
    gauge(
        "pg_oldest_xmin_age_seconds",
        "How long the oldest holder of this kind has kept dead rows from being removed; 0 when none does.",
        lambda fleet: {(kind,): oldest(fleet.holders, kind)[1] for kind in KINDS},
        "holder_kind",
    ),
    gauge(
        "pg_oldest_xmin_age_transactions",
        "Transaction ids given out since the oldest one that holders of this kind hold; 0 when none does.",
        lambda fleet: {(kind,): oldest(fleet.holders, kind)[0] for kind in KINDS},
        "holder_kind",
    ),
    gauge(
        "pg_oldest_xmin_threshold_seconds",
        "The setting OLD_SNAPSHOT_SECONDS: the age from which a holder is shown on the overview.",
        lambda _: settings.OLD_SNAPSHOT_SECONDS,
    ),
    gauge(
        "pg_dead_tuple_ratio",
        "The share of a table's rows that are dead and wait for vacuum, as PostgreSQL estimates.",
        lambda fleet: by(fleet.engine.dead_tuple_ratios),
        "table",
    ),
    gauge(
        "pg_notify_queue_usage_ratio",
        "How full the server's queue of notifications is, 0 to 1; when it is full, commits that notify fail.",
        lambda fleet: fleet.engine.notify_queue_usage,
    ),
    gauge("pg_database_bytes", "Size of the database on disk.", lambda fleet: fleet.engine.database_bytes),
    gauge(
        "pg_replication_lag_seconds",
        "How far the standby that is furthest behind lags in replaying; 0 without a standby.",
        lambda fleet: fleet.engine.replication_lag_seconds,
    ),
    gauge(
        "shard_epoch",
        "The server's timeline, one more after each promotion of a standby.",
        lambda fleet: fleet.engine.epoch,
    ),
    gauge(
        "pg_read_only",
        "1 while nothing can be written: a standby, or a read-only default.",
        lambda fleet: float(fleet.conditions.read_only),
    ),
    gauge(
        "published_tables",
        "Tables of Signalbox that a publication of logical replication covers.",
        lambda fleet: fleet.engine.published_tables,
    ),
    gauge(
        "unidentified_tables",
        "Tables of Signalbox without replica identity: PostgreSQL refuses deletes once they are published.",
        lambda fleet: fleet.engine.unidentified_tables,
    ),
)
