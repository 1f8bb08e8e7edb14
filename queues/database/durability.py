"""Settings of PostgreSQL without which a message that was accepted may be lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from queues.database.query import fetch

# Setting -> what is lost when it is off.
MUST_BE_ON = {
    "fsync": "what was committed may be gone, and tables broken, after a crash of the machine",
    "full_page_writes": "a page half written when the machine crashes cannot be repaired",
    "synchronous_commit": "the last commits are gone after a crash of PostgreSQL, though their senders believe in them",
}
READ_ONLY = "transaction_read_only"  # on as well while the server is a standby
_QUERY = "select name, setting from pg_settings where name = any(%s)"


@dataclass(frozen=True)
class Unsafe:
    """One setting that is off for this role in this database."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name} is {self.value}: {MUST_BE_ON[self.name]}"


def read_unsafe() -> list[Unsafe]:
    """Read the settings that are off in sessions like this one. One query."""
    return judge(dict(fetch(_QUERY, [list(MUST_BE_ON)])))


def judge(settings: Mapping[str, str]) -> list[Unsafe]:
    """List the settings that are off; `local` and others like it are the operator's choice about standbys."""
    return [Unsafe(name, settings[name]) for name in MUST_BE_ON if settings.get(name) == "off"]
