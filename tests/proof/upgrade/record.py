"""Record what a release ships: the schema that it installs, its client, its migrations, and its verbs' signatures.

    SIGNALBOX_HOME=$(mktemp -d) .venv/bin/python -m tests.proof.upgrade.record

Run it once for each release, with the tree of that release; the tests beside it upgrade from there. It overwrites
tests/proof/upgrade/released, and writes the same bytes for the same tree. With a folder as argument it records into
that folder an installation at the migrations of tests/proof/upgrade/released: the tests do so until the first release.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[3]
RELEASED = Path(__file__).parent / "released"
SCHEMA, CLIENT, VERBS, MIGRATIONS = "schema.sql.gz", "client.zip", "verbs.json", "migrations.json"

SIGNATURES = """
select jsonb_build_object(
  'name', p.proname,
  'arguments', (
    select coalesce(jsonb_agg(jsonb_build_array(
      p.proargnames[a.n], format_type(p.proargtypes[a.n - 1], null)
    ) order by a.n), '[]')
    from generate_series(1, p.pronargs) a(n)
  ),
  'defaults', p.pronargdefaults,
  'set', p.proretset,
  'returns', format_type(p.prorettype, null),
  'columns', (
    select coalesce(jsonb_agg(jsonb_build_array(
      p.proargnames[a.n], format_type(p.proallargtypes[a.n], null)
    ) order by a.n), '[]')
    from generate_series(1, cardinality(p.proargmodes)) a(n)
    where p.proargmodes[a.n] in ('t', 'o')
  )
)
from pg_proc p
where p.pronamespace = 'signalbox'::regnamespace and p.proname !~ '^_'
order by p.proname, p.pronargs
"""
"""Every function that others may call: what begins with an underscore is the engine's own."""


def main(folder: Path = RELEASED) -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from django.db import connection

    from queues.database.connections import dsn
    from queues.database.embedded import binary

    write_migrations(folder, migrate({} if folder == RELEASED else released_migrations()))
    with connection.cursor() as cursor:
        cursor.execute(SIGNATURES)
        write_verbs(folder, [row[0] if isinstance(row[0], dict) else json.loads(row[0]) for row in cursor.fetchall()])
    dump = subprocess.run(
        [str(binary("pg_dump")), "--schema=signalbox", "--no-owner", dsn()], capture_output=True, text=True, check=True
    )
    (folder / SCHEMA).write_bytes(gzip.compress(_portable(dump.stdout).encode(), mtime=0))
    write_client(folder, PROJECT / "signalbox")
    sys.stdout.write(f"{folder} has {', '.join(sorted(path.name for path in folder.iterdir()))}\n")


def released_migrations() -> dict[str, str]:
    """Return the last migration of each app of ours in the release before; until there is one, the first ones."""
    migrations: dict[str, str] = json.loads((RELEASED / MIGRATIONS).read_text())
    return migrations


def migrate(held: dict[str, str]) -> dict[str, str]:
    """Migrate each app to its newest migration, or to the one that holds it; return where our apps are."""
    from django.core.management.sql import emit_post_migrate_signal
    from django.db import DEFAULT_DB_ALIAS, connection
    from django.db.migrations.executor import MigrationExecutor

    with connection.cursor() as cursor:
        cursor.execute("create schema if not exists signalbox")
    executor = MigrationExecutor(connection)
    targets = dict(sorted(executor.loader.graph.leaf_nodes())) | held
    executor.migrate(list(targets.items()))
    emit_post_migrate_signal(verbosity=0, interactive=False, db=DEFAULT_DB_ALIAS)
    return {app: name for app, name in targets.items() if (PROJECT / app).is_dir()}


def _portable(dump: str) -> str:
    """Leave out what only the newest psql and server know."""
    return re.sub(r"^(SET transaction_timeout .*|\\(un)?restrict .*)\n", "", dump, flags=re.M)


def write_migrations(folder: Path, migrations: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / MIGRATIONS).write_text(json.dumps(migrations, indent=2) + "\n")


def write_verbs(folder: Path, signatures: list[dict[str, Any]]) -> None:
    """Write one verb a line, so that a change is a line of a diff."""
    order = ("name", "arguments", "defaults", "set", "returns", "columns")
    lines = ",\n".join(json.dumps({key: signature[key] for key in order}) for signature in signatures)
    (folder / VERBS).write_text(f"[\n{lines}\n]\n")


def write_client(folder: Path, package: Path) -> None:
    """Write a zip file that Python imports from, as it would from an installed package."""
    with zipfile.ZipFile(folder / CLIENT, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.suffix in {".py", ".typed"}:
                name = zipfile.ZipInfo(str(path.relative_to(package.parent)))
                name.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(name, path.read_bytes())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
