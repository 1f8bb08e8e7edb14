"""Several hosts with one primary: read the state of each, and fence former primaries that still take writes.

A primary that comes back after its standby was promoted does not know of the promotion and continues to serve. Its
lower epoch shows that it was replaced (signalbox/connections/primary_selection.py). To fence it is to make its database
read-only and to end every session there: connections to several hosts then pass it over. The fence holds until the
server is made a standby of the new primary. The audit of the new primary records who set it.
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

from queues.database.connections import address
from queues.stopping import Stopping
from signalbox.connections import primary_selection
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
class AuditNote:
    """The actor and the reason that the audit records."""

    actor: str
    reason: str = ""


@dataclass(frozen=True)
class HostState:
    """The state of a host. `trouble` says why the host is unreachable."""

    host: primary_selection.Host
    cluster: int | None = None
    epoch: int | None = None
    """None for a standby, or when it is unknown."""
    read_only: bool = False
    trouble: str = ""

    @property
    def name(self) -> str:
        port = self.host.get("port")
        return f"{self.host.get('host') or self.host.get('hostaddr')}{f':{port}' if port else ''}"

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


def read_hosts(dsn: str) -> list[HostState]:
    """Read the state of every host of an address with several; none for an address of one."""
    return [_read_host(dsn, host) for host in primary_selection.hosts_of(dsn, {})]


def replaced(states: Sequence[HostState]) -> list[HostState]:
    """Find the hosts that still take writes although another of their cluster has a higher epoch."""
    return [state for state in states if state.role == "primary" and successor(states, state)]


def successor(states: Sequence[HostState], state: HostState) -> HostState | None:
    """Find the host of the same cluster with the highest epoch, if that is higher than this host's."""
    later = [other for other in states if other.cluster == state.cluster and (other.epoch or 0) > (state.epoch or 0)]
    return max(later, key=lambda other: other.epoch or 0, default=None)


def fence(dsn: str, state: HostState, note: AuditNote, replaced_by: HostState | None = None) -> int:
    """Make a host refuse writes; return how many sessions were ended. Needs the database's owner.

    The audit of the host `replaced_by` records the fence. Without that host, the audit of the fenced host records it in
    the same transaction; if a session blocks that audit, the host is fenced without a record.
    Raises psycopg.OperationalError if the host was promoted since its state was read.
    """
    with _connect(dsn, state.host) as connection:
        _require_epoch(connection, state)
        noted = None if replaced_by else note
        try:
            _set_writable(connection, state, noted, writable=False)
        except psycopg.errors.LockNotAvailable:
            log.error("the audit of %s is blocked: the host is fenced without a record", state.name)
            _set_writable(connection, state, None, writable=False)
        pids = [row[0] for asked in (_BEGINNING, _OTHERS) for row in connection.execute(asked)]  # in this order
        ended = sum(_terminate(connection, pid) for pid in dict.fromkeys(pids))
    if replaced_by:
        try:
            with _connect(dsn, replaced_by.host) as connection:
                _note(connection, note, "server.fence", state)
        except psycopg.Error as error:
            log.error("%s was fenced, and the audit could not record it: %s", state.name, in_brief(error))
    return ended


def unfence(dsn: str, state: HostState, note: AuditNote) -> None:
    """Allow writes again in new sessions of a host; its audit records it."""
    with _connect(dsn, state.host) as connection:
        _set_writable(connection, state, note, writable=True)


class Sentinel:
    """A thread that fences replaced primaries. It is a thread, since a host may take long to answer."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._thread = threading.Thread(target=self._watch, name="upkeep sentinel", daemon=True)
        self.start, self.join = self._thread.start, self._thread.join

    def _watch(self) -> None:
        dsn = address()
        if dsn is None or not primary_selection.hosts_of(dsn, {}):
            return  # with one host there is nothing to compare
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                fence_replaced(dsn)
            except Exception as error:
                log.warning("cannot read the state of the hosts: %s", in_brief(error))


def fence_replaced(dsn: str) -> list[HostState]:
    """Read the hosts once and fence those that were replaced; return the fenced ones."""
    fenced = []
    states = read_hosts(dsn)
    for state in replaced(states):
        try:
            ended = fence(dsn, state, AuditNote("upkeep"), successor(states, state))
        except psycopg.Error as error:
            log.error("%s was replaced and still takes writes, and cannot be fenced: %s", state.name, in_brief(error))
        else:
            log.error("%s was replaced and still took writes: fenced, %d sessions ended", state.name, ended)
            fenced.append(state)
    return fenced


def _read_host(dsn: str, host: primary_selection.Host) -> HostState:
    try:
        with _connect(dsn, host) as connection:
            epoch = primary_selection.read(connection)
            row = connection.execute(_READ_ONLY).fetchone()
    except psycopg.Error as error:
        return HostState(host, trouble=in_brief(error))
    return HostState(host, epoch.cluster, epoch.timeline, bool(row and row[0]))


def _connect(dsn: str, host: primary_selection.Host) -> psycopg.Connection[Any]:
    """Connect to this host, also when it is a standby or read-only."""
    any_state = {**host, "target_session_attrs": "any", "connect_timeout": CONNECT_SECONDS}
    return psycopg.connect(dsn, autocommit=True, **{**any_state, "application_name": "signalbox sentinel"})


def _require_epoch(connection: psycopg.Connection[Any], state: HostState) -> None:
    now = primary_selection.read(connection)
    if now != (state.cluster, state.epoch):
        raise psycopg.OperationalError(f"{state.name} had epoch {state.epoch} and has {now.timeline} now")


def _set_writable(
    connection: psycopg.Connection[Any], state: HostState, noted: AuditNote | None, *, writable: bool
) -> None:
    connection.execute("set default_transaction_read_only = off")
    connection.execute("set synchronous_commit = local")  # the standby it would wait for may be another's by now
    connection.execute(sql.SQL("set lock_timeout = {}").format(LOCK_TIMEOUT))
    how = "reset default_transaction_read_only" if writable else "set default_transaction_read_only = on"
    with connection.transaction():
        connection.execute(sql.SQL("alter database {} {}").format(sql.Identifier(connection.info.dbname), sql.SQL(how)))
        if noted:
            _note(connection, noted, "server.unfence" if writable else "server.fence", state)


def _note(connection: psycopg.Connection[Any], note: AuditNote, action: str, state: HostState) -> None:
    connection.execute(_NOTE, [note.actor, action, note.reason[:500], Jsonb(state.as_json())])


def _terminate(connection: psycopg.Connection[Any], pid: int) -> bool:
    try:
        row = connection.execute("select pg_terminate_backend(%s)", [pid]).fetchone()
    except psycopg.errors.InsufficientPrivilege as error:
        log.warning("session %d could not be ended: %s", pid, in_brief(error))
        return False
    return bool(row and row[0])
