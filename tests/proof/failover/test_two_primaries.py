"""History has forked: the standby was promoted without the last of what the old primary answered, which comes back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from queues.database import failover
from queues.database.failover import AuditNote
from signalbox import Client, DatabaseUnavailable, StreamMessage
from signalbox.connections import primary_selection
from signalbox.spark import writing
from signalbox.spark.options import Target
from signalbox.spark.reading import Extraction, Question
from tests.proof.failover.pair import Pair
from tests.races.sessions import finish, start, until

pytestmark = [pytest.mark.timeout(900)]

QUEUE, STREAM, GROUP, MEMBER = "forked", "forked-stream", "readers", "ann"
STREAM_SETTINGS = {"partitions": 1}
_WHO = AuditNote("ann", "a mistake")
_SAID = """
select actor, action, reason, details ->> 'host' from signalbox.audit_event
where action in ('server.fence', 'server.unfence')
order by audit_event_id
"""


@dataclass
class Fork:
    """Two servers that both take writes, and what the old primary gave out that never reached the new one."""

    pair: Pair
    known_handle: str
    """Of a lease that both know."""
    lost_handle: str
    """Of a lease that only the old primary knows, of a message that both know."""
    lost_ids: list[int]
    lost_reading: list[StreamMessage]
    """What a member read of the old primary after a rebalancing that never reached the new one."""

    @property
    def old(self) -> dict[str, Any]:
        return {"host": str(self.pair.primary._server.folders.socket)}

    def wait_for_standbys(self, names: str) -> None:
        """Commits of the old primary wait for these."""
        with self.pair.connect_to_primary() as connection:
            connection.execute("set default_transaction_read_only = off")
            connection.execute(f"alter system set synchronous_standby_names = '{names}'")
            connection.execute("select pg_reload_conf()")
            wanted = "select current_setting('synchronous_standby_names')"
            self.pair.wait_until(lambda: connection.execute(wanted).fetchone() == (names,), "it knows its standbys")

    @property
    def backwards(self) -> str:
        """The address with the new primary named first."""
        old, new = primary_selection.hosts_of(self.pair.url, {})
        return self.pair.url.replace(f"{old['host']},{new['host']}", f"{new['host']},{old['host']}")


@pytest.fixture(scope="module")
def fork() -> Iterator[Fork]:
    with Pair() as pair:
        with Client(pair.primary.url) as client:
            client.create_queue(QUEUE)
            client.create_stream(STREAM, STREAM_SETTINGS)
            client.create_group(STREAM, GROUP)
            for payload in ("held", "taken"):
                client.send(QUEUE, payload)
            client.append(STREAM, "read")
            (held,) = client.receive(QUEUE, visibility_timeout=3600)
            _wait_for_replay(pair)
            pair.stop_sending()
            (taken,) = client.receive(QUEUE, visibility_timeout=3600)
            lost_ids = client.send_batch(QUEUE, ["lost"] * 100)
            reading = client.read_stream(STREAM, GROUP, MEMBER)
        pair.kill_primary()
        pair.promote()
        subprocess.run(pair.manage("failover", "show"), env=pair.environment(), check=True)
        with pair.connect_to_standby() as connection:
            connection.execute("select signalbox.notice_promotion()")
        pair.revive_primary()
        yield Fork(pair, held.receipt_handle, taken.receipt_handle, lost_ids, reading)


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the known epoch, as in a new process."""
    monkeypatch.setattr(primary_selection, "_highest", {})
    monkeypatch.setattr(primary_selection, "_compared", set())


def _wait_for_replay(pair: Pair) -> None:
    with pair.connect_to_primary() as primary, pair.connect_to_standby() as standby:
        (reached,) = primary.execute("select pg_current_wal_lsn()::text").fetchone() or ("",)
        query = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
        pair.wait_until(lambda: standby.execute(query, [reached]).fetchone() == (True,), "the standby has replayed it")


def test_a_lease_that_both_know_goes_on(fork: Fork) -> None:
    with Client(fork.pair.standby.url()) as client:
        assert client.change_visibility(fork.known_handle, 3600) is not None


def test_a_receipt_that_only_the_old_primary_knows_settles_nothing(fork: Fork) -> None:
    with Client(fork.pair.standby.url()) as client:
        (again,) = client.receive(QUEUE, visibility_timeout=3600)

        assert again.payload == "taken"
        assert client.ack(fork.lost_handle) is False
        assert client.nack(fork.lost_handle) is None
        assert client.change_visibility(fork.lost_handle, 60) is None
        assert client.change_visibility(again, 0) is not None


def test_no_id_that_the_old_primary_gave_out_means_another_message(fork: Fork) -> None:
    with Client(fork.pair.standby.url()) as client:
        new = client.send("forked", "new", delay_seconds=3600)

        assert new > max(fork.lost_ids)
        assert [client.message_outcome(one) for one in fork.lost_ids] == [None] * len(fork.lost_ids)


def test_what_a_member_read_of_the_old_primary_cannot_be_committed_on_the_new_one(fork: Fork) -> None:
    with Client(fork.pair.standby.url()) as client:
        client.join_group(STREAM, GROUP, MEMBER)

        assert client.commit_messages(STREAM, GROUP, MEMBER, fork.lost_reading) is False
        assert [one.payload for one in client.read_stream(STREAM, GROUP, MEMBER)] == ["read"]


def test_the_promotion_is_noticed_once_and_in_the_audit(fork: Fork) -> None:
    with fork.pair.connect_to_standby() as connection:
        assert connection.execute("select signalbox.notice_promotion()").fetchone() == (None,)
        noticed = connection.execute(
            "select details ->> 'epoch' from signalbox.audit_event where action = 'server.promoted'"
        ).fetchall()

    assert noticed == [("2",)]


def test_a_process_that_has_just_begun_takes_the_new_primary(fork: Fork) -> None:
    for address in (fork.pair.url, fork.backwards):
        with closing(primary_selection.connect(address)) as connection:
            assert primary_selection.read(connection).timeline == 2


def test_a_process_that_knows_the_new_primary_refuses_the_old_one(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    primary_selection.connect(fork.pair.url).close()
    nowhere = fork.backwards.replace(str(fork.pair.standby.folders.socket), "/nowhere")

    with pytest.raises(primary_selection.StalePrimary, match="replaced"):
        primary_selection.connect(nowhere)
    with closing(primary_selection.connect(fork.pair.url)) as connection:
        assert primary_selection.read(connection).timeline == 2


def test_a_client_that_met_the_new_primary_sends_nothing_more_to_the_old_one(fork: Fork) -> None:
    """Session from before the promotion: the old primary may be fenced only later."""
    nowhere = fork.backwards.replace(str(fork.pair.standby.folders.socket), "/nowhere")
    with Client(nowhere) as client:
        client.send(QUEUE, "before", delay_seconds=3600)
        primary_selection.connect(fork.pair.url).close()

        with pytest.raises(DatabaseUnavailable, match="was replaced") as refused:
            client.send(QUEUE, "after", delay_seconds=3600)
    assert refused.value.nothing_done


def test_the_console_takes_the_new_primary(fork: Fork) -> None:
    asked = subprocess.run(
        fork.pair.manage("shell", "-c", _SHELL),
        env=fork.pair.environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert asked.stdout.split()[-1] == "2"


def test_spark_reads_of_the_new_primary_and_writes_to_it(fork: Fork) -> None:
    target = Target(QUEUE, None, fork.pair.url)

    with writing.connect(target) as connection:
        assert primary_selection.read(connection).timeline == 2
    for way in (Question, Extraction):
        with closing(way(target)) as asked:
            assert asked.rows(primary_selection.EPOCH, {})[0][1] == 2


def test_who_takes_an_address_of_one_gets_that_of_the_new_primary(fork: Fork) -> None:
    address = primary_selection.address_of_one(fork.pair.url)

    assert primary_selection.hosts_of(address, {}) == []
    with closing(psycopg.connect(address)) as connection:
        assert primary_selection.read(connection).timeline == 2
    assert primary_selection.address_of_one(fork.pair.primary.url) == fork.pair.primary.url


def test_a_replaced_primary_is_fenced_and_skipped(fork: Fork) -> None:
    with fork.pair.connect_to_standby() as connection, fork.pair.connect_to_primary() as session:
        here, there = len(connection.execute(_SAID).fetchall()), len(session.execute(_SAID).fetchall())
        fenced = failover.fence_replaced(fork.pair.url)
        assert [sight.host["host"] for sight in fenced] == [fork.old["host"]]
        try:
            with pytest.raises(psycopg.OperationalError):
                session.execute("select signalbox.send('forked', '1')")
            with fork.pair.connect_to_primary() as later, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                later.execute("select signalbox.send('forked', '1')")
            with closing(psycopg.connect(fork.pair.url, target_session_attrs="read-write")) as found:
                assert primary_selection.read(found).timeline == 2
            assert failover.fence_replaced(fork.pair.url) == []
            said = connection.execute(_SAID).fetchall()[here:]
            assert said == [("upkeep", "server.fence", "", fenced[0].name)]
        finally:
            failover.unfence(fork.pair.url, fenced[0], _WHO)
        with fork.pair.connect_to_primary() as later:
            said = later.execute(_SAID).fetchall()[there:]
            assert said == [("ann", "server.unfence", "a mistake", fenced[0].name)]


def test_a_fence_of_the_primary_is_in_its_own_audit_unless_that_is_held_up(fork: Fork) -> None:
    (sight,) = (one for one in failover.read_hosts(fork.pair.url) if one.host["host"] != fork.old["host"])
    ours = ("ann", "server.fence", "a mistake", sight.name)
    try:
        failover.fence(fork.pair.url, sight, _WHO)
        with closing(fork.pair.connect_to_standby()) as holder:
            assert holder.execute(_SAID).fetchall().count(ours) == 1
            holder.execute("set default_transaction_read_only = off")
            holder.autocommit = False
            holder.execute("select from signalbox.audit_head for update")
            failover.fence(fork.pair.url, sight, _WHO)
        (found,) = (one for one in failover.read_hosts(fork.pair.url) if one.host == sight.host)
        assert found.role == "fenced"
        with closing(fork.pair.connect_to_standby()) as observer:
            assert observer.execute(_SAID).fetchall().count(ours) == 1
    finally:
        failover.unfence(fork.pair.url, sight, _WHO)


def test_a_host_that_was_promoted_after_it_was_read_is_not_fenced(fork: Fork) -> None:
    (sight,) = (one for one in failover.read_hosts(fork.pair.url) if one.host["host"] != fork.old["host"])
    with pytest.raises(psycopg.OperationalError, match="had epoch 1 and has 2 now"):
        failover.fence(fork.pair.url, replace(sight, epoch=1), _WHO)
    (found,) = (one for one in failover.read_hosts(fork.pair.url) if one.host == sight.host)
    assert found.role == "primary"


def test_a_session_that_begins_in_the_moment_of_the_fence_writes_nothing(fork: Fork) -> None:
    """Session that has read that it may write, and is not yet listed."""
    beginning = "select from pg_locks where locktype = 'object' and classid = 'pg_database'::regclass"

    def begin_and_send() -> None:
        with fork.pair.connect_to_primary(options="-c post_auth_delay=3") as session:
            session.execute("select signalbox.send('forked', '1')")

    (sight,) = (one for one in failover.read_hosts(fork.pair.url) if one.host["host"] == fork.old["host"])
    try:
        with fork.pair.connect_to_primary() as observer:
            sending = start(begin_and_send)
            until(lambda: observer.execute(beginning).fetchone() == (), "a session that begins")
            failover.fence(fork.pair.url, sight, _WHO)
        with pytest.raises(psycopg.OperationalError):
            finish(sending)
    finally:
        failover.unfence(fork.pair.url, sight, _WHO)


def test_what_waits_for_a_standby_that_is_gone_is_fenced_too(fork: Fork) -> None:
    """No commit of a synchronous primary ends once its standby is another's: that of the fence must not wait for it."""
    sender = fork.pair.connect_to_primary()
    try:
        fork.wait_for_standbys("*")
        sending = start(sender.execute, "select signalbox.send('forked', '1')")
        with fork.pair.connect_to_primary() as observer:
            waits = "select wait_event from pg_stat_activity where pid = %s"
            until(
                lambda: observer.execute(waits, [sender.info.backend_pid]).fetchone() == ("SyncRep",),
                "a commit that waits",
            )
        fenced = finish(start(failover.fence_replaced, fork.pair.url))
        with pytest.raises(psycopg.OperationalError):
            finish(sending)
        assert [sight.host["host"] for sight in fenced] == [fork.old["host"]]
    finally:
        fork.wait_for_standbys("")
        for sight in failover.read_hosts(fork.pair.url):
            if sight.host["host"] == fork.old["host"]:
                failover.unfence(fork.pair.url, sight, _WHO)


def test_an_operator_sees_and_fences_it(fork: Fork) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = fork.pair.manage("failover", *arguments)
        return subprocess.run(command, env=fork.pair.environment(), capture_output=True, text=True)

    old, new = str(fork.old["host"]), str(fork.pair.standby.folders.socket)
    assert {one["host"]: (one["is"], one["epoch"]) for one in json.loads(run("show", "--json").stdout)} == {
        old: ("primary", 1),
        new: ("primary", 2),
    }
    assert "was replaced, and takes writes" in run("show").stdout
    assert "stops every queue" in run("fence", new).stderr
    assert "no host elsewhere" in run("fence", "elsewhere").stderr
    try:
        assert "takes no writes any more" in run("fence", old, "--reason", "a test").stdout
        assert "fenced" in run("show").stdout
        assert "was replaced" in run("unfence", old).stderr
        with fork.pair.connect_to_standby() as connection:
            noted = "select reason from signalbox.audit_event where action = 'server.fence' and actor = 'manage.py'"
            assert connection.execute(noted).fetchall() == [("a test",)]
    finally:
        (sight,) = (one for one in failover.read_hosts(fork.pair.url) if one.host["host"] == old)
        failover.unfence(fork.pair.url, sight, _WHO)


_SHELL = """
from django.db import connection
from signalbox.connections import primary_selection
with connection.cursor() as cursor:
    cursor.execute(primary_selection.EPOCH)
    print(cursor.fetchone()[1])
"""
