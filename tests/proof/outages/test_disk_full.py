"""A disk that is really full: what was accepted is there, what was refused is not, and with room all goes on."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import sql

from signalbox import Client, DatabaseUnavailable
from signalbox.http import HttpClient
from tests.console.servers import Server
from tests.proof.outages.full_disks import MEGABYTE, SmallDisk, bounded_files, small_disk
from tests.proof.outages.own_server import OwnServer
from tests.proof.outages.visitors import Visitor
from tests.races.sessions import until

pytestmark = pytest.mark.timeout(900)

MEGABYTES = 24  # more than the 16 of a segment of the write-ahead log, which a bound on files must let pass
MOST_SENDS = 1_000  # of a tenth of a megabyte and more each: far beyond what the disk holds


@pytest.fixture
def disk(server: OwnServer, queue: str) -> Iterator[SmallDisk]:
    """Move the log of messages to a full disk, and back at the end."""
    data = server.data.stat()
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(MEGABYTES, (data.st_uid, data.st_gid), server.postmaster()))
        stack.callback(back, server)
        stack.callback(disk.make_room)
        move(server, disk)
        yield disk


def move(server: OwnServer, disk: SmallDisk) -> None:
    with server.connect() as connection:
        place = sql.Literal(str(disk.folder))
        connection.execute(sql.SQL("create tablespace small location {}").format(place))
        for segment in segments(connection):
            connection.execute(sql.SQL("alter table {} set tablespace small").format(sql.Identifier(*segment)))


def back(server: OwnServer) -> None:
    with server.connect() as connection:
        for segment in segments(connection):
            connection.execute(sql.SQL("truncate {}").format(sql.Identifier(*segment)))
            connection.execute(sql.SQL("alter table {} set tablespace pg_default").format(sql.Identifier(*segment)))
        connection.execute("truncate signalbox.ready, signalbox.lease, signalbox.counter_delta")
        connection.execute("drop tablespace small")


def segments(connection: psycopg.Connection[object]) -> list[tuple[str, str]]:
    """The partitions of the log."""
    return connection.execute(
        "select 'signalbox', c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'signalbox.message'::regclass"
    ).fetchall()  # type: ignore[return-value]


def payload() -> str:
    """Text that no compression makes smaller."""
    return secrets.token_hex(60_000)


def fill(send: Callable[[str], int]) -> tuple[list[int], DatabaseUnavailable]:
    """Send until there is no more room: what was accepted, and the refusal."""
    accepted = []
    for _ in range(MOST_SENDS):
        try:
            accepted.append(send(payload()))
        except DatabaseUnavailable as refused:
            return accepted, refused
    raise AssertionError("the disk is never full")


def received(client: Client, queue: str) -> list[int]:
    ids = []
    while messages := client.receive(queue, 100):
        ids += [message.id for message in messages]
    return sorted(ids)


def test_sends_say_that_the_disk_is_full_lose_nothing_and_go_on(client: Client, queue: str, disk: SmallDisk) -> None:
    accepted, refused = fill(lambda body: client.send(queue, body))

    assert (refused.cause, refused.nothing_done) == ("disk-full", True)
    assert "the disk of the database is full, and nothing was done" in str(refused)
    assert accepted
    disk.make_room()
    accepted.append(client.send(queue, payload()))
    assert received(client, queue) == accepted


def test_the_api_and_pages_say_it_too(
    client: Client, queue: str, disk: SmallDisk, one_console: Server, key: str, visitor: Visitor
) -> None:
    accepted, _ = fill(lambda body: client.send(queue, body))

    answer = visitor.post(
        f"/v1/queues/{queue}/messages", json={"body": payload()}, headers={"Authorization": f"Bearer {key}"}
    )
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert (answer.json()["cause"], answer.json()["nothingDone"]) == ("disk-full", True)
    visitor.read(f"/queues/{queue}/send")
    page = visitor.post_form(f"/queues/{queue}/send", payload=f'"{payload()}"', priority="0")
    assert page.status_code == 503
    assert "The disk of the database is full" in page.text
    assert "Nothing was changed" in page.text
    assert visitor.read("/").status_code == 200
    disk.make_room()

    with HttpClient(one_console.url, key) as sender:
        accepted.append(sender.send(queue, payload()))
    assert received(client, queue) == accepted


def test_a_full_write_ahead_log_ends_the_server_and_loses_nothing(
    server: OwnServer, client: Client, queue: str
) -> None:
    """PostgreSQL gives up when it cannot write its log, and cannot recover before there is room."""
    postmaster = server.postmaster()
    with bounded_files(postmaster, 8 * MEGABYTE):
        accepted, refused = fill(lambda body: client.send(queue, body))
        # Whichever process of the server needs the log first ends it: that of the send, or one between two sends.
        assert refused.cause in {"connection-lost", "disk-full", "starting"}
        assert refused.nothing_done == (refused.cause != "connection-lost")
    server.start()

    accepted.append(until(lambda: sent(client, queue), "a send that is accepted"))
    delivered = received(client, queue)
    assert set(accepted) <= set(delivered)
    assert len(delivered) - len(accepted) <= 1  # the send that was cut off may have been carried out


def sent(client: Client, queue: str) -> int:
    try:
        return client.send(queue, "after")
    except DatabaseUnavailable:
        return 0


def test_what_cannot_be_mounted_is_bounded_and_says_the_same(server: OwnServer, client: Client, queue: str) -> None:
    """Fill a disk in the way that works on every machine."""
    data, postmaster = server.data.stat(), server.postmaster()
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(MEGABYTES, (data.st_uid, data.st_gid), postmaster, mounts=False))
        stack.callback(back, server)
        stack.callback(disk.make_room)
        move(server, disk)
        accepted, refused = fill(lambda body: client.send(queue, body))

        assert (refused.cause, refused.nothing_done) == ("disk-full", True)
        disk.make_room()
        accepted.append(client.send(queue, payload()))
        assert received(client, queue) == accepted
