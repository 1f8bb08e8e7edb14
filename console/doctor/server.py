"""Findings about the PostgreSQL server: version, role, connections, publications, pooler, clock, size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection

from console.doctor.findings import Finding, error, ok, warning
from queues.database import search_path
from queues.database.query import named_row, query_text
from signalbox.connections import pooling

_FACTS = query_text("health/server_facts")
OLDEST, NEWEST = 15, 18
TOLERATED_SKEW = timedelta(seconds=5)
MOST_CONNECTIONS = 0.8
"""Share of `max_connections` in use above which a deployment may find no free connection."""


@dataclass(frozen=True)
class Facts:
    """The facts that the server tells about itself, this role and this session."""

    version_number: int
    version: str
    role: str
    owner: str | None
    is_superuser: bool
    may_create: bool
    reads_all_statistics: bool
    is_standby: bool
    vacuums: bool
    max_connections: int
    connections: int
    backend_pid: int
    now: datetime
    database_bytes: int
    publications: list[str]
    idle_slots: list[str]
    slots_are_unbounded: bool


def read_facts() -> Facts:
    """Read the facts with one query."""
    return Facts(**named_row(_FACTS, {}))


def findings(facts: Facts) -> Iterator[Finding]:
    """Judge the server, one subject after the other."""
    yield _version(facts)
    yield _role(facts)
    yield _settings(facts)
    yield _connections(facts)
    yield _publication(facts)
    yield _pooler(facts)
    yield _clock(facts)


def _version(facts: Facts) -> Finding:
    major = facts.version_number // 10_000
    if major < OLDEST:
        return error("postgresql", f"PostgreSQL {facts.version} is too old.", f"Upgrade to {OLDEST} or newer.")
    if major > NEWEST:
        advice = f"Signalbox is tested with {OLDEST} to {NEWEST}: test this version before you rely on it."
        return warning("postgresql", f"PostgreSQL {facts.version} is newer than this release.", advice)
    return ok("postgresql", f"PostgreSQL {facts.version}.")


def _role(facts: Facts) -> Finding:
    if facts.owner is None:
        advice = f'As its owner, run: create schema signalbox authorization "{facts.role}"'
        return (
            ok("role", f"{facts.role} may create the schema.")
            if facts.may_create
            else error("role", f"{facts.role} may not create the schema signalbox.", advice)
        )
    if facts.owner != facts.role and not facts.is_superuser:
        advice = (
            f"Use the role {facts.owner} in DATABASE_URL; applications have roles of their own (docs/run/roles.md)."
        )
        return error("role", f"{facts.role} does not own the schema signalbox; {facts.owner} does.", advice)
    if not facts.reads_all_statistics:
        advice = f'As a superuser, run: grant pg_read_all_stats to "{facts.role}"'
        return warning("role", f"{facts.role} cannot see who holds old snapshots.", advice)
    return ok("role", f"{facts.role} may migrate the schema signalbox.")


def _settings(facts: Facts) -> Finding:
    if facts.is_standby:
        return error("settings", "The server is a standby: it takes no writes.", "Name the primary in DATABASE_URL.")
    if not facts.vacuums:
        advice = "Set autovacuum = on: without it tables grow and transaction ids run out."
        return error("settings", "autovacuum is off.", advice)
    return ok("settings", "autovacuum is on, and the server is a primary.")


def _connections(facts: Facts) -> Finding:
    sentence = f"{facts.connections} of {facts.max_connections} connections are in use."
    if facts.connections > facts.max_connections * MOST_CONNECTIONS:
        return warning("connections", sentence, "Raise max_connections, or use PgBouncer (docs/run/pgbouncer.md).")
    return ok("connections", sentence)


def _publication(facts: Facts) -> Finding:
    if facts.idle_slots and facts.slots_are_unbounded:
        names = ", ".join(facts.idle_slots)
        advice = "It keeps WAL until the disk is full: drop it, start its subscriber, or set max_slot_wal_keep_size."
        return warning("publication", f"No subscriber reads from the replication slot {names}.", advice)
    if facts.publications:
        names = ", ".join(facts.publications)
        return ok("publication", f"{names} publishes tables of Signalbox (docs/run/logical-replication.md).")
    return ok("publication", "No publication covers tables of Signalbox.")


def _pooler(facts: Facts) -> Finding:
    """Find a pooler between this process and the database: it gives each client another process number."""
    if pooling.is_pooled():
        return _declared_pooler()
    if facts.backend_pid != connection.connection.info.backend_pid:
        advice = "If it works in transaction mode, set DATABASE_POOLER=transaction (docs/run/pgbouncer.md)."
        return warning("pooler", "DATABASE_URL leads through a pooler that no setting names.", advice)
    return ok("pooler", "DATABASE_URL leads to the server itself.")


def _declared_pooler() -> Finding:
    if not search_path.is_ours(connection):
        advice = "Run signalbox migrate with DATABASE_DIRECT_URL, then RECONNECT on the pooler's console."
        return error("pooler", "Sessions through the pooler do not find the tables.", advice)
    if not settings.DIRECT_DATABASE:
        advice = "Set DATABASE_DIRECT_URL: without it receivers poll, and neither migrations nor upkeep can run."
        return warning("pooler", "No variable says how to reach the database without the pooler.", advice)
    return ok("pooler", "The pooler is declared, and there is a way past it.")


def _clock(facts: Facts) -> Finding:
    skew = abs(datetime.now(UTC) - facts.now)
    if skew > TOLERATED_SKEW:
        advice = "Deadlines follow the database's clock, so messages are safe. Correct the clock that is wrong."
        sentence = f"The clocks of this machine and of the database differ by {skew.total_seconds():.0f} s."
        return warning("clock", sentence, advice)
    return ok("clock", "The clocks of this machine and of the database agree.")
