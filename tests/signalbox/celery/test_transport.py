"""The transport by itself: what a channel does with messages, and what forks, options and foreign payloads lead to."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from kombu import Connection, Exchange, Queue
from psycopg.conninfo import conninfo_to_dict

import signalbox.celery  # noqa: F401 - a checkout has no entry points
from signalbox import Client, InvalidArgument
from signalbox.celery import calls
from signalbox.celery.calls import engine_name
from signalbox.celery.envelopes import packed, unpacked
from signalbox.celery.leases import Leases
from signalbox.messages import Message
from tests.signalbox.celery.conftest import PROJECT, broker_url, wait_until

pytestmark = pytest.mark.timeout(300)
Open = Callable[..., Connection]


@pytest.fixture
def open_connection(dsn: str) -> Iterator[Open]:
    """Connections of kombu's, closed at the end."""
    opened: list[Connection] = []

    def _open(**options: Any) -> Connection:
        opened.append(Connection(broker_url(dsn), transport_options=options))
        return opened[-1]

    yield _open
    for connection in opened:
        connection.release()


@pytest.fixture
def name() -> str:
    """A queue's that no other test has."""
    return f"kombu-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client


def get(queue: Any) -> Any:
    return queue.get(block=False)


def test_each_delivery_has_a_tag_of_its_own(open_connection: Open, name: str) -> None:
    queue = open_connection(queue_settings={"backoff_base_seconds": 0.0}).SimpleQueue(name)
    queue.put({"n": 1})
    first = queue.get(timeout=60)
    first.requeue()
    second = queue.get(timeout=60)

    assert first.payload == second.payload == {"n": 1}
    assert first.delivery_tag != second.delivery_tag
    assert (first.delivery_info["redelivered"], second.delivery_info["redelivered"]) == (False, True)
    second.ack()


def test_what_is_refused_keeps_its_message_and_is_counted(open_connection: Open, name: str, client: Client) -> None:
    options = {"max_receives": 2, "queue_settings": {"backoff_base_seconds": 0.0}}
    queue = open_connection(requeue_counts=True, **options).SimpleQueue(name)
    queue.put({"n": 1})
    ids = []
    for _ in range(2):
        message = queue.get(timeout=60)
        ids.append(message.delivery_info["message_id"])
        message.requeue()

    wait_until(lambda: (client.message_outcome(ids[0]) or ids) and client.message_outcome(ids[0]).outcome == "dead")
    assert ids[0] == ids[1]


def test_a_requeue_by_no_worker_is_no_failure(
    open_connection: Open, name: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "celery.worker.control", raising=False)
    queue = open_connection(max_receives=2, polling_interval=0.02).SimpleQueue(name)
    queue.put({"n": 1})
    message = queue.get(timeout=60)
    counts = [message.delivery_info["receive_count"]]
    for _ in range(3):
        message.requeue()
        message = queue.get_nowait()
        counts.append(message.delivery_info["receive_count"])
    message.ack()

    assert counts == [1, 2, 3, 4]
    message_id = message.delivery_info["message_id"]
    wait_until(lambda: client.message_outcome(message_id).outcome == "acked")


def test_a_message_ends_with_its_expiration(open_connection: Open, name: str, client: Client) -> None:
    connection = open_connection()
    queue, mailbox = connection.SimpleQueue(name), connection.SimpleBuffer(f"{name}-mail")
    for box in (queue, mailbox):
        box.put({"n": 1}, expiration=0.3)
        box.put({"n": 2}, expiration=3600)
    with client._connections.borrow() as own:
        sent = (
            "select message_id from signalbox.message join signalbox.queue using (queue_id) where name = %s order by 1"
        )
        first, _ = (row[0] for row in own.execute(sent, [name]))
        over = "select clock_timestamp() > expires_at from signalbox.message where message_id = %s"
        wait_until(lambda: own.execute(over, [first]).fetchone()[0])

    assert [box.get(timeout=60).payload for box in (queue, mailbox)] == [{"n": 2}, {"n": 2}]
    assert client.message_outcome(first).outcome == "expired"


def test_a_message_that_ends_before_it_is_due_is_not_delivered(open_connection: Open, name: str) -> None:
    queue = open_connection(queue_settings={"delay_seconds": 0.2}).SimpleQueue(name)
    queue.put({"n": 1}, expiration=0.1)
    queue.put({"n": 2}, expiration=3600)

    message = queue.get(timeout=60)
    assert message.payload == {"n": 2}
    message.ack()


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("signalbox://shop@db.example:6000/shop", 6000),
        ("signalbox:///shop?host=/run/postgresql&port=6001", 6001),
        ("signalbox://db1:6002,db2:6003/shop", None),
        ("signalbox://db.example/shop", None),
        ("redis://db.example:6004/0", 6004),
    ],
)
def test_a_connection_names_the_port_of_its_address(address: str, port: int | None) -> None:
    assert Connection(address).port == port


def test_an_address_of_a_list_does_not_get_the_port_of_another() -> None:
    connection = Connection(["signalbox://db1:6000/shop", "signalbox://db2/shop", "signalbox://db3:6001/shop"])
    ports = [connection.port]
    for _ in range(2):
        connection.maybe_switch_next()
        ports.append(connection.port)

    assert ports == [6000, None, 6001]


def test_a_mailbox_delivers_by_priority(open_connection: Open, name: str) -> None:
    buffer = open_connection().SimpleBuffer(name)
    for priority in (1, 9, 5, 9):
        buffer.put({"priority": priority}, priority=priority)

    assert [buffer.get(timeout=60).payload["priority"] for _ in range(4)] == [9, 9, 5, 1]


def test_a_list_of_addresses_can_have_a_socket(dsn: str) -> None:
    named = conninfo_to_dict(dsn)
    socket = f"signalbox://{named.get('user', '')}@{quote(str(named['host']), safe='')}/{named['dbname']}"
    with Connection(["signalbox://nobody@127.0.0.1:1/nowhere", socket]) as connection:
        connection.ensure_connection(max_retries=3, interval_start=0, timeout=60)

        assert connection.default_channel.connection is not None


def test_a_closed_connection_returns_undelivered_messages(open_connection: Open, name: str, client: Client) -> None:
    connection = open_connection(visibility_timeout=3600)
    queue = connection.SimpleQueue(name)
    queue.put({"n": 1})
    message_id = queue.get(timeout=60).delivery_info["message_id"]
    connection.release()

    found: list[Any] = []
    wait_until(lambda: found or found.extend(client.receive(name)))
    assert [(message.id, message.receive_count) for message in found] == [(message_id, 2)]


def test_a_message_can_be_acked_after_its_connection_closed(open_connection: Open, name: str, client: Client) -> None:
    connection = open_connection(visibility_timeout=3600)
    queue = connection.SimpleQueue(name)
    queue.put({"n": 1})
    message = queue.get(timeout=60)
    connection.release()

    message.ack()

    message_id = message.delivery_info["message_id"]
    wait_until(lambda: client.message_outcome(message_id).outcome == "acked")  # type: ignore[union-attr]


def test_higher_priorities_come_first(open_connection: Open, name: str) -> None:
    queue = open_connection().SimpleQueue(name)
    for priority in (0, 9, 5):
        queue.put({"priority": priority}, priority=priority)

    received = [queue.get(timeout=60) for _ in range(3)]

    assert [message.payload["priority"] for message in received] == [9, 5, 0]
    for message in received:
        message.ack()


@pytest.mark.parametrize(
    ("kind", "bound", "key", "reaches"),
    [("direct", "a", "a", True), ("direct", "a", "b", False), ("topic", "a.*", "a.b", True), ("fanout", "", "x", True)],
)
def test_exchanges_lead_other_connections_to_queues(
    open_connection: Open, name: str, kind: str, bound: str, key: str, *, reaches: bool
) -> None:
    exchange = Exchange(f"exchange-{name}", kind)
    Queue(name, exchange, bound)(open_connection().default_channel).declare()

    elsewhere = open_connection()
    elsewhere.Producer().publish({"n": 1}, exchange=exchange, routing_key=key)

    message = elsewhere.default_channel.basic_get(engine_name(name))
    assert (message is not None) == reaches
    if message:
        message.ack()


def test_a_full_prefetch_waits_for_an_acknowledgement(open_connection: Open, name: str) -> None:
    connection = open_connection(polling_interval=3600)
    received: list[Any] = []
    with connection.Consumer(Queue(name), callbacks=[lambda _, message: received.append(message)]) as consumer:
        consumer.qos(prefetch_count=1)
        for number in range(3):
            connection.Producer().publish({"n": number}, routing_key=name)
        for number in range(3):
            while len(received) == number:
                connection.drain_events(timeout=120)
            assert len(received) == number + 1
            received[-1].ack()

    assert [message.payload["n"] for message in received] == [0, 1, 2]


def test_a_higher_prefetch_limit_gets_more_messages(open_connection: Open, name: str) -> None:
    """Worker whose pool grows: no other signal reports that there is room."""
    connection = open_connection(polling_interval=3600, visibility_timeout=3600)
    received: list[Any] = []
    with connection.Consumer(Queue(name), callbacks=[lambda _, message: received.append(message)]) as consumer:
        consumer.qos(prefetch_count=1)
        for number in range(2):
            connection.Producer().publish({"n": number}, routing_key=name)
        while not received:
            connection.drain_events(timeout=120)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0)
        rung: list[bool] = []
        connection.transport.bell.also = lambda: rung.append(True)
        consumer.qos(prefetch_count=2)
        connection.transport.bell.also = None

        assert rung
        while len(received) < 2:
            connection.drain_events(timeout=120)
        for message in received:
            message.ack()


def test_a_mailbox_that_comes_back_is_listened_to(open_connection: Open, name: str, client: Client) -> None:
    connection = open_connection(polling_interval=3600)
    received: list[Any] = []
    queue = Queue(name, exclusive=True, auto_delete=True)
    with connection.Consumer(queue, callbacks=[lambda body, _: received.append(body)], no_ack=True):
        mailbox = connection.default_channel._mailboxes[name]
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0)
        assert client._run(calls.close_mailbox(name))
        mailbox.keep(connection.transport, client)  # as its thread does now and then
        with pytest.raises(TimeoutError):  # what there may be now is no news
            connection.drain_events(timeout=1)
        wait_until(connection.transport.listener.connected.is_set)

        client._run(calls.put_mail(name, mail({"n": 1})))
        while not received:
            connection.drain_events(timeout=120)

    assert received == [{"n": 1}]


def mail(body: dict[str, Any]) -> dict[str, Any]:
    """Message as kombu's channels know it."""
    known = {"content-type": "application/json", "content-encoding": "utf-8", "headers": {}}
    return {**known, "body": json.dumps(body), "properties": {"delivery_info": {}}}


def delivery(handle: str, seconds: float) -> Message:
    """Message with a lease of this many seconds."""
    now = datetime.now(UTC)
    return Message(
        id=1,
        receipt_handle=handle,
        receive_count=1,
        payload=None,
        attributes=None,
        group_id=None,
        priority=0,
        sent_at=now,
        deadline=now + timedelta(seconds=seconds),
        lease_seconds=seconds,
    )


class Scripted:
    """Client stub for leases, whose answers come from a function of the test."""

    def __init__(self, answer: Callable[[list[str]], dict[str, Any]]) -> None:
        self.change_visibility_batch = lambda handles, _: answer(handles)
        self.ack_batch = answer

    def close(self) -> None:
        """Check that no connection is open."""


def leases_over(answer: Callable[[list[str]], dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Leases:
    """Leases without a thread, so that each step is the test's."""
    monkeypatch.setattr(Leases, "_start", lambda self: None)
    leases = Leases("", {})
    atexit.unregister(leases.close)
    leases._client = Scripted(answer)  # type: ignore[assignment]
    return leases


def test_a_short_lease_that_comes_while_long_ones_are_extended_is_extended_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(handles: list[str]) -> dict[str, Any]:
        leases.hold([delivery("short", 3.0)])
        return dict.fromkeys(handles, "later")

    leases = leases_over(answer, monkeypatch)
    leases.hold([delivery("long", 3600.0)])

    leases._extend()

    pause = leases._pause()
    assert pause is not None
    assert pause <= 1.0


def test_an_acknowledgement_that_was_refused_as_a_whole_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(handles: list[str]) -> dict[str, Any]:
        raise InvalidArgument("not now", field="receipt_handles")

    leases = leases_over(answer, monkeypatch)
    leases.hold([delivery("one", 60.0)])
    leases.ack("one")

    with pytest.raises(InvalidArgument):
        leases.settle()

    assert leases.pop_pending_acks() == ["one"]


def test_a_task_that_sql_has_sent_is_a_task(open_connection: Open, name: str, client: Client) -> None:
    channel = open_connection().default_channel
    Queue(name)(channel).declare()
    message_id = client.send(name, {"task": "shop.work", "args": [7]})

    message = channel.basic_get(name)

    assert message.payload == {"task": "shop.work", "args": [7], "kwargs": {}, "id": f"signalbox-{message_id}"}
    message.ack()


def test_names_that_the_engine_would_refuse_are_made_fit() -> None:
    odd = ["high:priority", "high priority", "ünïcode", "x" * 200, ".hidden", ""]

    names = [engine_name(each) for each in odd]

    assert engine_name("plain.name-1") == "plain.name-1"
    assert len(set(names)) == len(odd)
    assert all(len(each) <= 90 and each[0].isalnum() for each in names)


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ('[[1, "a"], {"b": 1.5}, {}]', "json"),
        ("[[1e22], {}, {}]", None),
        ("[[-0.0], {}, {}]", None),
        ("[[NaN], {}, {}]", None),
        ('[["\\u0000"], {}, {}]', None),
        ('[["\\ud800"], {}, {}]', None),
        ("[]", None),
        ("3", None),
        ("not json", None),
        (b"\x80\x04", "base64"),
    ],
)
def test_every_body_comes_back_as_it_was(open_connection: Open, name: str, body: str | bytes, kept: str | None) -> None:
    assert packed(body, "application/json", readable=True)[1] == kept
    channel = open_connection().default_channel
    Queue(name)(channel).declare()
    channel.basic_publish(channel.prepare_message(body, content_type="application/json"), "", name)

    message = channel.basic_get(name)

    raw = message.body if isinstance(message.body, bytes) else message.body.encode()
    assert raw == (body if isinstance(body, bytes) else body.encode())
    message.ack()


def test_a_body_may_be_kept_as_text() -> None:
    assert packed('{"b": 1, "a": 2}', "application/json", readable=False) == ('{"b": 1, "a": 2}', None)
    assert unpacked('{"b": 1, "a": 2}', None) == '{"b": 1, "a": 2}'


def test_a_queue_is_made_with_the_settings_given(open_connection: Open, name: str, engine: Any) -> None:
    options = {"visibility_timeout": 7, "max_receives": 3, "tenant": "shop", "queue_settings": {"aging_seconds": 5.0}}
    Queue(name, queue_arguments={"x-signalbox": {"max_receives": 4}})(
        open_connection(**options).default_channel
    ).declare()

    assert engine.rows(
        "select q.visibility_timeout_seconds, q.max_receives, q.aging_seconds, t.name"
        " from signalbox.queue q join signalbox.tenant t using (tenant_id) where q.name = %s",
        name,
    ) == [(7.0, 4, 5.0, "shop")]


@pytest.mark.parametrize(
    ("option", "value"),
    [("visibilty_timeout", 5), ("max_receives", 0), ("polling_interval", -1), ("queue_settings", 3)],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(open_connection: Open, option: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=option):
        open_connection(**{option: value}).connect()


def test_the_password_is_not_shown() -> None:
    connection = Connection("signalbox://ann:secret@db.example/shop")

    assert "secret" not in connection.as_uri()
    assert "db.example" in connection.as_uri()
    assert connection.as_uri(include_password=True) == "signalbox://ann:secret@db.example/shop"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("signalbox://ann:secret@a:5432,b:5433/shop?sslmode=require", "signalbox://ann:**@a:5432,b:5433/shop"),
        ("signalbox://ann:sec?ret@a,b/shop", "signalbox://ann:**@a,b/shop"),
        ("signalbox:///shop?host=/a,/b&password=secret", "signalbox:///shop"),
        ("signalbox://db?password=secret", "signalbox://db"),
    ],
)
def test_every_address_that_libpq_takes_is_shown(url: str, shown: str) -> None:
    """A worker shows it when it begins, and would end there: to kombu the ports of two hosts are no port."""
    assert Connection(url).as_uri() == shown


def test_behind_pgbouncer_no_connection_listens_or_prepares(open_connection: Open, name: str, engine: Any) -> None:
    connection = open_connection(pgbouncer=True, polling_interval=0.01)
    queue = connection.SimpleQueue(name)
    for number in range(10):
        queue.put({"n": number})
        queue.get(timeout=60).ack()

    verbs = connection.transport.verbs
    with verbs._connections.borrow() as database:
        assert database.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
    assert connection.transport.listener is None


def test_a_forked_child_uses_no_connection_of_its_parents(open_connection: Open, name: str) -> None:
    connection = open_connection()
    queue = connection.SimpleQueue(name)
    queue.put({"n": 0})
    held = queue.get(timeout=60)

    child = os.fork()
    if child == 0:  # it publishes over the connection it has inherited, closes it, and ends without ceremony
        try:
            connection.Producer().publish({"n": 1}, routing_key=name)
            connection.release()
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    held.ack()
    message = queue.get(timeout=60)
    assert message.payload == {"n": 1}
    message.ack()


def test_an_installed_package_needs_no_import(tmp_path: Path) -> None:
    """Make the metadata that `pip install .` leaves beside the package, without installing it."""
    information = tmp_path / "signalbox_queue-0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: signalbox-queue\nVersion: 0\n")
    (information / "entry_points.txt").write_text(
        "[kombu.serializers]\nsignalbox = signalbox.celery_scheme:serializer\n"
    )
    asking = "from celery import Celery\nconnection = Celery(broker='signalbox://nowhere/db').connection_for_write()\n"
    asking += "print(connection.transport_cls, connection.get_transport_cls().__module__)\n"

    result = subprocess.run(
        [sys.executable, "-c", asking],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PROJECT)])},
        capture_output=True,
        text=True,
    )

    assert result.stdout.split() == ["signalbox", "signalbox.celery.transport"], result.stderr
    assert 'signalbox = "signalbox.celery_scheme:serializer"' in (PROJECT / "pyproject.toml").read_text()


def test_a_lease_that_was_lost_is_not_acknowledged(
    open_connection: Open, name: str, client: Client, engine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    queue = open_connection(visibility_timeout=3600).SimpleQueue(name)
    queue.put({"n": 1})
    message = queue.get(timeout=60)
    message_id = message.delivery_info["message_id"]
    client.change_visibility(message.delivery_tag, 0)  # as if its time had passed

    message.ack()

    wait_until(lambda: "lease had ended" in caplog.text)
    outcome = client.message_outcome(message_id)
    assert outcome is not None
    assert outcome.outcome is None


def test_nothing_is_delivered_twice_for_waiting(open_connection: Open, name: str) -> None:
    """An empty queue is looked into again when its news arrives late, and gives each message once."""
    queue = open_connection(polling_interval=0.01).SimpleQueue(name)
    with pytest.raises(queue.Empty):
        queue.get(timeout=0.05)
    queue.put({"n": 1})
    queue.get(timeout=60).ack()
    with pytest.raises(queue.Empty):
        get(queue)
