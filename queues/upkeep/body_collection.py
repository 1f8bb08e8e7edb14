"""Remove large bodies that no message points to, and objects without a row.

An object is removed while the transaction that deletes its row is open. A sender of the same body either holds the row
first, and the body stays; or waits, finds no object and uploads the body again. An object without a row is left from a
send that was rolled back; its hash is claimed before it is removed, as a sender would claim it.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from queues.bodies import StoredBodies

log = logging.getLogger(__name__)

#: Limit of calls in one round: each checks a thousand bodies or removes one.
ROUND = 1_000
#: A younger object without a row may belong to an open send.
ORPHAN_AGE = timedelta(days=1)


@dataclass
class Collected:
    """The result of a round. `failed` are objects that the storage did not remove; they are tried again.

    `after` is the hash at which the next round continues; empty at the end.
    """

    removed: int = 0
    orphans: int = 0
    failed: int = 0
    after: bytes = b""


def collect(
    connection: psycopg.Connection[Any],
    store: StoredBodies,
    grace_seconds: float,
    after: bytes = b"",
    most: int | None = ROUND,
) -> Collected:
    """Remove bodies without a reference or claim for this long; over an autocommit connection."""
    done = Collected(after=after)
    for _ in itertools.count() if most is None else range(most):
        with connection.transaction() as transaction:
            row = connection.execute(
                "select * from signalbox.drop_body(%s, %s)", [grace_seconds, done.after]
            ).fetchone()
            if row is None:
                done.after = b""
                break
            done.after, dropped = row
            if dropped and _delete(store, done.after.hex()):
                done.removed += 1
            elif dropped:
                done.failed += 1
                raise psycopg.Rollback(transaction)
    return done


def sweep(
    connection: psycopg.Connection[Any],
    store: StoredBodies,
    older_than: timedelta = ORPHAN_AGE,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Collected:
    """Remove objects without a row. Lists the whole store, so call it rarely. Over an autocommit connection."""
    done = Collected()
    for sha256 in store.stored_before(now() - older_than):
        known = connection.execute(
            "select from signalbox.large_body where sha256 = %s", [bytes.fromhex(sha256)]
        ).fetchone()
        if known is None:
            with suppress(psycopg.errors.LockNotAvailable):  # an open sender holds it
                _sweep_one(connection, store, sha256, done)
    return done


def _sweep_one(connection: psycopg.Connection[Any], store: StoredBodies, sha256: str, done: Collected) -> None:
    """Claim the hash, remove the object and drop the claim: a sender that comes in between waits, then uploads."""
    with connection.transaction(force_rollback=True):
        connection.execute("set local lock_timeout = '1s'")
        claimed = connection.execute(
            "insert into signalbox.large_body (sha256, bytes) values (%s, 1) on conflict do nothing",
            [bytes.fromhex(sha256)],
        )
        if claimed.rowcount == 0:
            return  # a sender was faster
        if _delete(store, sha256):
            done.orphans += 1
        else:
            done.failed += 1


def _delete(store: StoredBodies, sha256: str) -> bool:
    try:
        store.delete(sha256)
    except Exception:  # any error of a storage: the row stays, and the next round tries again
        log.warning("cannot remove the large body %s", sha256, exc_info=True)
        return False
    return True
