"""Records what is about to be released: the schema that it installs, its client, and the signatures of its verbs.

    SIGNALBOX_HOME=$(mktemp -d) .venv/bin/python -m tests.upgrade.record

Run it once for each release, with the tree of that release; the tests beside it upgrade from there. It overwrites
tests/upgrade/released, and what it writes for the same tree is the same bytes.
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

PROJECT = Path(__file__).resolve().parents[2]
RELEASED = Path(__file__).parent / "released"
SCHEMA, CLIENT, VERBS = RELEASED / "schema.sql.gz", RELEASED / "client.zip", RELEASED / "verbs.json"

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


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from queues.connections import dsn
    from queues.embedded import binary

    call_command("migrate", verbosity=0)
    RELEASED.mkdir(exist_ok=True)
    with connection.cursor() as cursor:
        cursor.execute(SIGNATURES)
        write_verbs([row[0] if isinstance(row[0], dict) else json.loads(row[0]) for row in cursor.fetchall()])
    dump = subprocess.run(
        [str(binary("pg_dump")), "--schema=signalbox", "--no-owner", dsn()], capture_output=True, text=True, check=True
    )
    SCHEMA.write_bytes(gzip.compress(_portable(dump.stdout).encode(), mtime=0))
    write_client(PROJECT / "signalbox")
    sys.stdout.write(f"{RELEASED} has {', '.join(sorted(path.name for path in RELEASED.iterdir()))}\n")


def _portable(dump: str) -> str:
    """Without what only the newest psql and server know."""
    return re.sub(r"^(SET transaction_timeout .*|\\(un)?restrict .*)\n", "", dump, flags=re.M)


def write_verbs(signatures: list[dict[str, Any]]) -> None:
    """One verb a line, so that a change is a line of a diff."""
    order = ("name", "arguments", "defaults", "set", "returns", "columns")
    lines = ",\n".join(json.dumps({key: signature[key] for key in order}) for signature in signatures)
    VERBS.write_text(f"[\n{lines}\n]\n")


def write_client(package: Path) -> None:
    """A zip file that Python imports from, as it would from an installed package."""
    with zipfile.ZipFile(CLIENT, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.suffix in {".py", ".typed"}:
                name = zipfile.ZipInfo(str(path.relative_to(package.parent)))
                name.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(name, path.read_bytes())


if __name__ == "__main__":
    main()
