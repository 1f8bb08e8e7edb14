"""Roles with the rights of their kind: each logs in, does what it is for, and is refused everything else."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from queues.database import grants
from queues.errors import InvalidArgument
from signalbox import Client
from signalbox.payloads.bodies import FileBodies
from tests.races.sessions import until

Connect = Callable[..., psycopg.Connection[Any]]
LogIn = Callable[[str], psycopg.Connection[Any]]
KINDS = list(grants.KINDS)
ALL_STATES = ("ready", "scheduled", "waiting", "leased", "dead")
RELATIONS = """
select c.relname, c.relkind = 'S'
from pg_class c
where c.relnamespace = 'signalbox'::regnamespace and c.relkind in ('r', 'p', 'v', 'S') and c.relname <> all (%s)
order by 1
"""
HAS_SOME = """
select has_table_privilege(%(table)s, 'select, insert, update, delete, truncate, references, trigger')
  or has_any_column_privilege(%(table)s, 'select, insert, update, references')
"""
# What everybody who may use the schema may read: floors and marks of claims, old names with when they were last used.
OF_EVERYBODY = "floor_", "alias_used_", "queue_alias", "place_mark", "place_horizon", "lane_epoch"


@pytest.fixture
def log_in(connect: Connect, dsn: str) -> Iterator[LogIn]:
    """Log in as a role that has just got the rights of its kind; every session is in autocommit."""
    owner = connect()
    made: list[str] = []
    sessions: list[psycopg.Connection[Any]] = []

    def _log_in(kind: str) -> psycopg.Connection[Any]:
        role = f"{kind}_{uuid.uuid4().hex[:8]}"
        owner.execute(f"create role {role} login".encode())
        made.append(role)
        grants.write(owner, {role: [kind]})
        sessions.append(psycopg.connect(make_conninfo(dsn, user=role), autocommit=True))
        return sessions[-1]

    yield _log_in
    for session in sessions:
        session.close()
    for role in made:
        owner.execute(f"drop owned by {role}; drop role {role}".encode())


@pytest.fixture
def name() -> str:
    return f"granted-{uuid.uuid4().hex[:12]}"


def listed(kind: str) -> set[str]:
    return {*grants.KINDS[kind].tables, *grants.KINDS[kind].sequences}


def refused(session: psycopg.Connection[Any], statement: sql.Composed) -> bool:
    try:
        session.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return True
    except psycopg.Error:
        return False
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_what_its_kind_needs_can_be_read_or_changed(kind: str, connect: Connect, log_in: LogIn) -> None:
    Client(connect()).create_queue(f"limited-{uuid.uuid4().hex[:8]}", {"publish_rate_per_second": 5})
    role = log_in(kind)
    others = [
        row
        for row in connect().execute(RELATIONS, [sorted(listed(kind))]).fetchall()
        if not row[0].startswith(OF_EVERYBODY)
    ]
    registers = set(grants.KINDS[kind].registers)

    assert {"auth_user", "django_session", "api_key", "audit_event", "audit_head", "masking_rule"} <= {
        row[0] for row in others
    }
    assert [name for name, is_sequence in others if not is_sequence and not _refuses(role, name, registers)] == []
    assert [name for name, is_sequence in others if is_sequence and not _refuses_sequence(role, name, registers)] == []


def _matches(name: str, patterns: set[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _refuses(role: psycopg.Connection[Any], name: str, registers: set[str]) -> bool:
    if _matches(name, registers):
        return True
    reading = sql.SQL("select from {}").format(sql.Identifier("signalbox", name))
    return refused(role, reading) and role.execute(HAS_SOME, {"table": f'signalbox."{name}"'}).fetchone() == (False,)


def _refuses_sequence(role: psycopg.Connection[Any], name: str, registers: set[str]) -> bool:
    sequence = sql.Literal(f"signalbox.{name}")
    statements = [
        sql.SQL("select nextval({})").format(sequence),
        sql.SQL("select setval({}, 5)").format(sequence),
        sql.SQL("select last_value from {}").format(sql.Identifier("signalbox", name)),
    ]
    return _matches(name, registers) or all(refused(role, statement) for statement in statements)


@pytest.mark.parametrize("kind", ["application", "broker"])
def test_what_is_listed_is_no_more_than_it_says(kind: str, log_in: LogIn) -> None:
    role = log_in(kind)

    for statement in (
        "update signalbox.queue set name = 'x' where false",
        "update signalbox.queue set tenant_id = 1 where false",
        "update signalbox.queue set admission_flags = 0 where false",
        "delete from signalbox.queue where false",
        "update signalbox.tenant set max_queues = 0 where false",
        "select setval('signalbox.message_id', 5)",
        "update signalbox.settled set outcome = 'a' where false",
        "create table signalbox.mine (a int)",
        "create function signalbox.mine() returns int language sql as 'select 1'",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            role.execute(statement.encode())


def test_an_application_calls_every_verb_of_its_own(connect: Connect, log_in: LogIn, name: str, tmp_path: Any) -> None:
    session = log_in("application")
    client = Client(session, bodies=FileBodies(tmp_path))
    every_message_verb(client, session, name)
    every_stream_verb(client, session, name)


def test_a_broker_calls_every_verb_of_its_own(connect: Connect, log_in: LogIn, name: str, tmp_path: Any) -> None:
    session = log_in("broker")
    every_message_verb(Client(session, bodies=FileBodies(tmp_path)), session, name)
    session.execute("select signalbox.declare_queue(%s)", [f"{name}-declared"])
    session.execute("select signalbox.open_mailbox(%s)", [f"{name}-box"])
    session.execute("select signalbox.bind_queue('x', 'topic', 'a.*', %s)", [f"{name}-box"])
    session.execute("select signalbox.bind_queue('x', 'topic', 'a.*', %s)", [f"{name}-declared"])
    assert len(session.execute("select * from signalbox.route('x', 'a.b')").fetchall()) == 2
    assert session.execute("select signalbox.put_mail(%s, '1')", [f"{name}-box"]).fetchone() == (True,)
    assert len(session.execute("select * from signalbox.take_mail(array[%s])", [f"{name}-box"]).fetchall()) == 1
    session.execute("select signalbox.keep_mailboxes(array[%s])", [f"{name}-box"])
    assert session.execute("select signalbox.unbind_queue('x', 'a.*', %s)", [f"{name}-declared"]).fetchone() == (True,)
    assert session.execute("select signalbox.close_mailbox(%s)", [f"{name}-box"]).fetchone() == (True,)
    session.execute("select signalbox.store_result(%s, 'x', 60)", [name])
    assert session.execute("select value from signalbox.read_results(array[%s])", [name]).fetchone() == (b"x",)
    assert session.execute("select signalbox.keep_result(%s, 60)", [name]).fetchone() == (True,)
    assert session.execute("select signalbox.count_part(%s, 'part')", [f"{name}-chord"]).fetchone() == (1,)
    assert session.execute("select signalbox.delete_results(%s)", [[name, f"{name}-chord"]]).fetchone() == (2,)
    session.execute("select signalbox.expire_results()")


QUEUES: Sequence[dict[str, Any]] = (
    {},
    {"mode": "fifo", "fifo_block_on_dead_letter": True, "max_receives": 1},
    {"group_max_in_flight": 2, "group_max_waiting": 100},
    {"fair_groups": True},
    {"dedup_scope": "in_flight"},
    {
        "publish_rate_per_second": 1000, "max_backlog_messages": 1000, "max_backlog_bytes": 1_000_000,
        "max_oldest_age_seconds": 1000, "max_in_flight": 100, "dedup_window_seconds": 60,
    },
)  # fmt: skip


def every_message_verb(client: Client, session: psycopg.Connection[Any], name: str) -> None:
    """Actions of a client on queues of each kind, and other statements of SQL."""
    for number, settings in enumerate(QUEUES):
        queue = f"{name}-{number}"
        client.create_queue(queue, settings, tenant=f"tenant of {name}")
        group: dict[str, Any] = (
            {"group_id": "g"} if {"mode", "group_max_in_flight", "fair_groups"} & settings.keys() else {}
        )
        client.send(queue, {"n": 1}, deduplication_id="once", trace_id="t", **group)
        client.send(queue, {"n": 1}, deduplication_id="once", trace_id="t", **group)
        client.send(queue, "x" * 400_000, **group)
        client.send_batch(queue, [1, 2, 3], **({"group_ids": ["g", "h", "h"]} if group else {}))
        client.send_each(queue, [(4, {**group}), (5, {**group})])
        if "mode" not in settings:
            client.send(queue, "later", delay_seconds=3600, **group)
        [first] = client.receive(queue, consumer="me")
        client.change_visibility(first, 60)
        client.fetch(first)
        client.nack(first, error_class="E", error="broken", reason="rejected", state={"step": 1})
        client.message_outcome(first.id)
        [put_off] = client.receive(queue, consumer="me")
        client.defer(put_off, 0, state={"step": 2})
        held = client.receive(queue, 2, consumer="me")
        client.ack_and_receive([held[0]], queue, 1)
        client.nack_batch([(one, {"delay_seconds": 0.0}) for one in held[1:]])
        client.ack_batch(client.receive(queue, 10), results=None)
        client.announce_consumer(queue, "me", {"host": "here"})
        client.configure_queue(queue, {"max_receives": 5, "paused": True})
        client.configure_queue(
            queue, {"paused": False, "group_max_in_flight": 3} if "mode" not in settings else {"paused": False}
        )
        client.describe_queue(queue)
        session.execute("select * from signalbox.message_story(%s)", [first.id])
        session.execute("select * from signalbox.message_status where message_id = %s", [first.id])
        session.execute("select * from signalbox.live_message where queue_id = %s", [first.id])
        session.execute("select signalbox.limit_lane(%s, 'g', null)", [queue])
        session.execute("select signalbox.clear_group_policy(%s, 'g')", [queue])
        client.create_queue(f"{queue}-copies", tenant=f"tenant of {name}")
        client.subscribe(queue, f"{queue}-copies")
        client.pause_subscription(queue, f"{queue}-copies")
        client.send(queue, {"n": 2}, **group)
        client.list_subscriptions(queue)
        client.unsubscribe(queue, f"{queue}-copies", discard=True)
        dead = client.receive(f"{queue}-dlq", 1)
        client.ack_batch(dead)
        client.purge(queue, states=ALL_STATES[:4])
    client.purge(f"{name}-0-dlq", states=["dead", "ready"])
    client.list_queues(name)
    client.configure_queue(
        f"{name}-0", {"dead_letter_queue": f"{name}-elsewhere", "publish_rate_per_second": 7, "closed": True}
    )
    for refusal in (lambda: client.send(f"{name}-0", 1), lambda: client.send(f"{name}-none", 1)):
        with pytest.raises(Exception, match=name):
            refusal()
    session.execute("select signalbox.record_audit('shop.sold', %s, 'why', '{}')", [f"{name}-1"])


def every_stream_verb(client: Client, session: psycopg.Connection[Any], name: str) -> None:
    stream = f"{name}-stream"
    client.create_stream(stream, {"partitions": 2}, tenant=f"tenant of {name}")
    client.configure_stream(stream, {"retention_seconds": 7200})
    client.create_group(stream, "g", point="beginning")
    client.create_queue(f"{name}-fed", tenant=f"tenant of {name}")
    client.create_group(stream, "fed", queue=f"{name}-fed")
    client.append(stream, 1, key="k")
    client.append_batch(stream, [2, 3])
    client.join_group(stream, "g", "me")
    read = []
    until(lambda: bool(read.extend(client.read_stream(stream, "g", "me")) or len(read) >= 3), "what was appended")
    assert client.commit_messages(stream, "g", "me", read)
    client.configure_group(stream, "fed", {"filter": "payload.n:1", "queue_window": 5, "paused": True})
    client.seek(stream, "g", "beginning", dry_run=True)
    client.seek(stream, "g", "beginning")
    client.leave_group(stream, "g", "me")
    session.execute("select * from signalbox.stream_bounds(%s)", [stream])
    session.execute("select position from signalbox.stream_message limit 1")
    assert client.drop_group(stream, "g")
    stages = [uuid.uuid4(), uuid.uuid4()]
    stage = "select signalbox.stage_messages(%s, 1, %s, %s, array['1', '2']::jsonb[])"
    session.execute(stage, [stages[0], f"{name}-fed", None])
    session.execute(stage, [stages[1], None, stream])
    session.execute("select signalbox.send_staged(%s, null, %s, 2, 'w', 1)", [f"{name}-fed", stages[:1]])
    session.execute("select signalbox.drop_staged(%s)", [stages])


def test_an_archiver_reads_what_a_run_extracts_and_nothing_else(log_in: LogIn) -> None:
    session = log_in("archiver")

    for table in grants.ARCHIVE:
        column = "tenant_id" if table == "tenant" else "*"
        session.execute(f"select {column} from signalbox.{table} limit 1".encode())
    for statement in (
        "select max_queues from signalbox.tenant",
        "insert into signalbox.settled default values",
        "delete from signalbox.dead_letter",
        "select signalbox._record_audit(null, 'a', null, '', '', '{}')",
        "select signalbox._make_segment(1)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(statement.encode())


def test_a_segment_is_made_for_a_sender_without_upkeep_and_no_further_ahead(connect: Connect, log_in: LogIn) -> None:
    owner, session = connect(), log_in("application")
    row = owner.execute("select max(substring(relname from '^message_(\\d+)$')::bigint) from pg_class").fetchone()
    assert row is not None

    with pytest.raises(psycopg.Error, match="no message has reached"):
        session.execute("select signalbox._ensure_segment(%s)", [(row[0] + 50) * 1_000_000 + 1])
    with owner.transaction(force_rollback=True):
        # As its owner's session sees it, nothing of this is kept: the role calls with the rights that it was granted.
        owner.execute(f"set local role {session.info.user}".encode())
        assert owner.execute("select signalbox._ensure_segment(%s)", [(row[0] + 1) * 1_000_000 + 1]).fetchone() == (
            True,
        )


def test_rights_that_were_too_many_are_taken_away(connect: Connect, log_in: LogIn) -> None:
    owner, session = connect(), log_in("application")
    role = session.info.user
    owner.execute(f"grant all on all tables in schema signalbox to {role}".encode())
    owner.execute(f"grant all on all sequences in schema signalbox to {role}".encode())
    owner.execute(f"alter default privileges in schema signalbox grant select on tables to {role}".encode())
    session.execute("select count(*) from signalbox.auth_user")

    grants.write(owner, {role: ["application"]})
    with owner.transaction(force_rollback=True):
        owner.execute("create table signalbox.of_a_later_release (a int)")
        found = owner.execute(
            "select has_table_privilege(%s, 'signalbox.of_a_later_release', 'select')", [role]
        ).fetchone()

    assert found == (False,)
    for statement in ("select from signalbox.auth_user", "select nextval('signalbox.auth_user_id_seq')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(statement.encode())


def test_functions_of_another_kind_are_taken_away(connect: Connect, log_in: LogIn) -> None:
    owner, session = connect(), log_in("application")

    grants.write(owner, {session.info.user: ["archiver"]})

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("select signalbox._record_audit(null, 'a', null, '', '', '{}')")


def test_what_runs_with_the_owners_rights_is_not_for_everybody(connect: Connect) -> None:
    open_to_all = """
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace = 'signalbox'::regnamespace and p.prosecdef
        and exists (
          select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0
        )
    """
    assert connect().execute(open_to_all).fetchall() == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "function",
    ["_set_admission_flags", "_set_stream_flags", "_create_admission_counters", "_apply_tenant_quotas", "_seal_audit"],
)
def test_no_role_puts_a_trigger_of_the_owners_on_a_table_of_its_own(kind: str, function: str, log_in: LogIn) -> None:
    session = log_in(kind)
    session.execute("create temporary table mine (queue_id int, tenant_id int, audit_event_id int)")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(
            f"create trigger mine after insert on mine for each row execute function signalbox.{function}()".encode()
        )


def test_a_role_of_two_kinds_has_the_rights_of_both(connect: Connect, log_in: LogIn) -> None:
    session = log_in("archiver")

    grants.write(connect(), {session.info.user: ["archiver", "broker"]})

    session.execute("select from signalbox.rewritten")
    session.execute("select from signalbox.mailbox")


def test_a_role_that_no_grant_holds_back_is_refused(connect: Connect) -> None:
    owner = connect()
    with pytest.raises(InvalidArgument, match="superuser, or a member"):
        grants.statements(owner, {owner.info.user: ["application"]})
    with pytest.raises(InvalidArgument, match="does not exist"):
        grants.statements(owner, {"nobody_of_this_name": ["application"]})


@pytest.mark.parametrize("other", ["pg_read_all_data", "pg_write_server_files"])
def test_a_member_of_a_role_that_reads_everything_is_refused(connect: Connect, log_in: LogIn, other: str) -> None:
    role = log_in("archiver").info.user
    owner = connect()
    with owner.transaction(force_rollback=True):
        owner.execute(f"grant {other} to {role}".encode())
        with pytest.raises(InvalidArgument, match=f"is a member of {other}"):
            grants.statements(owner, {role: ["archiver"]})
