"""The examination: subjects in the order in which a person would repair them."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import Error

from console.doctor import installation, server
from console.doctor.findings import Finding, error
from queues.database.embedded import EmbeddedPostgresError
from signalbox.logs import in_brief


def examine() -> Iterator[Finding]:
    """Examine the installation. If the examination stops early, the last finding says why."""
    yield installation.version()
    yield installation.disk()
    try:
        facts = server.read_facts()
        yield from server.findings(facts)
        if facts.owner is None:
            yield error("schema", "The database has no schema signalbox.", installation.MIGRATE)
            return
        schema = installation.schema()
        yield schema
        if not schema.advice:
            yield from installation.running()
    except (Error, EmbeddedPostgresError) as failure:
        advice = "Check DATABASE_URL, the server, its pg_hba.conf, and the network between them."
        yield error("database", f"The database refused: {in_brief(failure)}", advice)
