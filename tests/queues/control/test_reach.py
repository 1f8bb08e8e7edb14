"""Reach: what Python, Django's words and SQL say of a queue is the same."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from queues.models import Queue
from queues.reach import EVERYTHING, NOTHING, SYSTEM_TENANT, Bounds, QueueIdentity, Reach

RUN = uuid.uuid4().hex[:6]
TENANTS = [f"t{RUN}", f"t{RUN}_", f"T{RUN}", SYSTEM_TENANT]
NAMES = [f"q{RUN}.a", f"q{RUN}_a", f"q{RUN}-a", f"Q{RUN}_a", f"q{RUN}_ab", f"q{RUN}"]

BOUNDS = st.builds(
    Bounds,
    st.sampled_from([None, *TENANTS]),
    st.sampled_from(["", f"q{RUN}", f"q{RUN}_", f"q{RUN}_a", f"Q{RUN}", "%", "_", "\\"]),
)


@pytest.fixture(scope="module")
def queues(dsn: str) -> None:
    """Names that a pattern would take for one another, in tenants that differ by little."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number, name in enumerate(NAMES):
            connection.execute("select signalbox.create_queue(%s, %s, %s)", [name, Jsonb({}), TENANTS[number % 4]])


def test_the_three_ways_to_say_it_agree(queues: None, commits: None) -> None:
    rows = Queue.objects.select_related("tenant").filter(name__in=NAMES)

    @given(st.lists(BOUNDS, max_size=4))
    def agree(bounds: list[Bounds]) -> None:
        reach = Reach.of(bounds)
        condition, params = reach.condition("queue.name", "tenant.name")
        held = {one.name for one in rows if reach.holds(one.name, one.tenant.name)}
        raw = Queue.objects.raw(
            "select queue.queue_id, queue.name from signalbox.queue join signalbox.tenant using (tenant_id)"
            f" where queue.name = any(%s) and {condition}",
            [NAMES, *params],
        )

        assert {one.name for one in rows.filter(reach.among())} == held
        assert {one.name for one in raw} == held
        within = {one.name for one in rows if any(each.holds(one.name, one.tenant.name) for each in bounds)}
        assert held == within - {one.name for one in rows if one.tenant.name == SYSTEM_TENANT}

    agree()


@given(st.lists(BOUNDS, max_size=3), st.lists(BOUNDS, max_size=3))
def test_what_covers_another_holds_all_that_it_holds(one: list[Bounds], other: list[Bounds]) -> None:
    wide, narrow = Reach.of(one), Reach.of(other)

    if wide.covers(narrow):
        for name in NAMES:
            for tenant in TENANTS:
                assert wide.holds(name, tenant) or not narrow.holds(name, tenant)


def test_everything_is_everything_and_nothing_nothing() -> None:
    assert EVERYTHING.is_everything
    assert EVERYTHING.holds("any", "of-any")
    assert not NOTHING.holds("any", "of-any")
    assert not NOTHING
    assert EVERYTHING.holds("any", SYSTEM_TENANT)
    assert Reach.of([Bounds(), Bounds("acme")]).has_all_tenants
    assert not Reach.of([Bounds(), Bounds("acme")]).is_everything
    assert not Reach((Bounds(SYSTEM_TENANT),)).holds("any", SYSTEM_TENANT)
    assert not Reach((Bounds(SYSTEM_TENANT),)).holds_tenant(SYSTEM_TENANT)
    assert not Reach((Bounds(),)).covers(EVERYTHING)
    assert NOTHING.condition()[0] == "(false)"


def test_dead_letters_kept_for_others_are_not_reached_in_part() -> None:
    reach = Reach((Bounds("acme", "in-"),))

    assert QueueIdentity("in-a-dlq", "acme", ("in-a",)).is_within(reach)
    assert QueueIdentity("graves", "acme", ("in-a", "in-b")).is_within(reach)
    assert not QueueIdentity("graves", "acme", ("in-a", "out-b")).is_within(reach)
    assert not QueueIdentity("in-graves", "acme", ("out-b",)).is_within(reach)
    assert not QueueIdentity("graves", "acme").is_within(reach)


def test_it_says_what_it_is() -> None:
    assert str(Reach.of([Bounds("acme"), Bounds("acme", "in-"), Bounds(None, "x-")])) == "all queues of acme, x-*"
