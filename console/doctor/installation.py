"""Findings about what is installed: versions, migrations, verbs, files, and the signs of life of its processes."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator

import django
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from console.doctor.findings import Finding, error, ok, warning
from metrics import health
from metrics.reading.fleet import read_fleet
from metrics.reading.snapshot import State
from queues.database import sql_definitions
from queues.database.sql_scripts import scripts
from signalbox import __version__

MIGRATE = "Run signalbox migrate."
LEAST_FREE_BYTES = 1_000_000_000
MAX_NAMED = 5


def version() -> Finding:
    """Name the versions of this process."""
    return ok("version", f"Signalbox {__version__}, Python {platform.python_version()}, Django {django.__version__}.")


def disk() -> Finding:
    """Judge the space for the files of SIGNALBOX_HOME."""
    home = settings.SIGNALBOX_HOME
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.exists())).free
    sentence = f"{free / 1e9:,.1f} GB are free for {home}."
    if free < LEAST_FREE_BYTES:
        return error("disk", sentence, "Free some space, or set SIGNALBOX_HOME to a larger disk.")
    return ok("disk", sentence)


def schema() -> Finding:
    """Compare the migrations and SQL functions of the database with those of this release."""
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if pending:
        return error("schema", f"{len(pending)} migrations of this release are not applied.", MIGRATE)
    apps = {app for app, _ in executor.loader.disk_migrations}
    unknown = [key for key in executor.loader.applied_migrations if key[0] in apps - executor.loader.unmigrated_apps]
    newer = [f"{app}.{name}" for app, name in unknown if (app, name) not in executor.loader.disk_migrations]
    if newer and not set(newer) & _replaced(executor):
        advice = "Install the release that migrated it: this one is older."
        return error("schema", f"The database has migrations that this release lacks: {_named(newer)}.", advice)
    return _verbs()


def _replaced(executor: MigrationExecutor) -> set[str]:
    """Return the names of the migrations that squashed migrations replace."""
    return {f"{app}.{name}" for one in executor.loader.disk_migrations.values() for app, name in one.replaces}


def _verbs() -> Finding:
    wanted = [definition for _, text in scripts() for definition in sql_definitions.declared(text)]
    changed = sql_definitions.differing(wanted, sql_definitions.installed(connection))
    if changed:
        return error("schema", f"SQL functions are not this release's: {_named(changed)}.", MIGRATE)
    return ok("schema", f"All migrations are applied, and {len(wanted)} SQL functions are this release's.")


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def running() -> Iterator[Finding]:
    """Report the checks of /healthz, and the oldest snapshot that keeps dead rows."""
    fleet = read_fleet()
    report = health.judge(State(fleet, None, age_seconds=0.0, failing=False))
    for name, check in report.checks.items():
        if not check.ok:
            yield error(name, f"{check.problem[:1].upper()}{check.problem[1:]}.", f"docs/reference/metrics.md: {name}")
    if healthy := [name for name, check in report.checks.items() if check.ok]:
        yield ok("health", f"Nothing is wrong with {', '.join(healthy)}.")
    if old := [holder for holder in fleet.holders if holder.is_old]:
        sentence = f"{old[0].kind.replace('_', ' ')} {old[0].name} has kept dead rows for {old[0].age_seconds:.0f} s."
        yield warning("snapshots", sentence, "See docs/runbooks/SignalboxOldSnapshot.md.")
