"""Captures of tables over HTTP: which key may capture what, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queues.models import AuditEvent
from tests.console.api.callers import Caller
from tests.console.api.worlds import CAPTURABLE, TENANT, World


def test_a_listed_table_is_captured_listed_and_released(world: World, caller: Caller) -> None:
    world.connection.execute(f"create table if not exists {CAPTURABLE} (id bigint primary key, status text)")
    stream = world.stream
    here = f"/v1/streams/{stream}/captures"
    wanted = {"table": CAPTURABLE, "columns": ["status"], "filter": "payload.after.status:paid", "backfill": False}
    made = caller.post(here, wanted, idempotency_key=f"capture-{stream}")
    assert made.status == 201
    assert caller.post(here, wanted, idempotency_key=f"capture-{stream}").document == made.document
    assert caller.post(here, wanted).fields == ["stream"]
    assert (made.document["columns"], made.document["key"]) == (["status"], ["id"])
    world.connection.execute(f"insert into {CAPTURABLE} values (7, 'paid'), (8, 'new')")

    world.connection.execute("select signalbox.create_group(%s, 'all', 'beginning')", [stream])
    read = caller.post(f"/v1/streams/{stream}/groups/all:read", {"member": "m"}).document["messages"]
    assert [(one["key"], one["body"]["after"]) for one in read] == [("7", {"status": "paid"})]
    assert caller.get(f"/v1/captures?stream={stream}").document["captures"] == [made.document]

    assert caller.delete(f"{here}/{CAPTURABLE}").document == {"changed": True}
    assert caller.delete(f"{here}/{CAPTURABLE}").document == {"changed": False}
    world.connection.execute(f"truncate {CAPTURABLE}")
    event = AuditEvent.objects.get(action="capture.start", details__stream=stream)
    assert event.actor.startswith("key:")


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"table": "signalbox.queue"}, ["table"]),
        ({"table": "public.there_is_none"}, ["table"]),
        ({"table": CAPTURABLE.upper()}, ["table"]),
        ({"columns": ["no_such"]}, ["columns"]),
        ({"columns": []}, ["columns"]),
        ({"key": ["status"]}, ["key"]),
        ({"filter": "status:paid"}, ["filter"]),
        ({"filter": "paid new"}, ["filter"]),
        ({"more": 1}, ["more"]),
    ],
)
def test_what_cannot_be_captured_is_refused_by_name(
    world: World, caller: Caller, changed: dict[str, object], fields: list[str]
) -> None:
    table, stream = world.capturable_table, world.stream
    answer = caller.post(f"/v1/streams/{stream}/captures", {"table": table, **changed})
    assert (answer.status, answer.fields) == (422, fields)


def test_a_table_of_one_tenant_goes_to_no_stream_of_another(
    make_caller: Callable[..., Caller], world: World, caller: Caller
) -> None:
    table, name = world.capturable_table, f"{world.queue}-theirs"
    assert caller.post("/v1/streams", {"name": name, "partitions": 1}).status == 201
    refused = caller.post(f"/v1/streams/{name}/captures", {"table": table})
    assert (refused.status, refused.fields) == (422, ["table"])
    theirs = make_caller(tenant=TENANT)
    assert theirs.post(f"/v1/streams/{name}/captures", {"table": table}).kind == "stream-not-found"
