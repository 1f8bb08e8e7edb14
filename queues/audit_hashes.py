"""The hash of a row of the audit, without a database: the sum that `_audit_hash` makes (queues/sql/_seal_audit.sql)."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple


class Fields(NamedTuple):
    """What a row's hash is of, as JSON: numbers and `details` as the database writes them."""

    position: int | None
    event_id: int
    microseconds: int | None
    actor: str
    action: str
    queue_id: int | None
    queue_name: str
    reason: str
    details: str
    database_role: str | None
    application_name: str | None


def hash_of(fields: Fields, before: bytes) -> bytes:
    """The hash of a row behind a row of hash `before`; the sum that `_audit_hash` makes."""
    parts = [_json(value) for value in fields[:8]] + [fields.details]
    if fields.database_role is not None:
        parts += [_json(fields.database_role), _json(fields.application_name)]
    return hashlib.sha256(before + f"[{', '.join(parts)}]".encode()).digest()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
