"""Which of several hosts to work with: none that this process knows to have been replaced.

An address may name several hosts, a primary and its standbys. A promotion begins a new timeline, and PostgreSQL gives
it a higher number before it takes the first write: that number is the epoch. A primary that was replaced and comes back
has the lower one, however well it answers. At its first connection a process looks at every host and takes the highest
epoch; later it takes the first host that is not below what it has seen, and goes on with no connection to one that is.
Looking is part of connecting: calls cost no more.

An address of one host is connected to and believed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

#: Which cluster this is, the same for a primary and its standbys, and its timeline; a standby has none of its own.
EPOCH = """
select
  (select c.system_identifier from pg_control_system() c),
  case when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end
"""
#: What an address of several hosts means unless it says otherwise: a host that may be written to, and one that fell
#: silent is given up before long.
DEFAULTS: dict[str, Any] = {
    "target_session_attrs": "read-write",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
#: Both mean what takes writes: one that was replaced and fenced is still a "primary" to libpq. Other wishes (a standby,
#: any) are libpq's to grant: a replica that is read from has no epoch to be wrong about.
WRITABLE = ("read-write", "primary")

C = TypeVar("C")
Place = Mapping[str, Any]
"""One host: the parameters that lead to it."""


class StalePrimary(psycopg.OperationalError):
    """This server was replaced by another, whose epoch is higher."""


class Epoch(NamedTuple):
    """A cluster's identity and the timeline of one of its servers; None for a standby."""

    cluster: int
    timeline: int | None


_highest: dict[int, int] = {}
"""Of each cluster, what this process has seen. Two threads that differ for a moment differ by one connection."""
_of: WeakKeyDictionary[object, Epoch] = WeakKeyDictionary()
"""Of connections that were chosen among several hosts, the server at the other end."""
_looked_at: set[tuple[tuple[str, Any], ...]] = set()


def connect(dsn: str, **options: Any) -> psycopg.Connection[Any]:
    """As `psycopg.connect`, and of several hosts the right one."""
    places = places_of(dsn, options)
    if len(places) < 2:
        return psycopg.connect(dsn, **options)
    return choose(places, lambda place: psycopg.connect(dsn, **{**options, **place}))


async def connect_async(dsn: str, **options: Any) -> psycopg.AsyncConnection[Any]:
    """The same for asyncio."""
    places = places_of(dsn, options)
    if len(places) < 2:
        return await psycopg.AsyncConnection.connect(dsn, **options)
    return await _choose_async(places, lambda place: psycopg.AsyncConnection.connect(dsn, **{**options, **place}))


def address_of_one(dsn: str) -> str:
    """Of several hosts the address of the right one, for whoever connects by other means than these. Connects once."""
    if not places_of(dsn, {}):
        return dsn
    with closing(connect(dsn)) as connection:
        info = connection.info
        return make_conninfo(
            dsn, host=info.host, hostaddr=info.hostaddr or None, port=info.port, target_session_attrs="any"
        )


def is_replaced(connection: object) -> bool:
    """Has this process met a higher epoch since it was connected so? Asks nobody."""
    epoch = _of.get(connection)
    return epoch is not None and (epoch.timeline or 0) < _highest.get(epoch.cluster, 0)


def places_of(dsn: str, options: Mapping[str, Any]) -> list[Place]:
    """The hosts of the address, each with what else it takes to reach it; none where there is nothing to choose."""
    try:
        named = {**conninfo_to_dict(dsn), **{name: value for name, value in options.items() if value is not None}}
    except psycopg.ProgrammingError:
        return []  # connecting will say what is wrong with it
    lists = {name: str(named[name]).split(",") for name in ("host", "hostaddr", "port") if named.get(name)}
    hosts = max((len(lists[name]) for name in ("host", "hostaddr") if name in lists), default=0)
    if hosts < 2 or named.get("target_session_attrs", WRITABLE[0]) not in WRITABLE:
        return []
    if any(len(values) not in (1, hosts) for values in lists.values()):
        return []  # libpq complains of it
    defaults = {name: value for name, value in DEFAULTS.items() if name not in named}
    defaults["target_session_attrs"] = WRITABLE[0]
    return [
        defaults | {name: values[place if len(values) > 1 else 0] for name, values in lists.items()}
        for place in range(hosts)
    ]


def choose(places: Sequence[Place], connect_to: Callable[[Place], psycopg.Connection[Any]]) -> psycopg.Connection[Any]:
    """A connection to one of the places. Raises what the last one said when none will do."""
    search: _Search[psycopg.Connection[Any]] = _Search(places)
    for place in places:
        connection = None
        try:
            connection = connect_to(place)
            epoch = read(connection)
        except psycopg.OperationalError as error:
            search.refusal = error
            if connection is not None:
                connection.close()
            continue
        for unwanted in search.weigh(connection, epoch):
            unwanted.close()
        if search.is_over:
            break
    return search.result()


async def _choose_async(
    places: Sequence[Place], connect_to: Callable[[Place], Awaitable[psycopg.AsyncConnection[Any]]]
) -> psycopg.AsyncConnection[Any]:
    search: _Search[psycopg.AsyncConnection[Any]] = _Search(places)
    for place in places:
        connection = None
        try:
            connection = await connect_to(place)
            epoch = await _read_async(connection)
        except psycopg.OperationalError as error:
            search.refusal = error
            if connection is not None:
                await connection.close()
            continue
        for unwanted in search.weigh(connection, epoch):
            await unwanted.close()
        if search.is_over:
            break
    return search.result()


def read(connection: psycopg.Connection[Any]) -> Epoch:
    """Of the server at the other end. One statement; no transaction stays open."""
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
    """What has been found so far, and what is better."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._key = tuple(item for place in places for item in place.items())
        self._is_first = self._key not in _looked_at
        self._found: tuple[C, int] | None = None
        self.refusal: psycopg.OperationalError | None = None

    @property
    def is_over(self) -> bool:
        """The first time every host is looked at: else a process that has seen nothing would believe the first."""
        return self._found is not None and not self._is_first

    def weigh(self, connection: C, epoch: Epoch) -> list[C]:
        """Note a connection; which ones are to be closed for it."""
        _of[connection] = epoch
        timeline = epoch.timeline or 0
        highest = _highest[epoch.cluster] = max(_highest.get(epoch.cluster, 0), timeline)
        if timeline < highest:
            self.refusal = StalePrimary(
                f"this server is of epoch {timeline}, and was replaced: there has been one of epoch {highest}"
            )
            return [connection]
        earlier, self._found = self._found, (connection, timeline)
        if earlier is not None and earlier[1] >= timeline:
            self._found = earlier
            return [connection]
        return [] if earlier is None else [earlier[0]]

    def result(self) -> C:
        if self._found is None:
            raise self.refusal or StalePrimary("no host will do")
        _looked_at.add(self._key)
        return self._found[0]
