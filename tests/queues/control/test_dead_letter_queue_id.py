"""Dead-letter queues are stored by id: names of queues are unique over all tenants, and change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

Made = Callable[..., Engine]
Connect = Callable[..., psycopg.Connection[Any]]


def create(engine: Engine, name: str, tenant: str | None = None, **settings: Any) -> int:
    return int(engine.value("select signalbox.create_queue(%s, %s, %s)", name, Jsonb(settings), tenant))


def configure(engine: Engine, **settings: Any) -> None:
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb(settings))


def force_name(engine: Engine, name: str, tenant: str) -> None:
    """A queue as a database of an earlier release may have it: such names were not reserved."""
    engine.connection.execute("insert into signalbox.tenant (name) values (%s) on conflict do nothing", [tenant])
    engine.connection.execute(
        "insert into signalbox.queue (name, tenant_id) select %s, tenant_id from signalbox.tenant where name = %s",
        [name, tenant],
    )


def holder_of(engine: Engine, dead_letter_id: int) -> tuple[str, str]:
    """Name and tenant of the queue that keeps the dead letter."""
    ((name, tenant),) = engine.rows(
        "select q.name, t.name from signalbox.dead_letter d join signalbox.queue q using (queue_id)"
        " join signalbox.tenant t using (tenant_id) where d.dead_letter_id = %s",
        dead_letter_id,
    )
    return name, tenant


def reserved_id(engine: Engine) -> int:
    return int(engine.value("select dead_letter_queue_id from signalbox.queue where queue_id = %s", engine.queue_id))


def sources(engine: Engine, queue_id: int) -> set[int]:
    return {row[0] for row in engine.rows("select signalbox.source_queues(%s)", queue_id)}


def refused(engine: Engine, statement: str, *parameters: Any) -> tuple[str | None, str | None]:
    with pytest.raises(psycopg.Error) as caught:
        engine.value(statement, *parameters)
    return caught.value.sqlstate, caught.value.diag.column_name


def test_taken_names_never_stop_dead_lettering(engine: Engine) -> None:
    """Neither the default name, nor the reserved ones that a database of an earlier release may have."""
    force_name(engine, f"{engine.queue}-dlq", "stranger")
    force_name(engine, f"{engine.queue}-dlq-{reserved_id(engine)}", "stranger")
    letter = engine.die("x")

    name, tenant = holder_of(engine, letter)
    assert name.startswith(f"{engine.queue}-dlq-")
    assert tenant == "default"
    assert engine.value("select signalbox.dead_letter_queue_name(%s)", engine.queue_id) == name
    assert engine.die("y")
    assert sources(engine, reserved_id(engine)) == {engine.queue_id}


@pytest.mark.parametrize("length", [1, 90])
def test_a_name_that_is_taken_leaves_one_of_the_reserved_form(make_engine: Made, length: int) -> None:
    engine = make_engine()
    name = (engine.queue + "n" * 90)[:length] if length > 1 else engine.queue
    engine = Engine(engine.connection, name, create(engine, name))
    force_name(engine, f"{name}-dlq", "stranger")
    assert holder_of(engine, engine.die("x")) == (f"{name[:84]}-dlq-{reserved_id(engine)}", "default")


def test_reserved_names_are_refused_to_everybody(engine: Engine) -> None:
    for name in (f"{engine.queue}-dlq-7", f"{engine.queue}-dlq-{reserved_id(engine)}"):
        assert refused(engine, "select signalbox.create_queue(%s)", name) == ("SB400", "name")
        assert refused(engine, "select signalbox.declare_queue(%s)", name) == ("SB400", "name")
        assert refused(engine, "select signalbox.rename_queue(%s, %s)", engine.queue, name) == ("SB400", "new_name")
        settings = Jsonb({"dead_letter_queue": name})
        answer = refused(engine, "select signalbox.configure_queue(%s, %s)", engine.queue, settings)
        assert answer == ("SB400", "dead_letter_queue")


def test_the_name_of_a_dead_letter_queue_is_refused_to_other_tenants(engine: Engine) -> None:
    name = f"{engine.queue}-dlq"
    create(engine, f"{engine.queue}-others", "stranger")

    for tenant in ("stranger", f"{engine.queue} unheard of"):
        assert refused(engine, "select signalbox.create_queue(%s, '{}', %s)", name, tenant) == ("SB400", "name")
    assert refused(engine, "select signalbox.rename_queue(%s, %s)", f"{engine.queue}-others", name) == (
        "SB400",
        "new_name",
    )
    tenants = "select count(*) from signalbox.tenant where name = %s"
    assert engine.value(tenants, f"{engine.queue} unheard of") == 0


def test_its_own_tenant_may_make_the_dead_letter_queue_beforehand(engine: Engine) -> None:
    assert create(engine, f"{engine.queue}-dlq") == reserved_id(engine)
    assert holder_of(engine, engine.die("x")) == (f"{engine.queue}-dlq", "default")


def test_the_old_name_of_a_queue_is_not_given_to_a_dead_letter_queue(engine: Engine) -> None:
    """A sender that still uses the old name would send into the dead-letter queue."""
    name = f"{engine.queue}-dlq"
    other = create(engine, f"{engine.queue}-other")
    engine.connection.execute("update signalbox.queue set name = %s where queue_id = %s", [f"{name}-x", other])
    engine.value("select signalbox._keep_alias(%s, %s, 3600)", name, other)

    assert holder_of(engine, engine.die("x"))[0] == f"{name}-{reserved_id(engine)}"
    engine.value("select signalbox.send(%s, '1')", name)
    assert [row[3] for row in Engine(engine.connection, f"{name}-x", other).receive(10)] == [1]


@pytest.mark.parametrize(
    "settings", [{"mode": "fifo"}, {"group_max_in_flight": 2}, {"fair_groups": True}], ids=["fifo", "grouped", "shared"]
)
def test_a_queue_with_groups_is_no_dead_letter_queue(make_engine: Made, settings: dict[str, Any]) -> None:
    engine, grouped = make_engine(), make_engine(**settings)
    answer = refused(
        engine, "select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"dead_letter_queue": grouped.queue})
    )
    assert answer == ("SB400", "dead_letter_queue")

    column = next(iter(settings))
    statement = "select signalbox.create_queue(%s, %s)"
    assert refused(engine, statement, f"{engine.queue}-dlq", Jsonb(settings)) == ("SB400", column)
    create(engine, f"{engine.queue}-dlq")
    configure_statement = "select signalbox.configure_queue(%s, %s)"
    assert refused(engine, configure_statement, f"{engine.queue}-dlq", Jsonb(settings)) == ("SB400", column)


def test_a_queue_with_groups_that_has_the_name_is_skipped(make_engine: Made) -> None:
    first = make_engine()
    name = f"{first.queue}-source"
    create(first, f"{name}-dlq", mode="fifo")
    engine = Engine(first.connection, name, create(first, name))
    assert holder_of(engine, engine.die("x"))[0] == f"{name}-dlq-{reserved_id(engine)}"


def test_sources_are_those_of_now_and_of_before(make_engine: Made) -> None:
    engine, other = make_engine(), make_engine()
    engine.die("x")
    default = reserved_id(engine)
    configure(engine, dead_letter_queue=f"{engine.queue}-graves")
    named = reserved_id(engine)
    configure(other, dead_letter_queue=f"{engine.queue}-graves")

    assert named != default
    assert sources(engine, named) == {engine.queue_id, other.queue_id}
    assert sources(engine, default) == {engine.queue_id}
    configure(engine, dead_letter_queue=None)
    assert reserved_id(engine) == default
    assert sources(engine, named) == {engine.queue_id, other.queue_id}
    assert sources(engine, engine.queue_id) == set()


def test_a_renamed_queue_keeps_its_dead_letter_queue_even_before_it_is_made(engine: Engine) -> None:
    reserved = reserved_id(engine)
    engine.value("select signalbox.rename_queue(%s, %s)", engine.queue, f"{engine.queue}-new")
    renamed = Engine(engine.connection, f"{engine.queue}-new", engine.queue_id)

    assert reserved_id(renamed) == reserved
    assert holder_of(renamed, renamed.die("x"))[0] == f"{engine.queue}-new-dlq"


def _holder(engine: Engine) -> int | None:
    found: int | None = engine.value(
        "select dead_letter_queue_id from signalbox.queue where queue_id = %s", engine.queue_id
    )
    return found
