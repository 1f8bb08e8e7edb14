"""Several hosts, of which one is the primary: looking at each, and keeping those from writing that were replaced.

A primary that comes back after its standby was promoted knows nothing of that, and serves whoever finds it first. Its
epoch says which one it is (signalbox/epochs.py). To fence it is to make its database read-only and to end every session
there: connections to several hosts then pass it over. It lasts until the server is made a standby of the new primary.
The audit says who did it: that of the new primary, since what was replaced is thrown away.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from queues.connections import address
from queues.stopping import Stopping
from signalbox import epochs
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
CONNECT_SECONDS = 3
LOCK_TIMEOUT = "3s"
_READ_ONLY = "select current_setting('transaction_read_only')::boolean"
# A session that begins holds a lock of its database from before it reads the database's settings until it is listed.
_BEGINNING = """
select l.pid from pg_locks l
join pg_database d on d.oid = l.objid
where l.locktype = 'object' and l.classid = 'pg_database'::regclass and d.datname = current_database()
  and l.pid <> pg_backend_pid()
"""
_OTHERS = """
select a.pid from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
"""
_NOTE = "select signalbox._record_audit(%s::text, %s::text, null, '', %s::text, %s::jsonb)"


@dataclass(frozen=True)
class Who:
    """Whom the audit names, and why."""

    actor: str
    reason: str = ""


@dataclass(frozen=True)
class Sight:
    """What a host is found to be. `trouble` says why nothing is known of it."""

    place: epochs.Place
    cluster: int | None = None
    epoch: int | None = None
    """None: a standby, or unknown."""
    read_only: bool = False
    trouble: str = ""

    @property
    def name(self) -> str:
        port = self.place.get("port")
        return f"{self.place.get('host') or self.place.get('hostaddr')}{f':{port}' if port else ''}"

    @property
    def role(self) -> str:
        if self.trouble:
            return "unreachable"
        if self.epoch is None:
            return "standby"
        return "fenced" if self.read_only else "primary"

    def as_json(self) -> dict[str, Any]:
        known = {"host": self.name, "is": self.role, "epoch": self.epoch, "cluster": str(self.cluster or "")}
        return {**known, **({"trouble": self.trouble} if self.trouble else {})}


def look(dsn: str) -> list[Sight]:
    """At every host of an address of several; nothing for an address of one."""
    return [_look_at(dsn, place) for place in epochs.places_of(dsn, {})]


def replaced(sights: Sequence[Sight]) -> list[Sight]:
    """Those that still take writes although another of their cluster has a higher epoch."""
    return [one for one in sights if one.role == "primary" and successor(sights, one)]


def successor(sights: Sequence[Sight], one: Sight) -> Sight | None:
    """The highest epoch of its cluster, where that is higher than its own."""
    later = [other for other in sights if other.cluster == one.cluster and (other.epoch or 0) > (one.epoch or 0)]
    return max(later, key=lambda other: other.epoch or 0, default=None)


def fence(dsn: str, sight: Sight, who: Who, replaced_by: Sight | None = None) -> int:
    """Let nobody write there any more; how many sessions were ended. Takes the database's owner.

    Said in the audit of `replaced_by`, and without one in its own: together with the fence, unless somebody who
    cannot commit there holds the audit up.
    """
    with _connect(dsn, sight.place) as connection:
        noted = None if replaced_by else who
        try:
            _let_write(connection, sight, noted, may=False)
        except psycopg.errors.LockNotAvailable:
            log.error("the audit of %s is held up: it is fenced all the same", sight.name)
            _let_write(connection, sight, None, may=False)
        pids = [row[0] for asked in (_BEGINNING, _OTHERS) for row in connection.execute(asked)]  # in this order
        ended = sum(_terminate(connection, pid) for pid in dict.fromkeys(pids))
    if replaced_by:
        try:
            with _connect(dsn, replaced_by.place) as connection:
                _note(connection, who, "server.fence", sight)
        except psycopg.Error as error:
            log.error("%s was fenced, and no audit says so: %s", sight.name, in_brief(error))
    return ended


def unfence(dsn: str, sight: Sight, who: Who) -> None:
    """Let it be written to again, by sessions that begin now; its audit says so."""
    with _connect(dsn, sight.place) as connection:
        _let_write(connection, sight, who, may=True)


class Sentinel:
    """Looks at the hosts now and then, and fences those that were replaced; in a thread: a host may not answer."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._thread = threading.Thread(target=self._watch, name="upkeep sentinel", daemon=True)
        self.start, self.join = self._thread.start, self._thread.join

    def _watch(self) -> None:
        dsn = address()
        if dsn is None or not epochs.places_of(dsn, {}):
            return  # one host: nothing to compare
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                fence_replaced(dsn)
            except Exception as error:
                log.warning("the hosts could not be looked at: %s", in_brief(error))


def fence_replaced(dsn: str) -> list[Sight]:
    """One look; which hosts were fenced."""
    fenced = []
    sights = look(dsn)
    for sight in replaced(sights):
        try:
            ended = fence(dsn, sight, Who("upkeep"), successor(sights, sight))
        except psycopg.Error as error:
            log.error("%s was replaced and still takes writes, and cannot be fenced: %s", sight.name, in_brief(error))
        else:
            log.error("%s was replaced and still took writes: fenced, %d sessions ended", sight.name, ended)
            fenced.append(sight)
    return fenced


def _look_at(dsn: str, place: epochs.Place) -> Sight:
    try:
        with _connect(dsn, place) as connection:
            epoch = epochs.read(connection)
            row = connection.execute(_READ_ONLY).fetchone()
    except psycopg.Error as error:
        return Sight(place, trouble=in_brief(error))
    return Sight(place, epoch.cluster, epoch.timeline, bool(row and row[0]))


def _connect(dsn: str, place: epochs.Place) -> psycopg.Connection[Any]:
    """To this host, whatever it is."""
    whatever = {**place, "target_session_attrs": "any", "connect_timeout": CONNECT_SECONDS}
    return psycopg.connect(dsn, autocommit=True, **{**whatever, "application_name": "signalbox sentinel"})


def _let_write(connection: psycopg.Connection[Any], sight: Sight, noted: Who | None, *, may: bool) -> None:
    connection.execute("set default_transaction_read_only = off")
    connection.execute("set synchronous_commit = local")  # the standby it would wait for may be another's by now
    connection.execute(sql.SQL("set lock_timeout = {}").format(LOCK_TIMEOUT))
    how = "reset default_transaction_read_only" if may else "set default_transaction_read_only = on"
    with connection.transaction():
        connection.execute(sql.SQL("alter database {} {}").format(sql.Identifier(connection.info.dbname), sql.SQL(how)))
        if noted:
            _note(connection, noted, "server.unfence" if may else "server.fence", sight)


def _note(connection: psycopg.Connection[Any], who: Who, action: str, sight: Sight) -> None:
    connection.execute(_NOTE, [who.actor, action, who.reason[:500], Jsonb(sight.as_json())])


def _terminate(connection: psycopg.Connection[Any], pid: int) -> bool:
    try:
        row = connection.execute("select pg_terminate_backend(%s)", [pid]).fetchone()
    except psycopg.errors.InsufficientPrivilege as error:
        log.warning("session %d could not be ended: %s", pid, in_brief(error))
        return False
    return bool(row and row[0])
