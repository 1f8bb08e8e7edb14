"""Selection of the primary among several hosts, never one that this process knows to be replaced.

An address may name several hosts, a primary and its standbys. A promotion begins a new timeline, and PostgreSQL gives
it a higher number before it takes the first write: that number is the epoch. A replaced primary that comes back has a
lower epoch, even though it accepts connections and writes. At its first connection a process asks every host and takes
the highest epoch. Later it takes the first host whose epoch is not lower than the highest so far, and it gives up
connections to hosts with a lower one. The comparison is part of connecting; a call on an open connection costs no more.

An address with one host is used without a comparison.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

#: Reads the identity of the cluster, which a primary and its standbys share, and its timeline, which a standby lacks.
EPOCH = """
select
  (select c.system_identifier from pg_control_system() c),
  case when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end
"""
#: The defaults for an address of several hosts: a host that takes writes; a host that does not answer is given up soon.
DEFAULTS: dict[str, Any] = {
    "target_session_attrs": "read-write",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
#: Both mean a server that takes writes: a replaced and fenced one is still a "primary" to libpq. Other values (standby,
#: any) are left to libpq: a standby has no epoch.
WRITABLE = ("read-write", "primary")

C = TypeVar("C")
Host = Mapping[str, Any]
"""One host, as the parameters of a connection to it."""


class StalePrimary(psycopg.OperationalError):
    """The server was replaced by another, whose epoch is higher."""


class Epoch(NamedTuple):
    """A cluster's identity and the timeline of one of its servers; None for a standby."""

    cluster: int
    timeline: int | None


_highest: dict[int, int] = {}
"""The highest timeline of each cluster that this process has seen. Threads may differ for one connection."""
_epochs: WeakKeyDictionary[object, Epoch] = WeakKeyDictionary()
"""The epochs of the servers behind connections that were chosen among several hosts."""
_compared: set[tuple[tuple[str, Any], ...]] = set()


def connect(dsn: str, **options: Any) -> psycopg.Connection[Any]:
    """Connect as `psycopg.connect` does, and among several hosts to the primary."""
    hosts = hosts_of(dsn, options)
    if len(hosts) < 2:
        return psycopg.connect(dsn, **options)
    return choose(hosts, lambda host: psycopg.connect(dsn, **{**options, **host}))


async def connect_async(dsn: str, **options: Any) -> psycopg.AsyncConnection[Any]:
    """Connect as `connect` does, for asyncio."""
    hosts = hosts_of(dsn, options)
    if len(hosts) < 2:
        return await psycopg.AsyncConnection.connect(dsn, **options)
    return await _choose_async(hosts, lambda host: psycopg.AsyncConnection.connect(dsn, **{**options, **host}))


def address_of_one(dsn: str) -> str:
    """The address of the primary among several hosts, for drivers other than psycopg. Connects once."""
    if not hosts_of(dsn, {}):
        return dsn
    with closing(connect(dsn)) as connection:
        info = connection.info
        return make_conninfo(
            dsn, host=info.host, hostaddr=info.hostaddr or None, port=info.port, target_session_attrs="any"
        )


def is_replaced(connection: object) -> bool:
    """Return whether this process has seen a higher epoch than the connection's. No statement is sent."""
    epoch = _epochs.get(connection)
    return epoch is not None and (epoch.timeline or 0) < _highest.get(epoch.cluster, 0)


def hosts_of(dsn: str, options: Mapping[str, Any]) -> list[Host]:
    """The hosts of an address with their parameters; empty for an address without a choice."""
    try:
        named = {**conninfo_to_dict(dsn), **{name: value for name, value in options.items() if value is not None}}
    except psycopg.ProgrammingError:
        return []  # connecting raises the error
    lists = {name: str(named[name]).split(",") for name in ("host", "hostaddr", "port") if named.get(name)}
    count = max((len(lists[name]) for name in ("host", "hostaddr") if name in lists), default=0)
    if count < 2 or named.get("target_session_attrs", WRITABLE[0]) not in WRITABLE:
        return []
    if any(len(values) not in (1, count) for values in lists.values()):
        return []  # libpq refuses it
    defaults = {name: value for name, value in DEFAULTS.items() if name not in named}
    defaults["target_session_attrs"] = WRITABLE[0]
    return [
        defaults | {name: values[index if len(values) > 1 else 0] for name, values in lists.items()}
        for index in range(count)
    ]


def choose(hosts: Sequence[Host], connect_to: Callable[[Host], psycopg.Connection[Any]]) -> psycopg.Connection[Any]:
    """Connect to the primary among the hosts. Raises the last refusal when there is none."""
    search: _Search[psycopg.Connection[Any]] = _Search(hosts)
    for host in hosts:
        connection = None
        try:
            connection = connect_to(host)
            epoch = read(connection)
        except psycopg.OperationalError as error:
            search.refusal = error
            if connection is not None:
                connection.close()
            continue
        for unwanted in search.consider(connection, epoch):
            unwanted.close()
        if search.is_over:
            break
    return search.result()


async def _choose_async(
    hosts: Sequence[Host], connect_to: Callable[[Host], Awaitable[psycopg.AsyncConnection[Any]]]
) -> psycopg.AsyncConnection[Any]:
    search: _Search[psycopg.AsyncConnection[Any]] = _Search(hosts)
    for host in hosts:
        connection = None
        try:
            connection = await connect_to(host)
            epoch = await _read_async(connection)
        except psycopg.OperationalError as error:
            search.refusal = error
            if connection is not None:
                await connection.close()
            continue
        for unwanted in search.consider(connection, epoch):
            await unwanted.close()
        if search.is_over:
            break
    return search.result()


def read(connection: psycopg.Connection[Any]) -> Epoch:
    """Read the epoch of the server at the other end. One statement; no transaction stays open."""
    row = connection.execute(EPOCH).fetchone()
    if not connection.autocommit:
        connection.rollback()
    return _epoch(row)


async def _read_async(connection: psycopg.AsyncConnection[Any]) -> Epoch:
    row = await (await connection.execute(EPOCH)).fetchone()
    if not connection.autocommit:
        await connection.rollback()
    return _epoch(row)


def _epoch(row: Any) -> Epoch:
    return Epoch(*(row.values() if isinstance(row, dict) else row))


class _Search(Generic[C]):
    """The search among the hosts: the best connection so far, and the last refusal."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._key = tuple(item for host in hosts for item in host.items())
        self._is_first = self._key not in _compared
        self._best: tuple[C, int] | None = None
        self.refusal: psycopg.OperationalError | None = None

    @property
    def is_over(self) -> bool:
        """Return whether the search may end. The first search asks every host, since no epoch is known yet."""
        return self._best is not None and not self._is_first

    def consider(self, connection: C, epoch: Epoch) -> list[C]:
        """Keep the connection if its epoch is the highest so far; returns the connections to close."""
        _epochs[connection] = epoch
        timeline = epoch.timeline or 0
        highest = _highest[epoch.cluster] = max(_highest.get(epoch.cluster, 0), timeline)
        if timeline < highest:
            self.refusal = StalePrimary(
                f"this server has epoch {timeline} and was replaced by a server with epoch {highest}"
            )
            return [connection]
        earlier, self._best = self._best, (connection, timeline)
        if earlier is not None and earlier[1] >= timeline:
            self._best = earlier
            return [connection]
        return [] if earlier is None else [earlier[0]]

    def result(self) -> C:
        if self._best is None:
            raise self.refusal or StalePrimary("no host of the address takes writes")
        _compared.add(self._key)
        return self._best[0]
