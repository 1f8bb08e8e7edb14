"""No key reaches Signalbox's own queues, whatever its scopes: for a key there are none."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from console.access.api_keys.models import ApiKey
from queues.models import Queue
from queues.reach import SYSTEM_QUEUES, SYSTEM_TENANT
from tests.console.api.callers import Caller
from tests.engine import Engine

BODY = {"body": ["--settings=pwn"]}


@pytest.fixture
def broker(engine: Engine) -> str:
    """A queue as the workers have it, with a message and a dead letter."""
    name = f"{engine.queue}-own"
    queue_id = engine.value("select signalbox.create_queue(%s, '{}', %s)", name, SYSTEM_TENANT)
    own = Engine(engine.connection, name, queue_id)
    own.die({"task": "dlq.sweep"})
    own.send({"task": "dlq.sweep"})
    return name


@pytest.mark.parametrize("bounds", ["none", "its prefix", "its tenant"])
def test_no_key_reaches_it(make_caller: Callable[..., Caller], engine: Engine, broker: str, bounds: str) -> None:
    caller = make_caller("*", prefix=broker if bounds == "its prefix" else "")
    if bounds == "its tenant":  # a key of before such tenants were refused
        key = ApiKey.objects.filter(identifier=caller.key.removeprefix("sbx_").split(".")[0])
        key.update(tenant_name=SYSTEM_TENANT)
    for queue in (broker, f"{broker}-dlq"):
        at = f"/v1/queues/{queue}"
        answers = [
            caller.get(at),
            caller.get(f"{at}/messages"),
            caller.post(f"{at}/messages", BODY),
            caller.post(f"{at}/messages:batch", {"messages": [BODY]}),
            caller.post(f"{at}/messages:receive", {}),
            caller.post(f"{at}:redrive", {"filter": "id:>0"}),
            caller.patch(at, {"paused": True}),
            caller.delete(at),
        ]
        assert {answer.status for answer in answers} == {404}, [(one.status, one.content) for one in answers]
    listed = caller.get(f"/v1/queues?prefix={broker}")
    assert broker.encode() not in listed.content


def test_no_key_makes_a_queue_there_or_sends_dead_letters_there(
    make_caller: Callable[..., Caller], engine: Engine, broker: str
) -> None:
    caller = make_caller("*")
    assert caller.post("/v1/queues", {"name": f"{broker}2", "tenant": SYSTEM_TENANT}).status in (400, 422)
    assert caller.post("/v1/queues", {"name": "signalbox"}).status in (400, 409, 422)
    engine.die({"n": 1})
    answer = caller.post(f"/v1/queues/{engine.queue}-dlq:redrive", {"filter": "id:>0", "targetQueue": broker})
    assert answer.status == 404


def test_no_way_makes_a_queue_of_the_workers_name(make_caller: Callable[..., Caller], engine: Engine) -> None:
    caller, mine = make_caller("*"), f"{engine.queue}-mine"
    assert caller.post("/v1/queues", {"name": mine}).status == 201
    for name in sorted(SYSTEM_QUEUES):
        Queue.objects.filter(name=name).delete()  # as before a worker has started for the first time
        made = caller.post("/v1/queues", {"name": f"{mine}-2", "deadLetterQueue": name})
        assert (made.status, b"deadLetterQueue" in made.content) == (422, True), made.content
        changed = caller.patch(f"/v1/queues/{mine}", {"deadLetterQueue": name})
        assert (changed.status, b"deadLetterQueue" in changed.content) == (422, True), changed.content
        for call in ("rename_queue(%s, %s)", "configure_queue(%s, jsonb_build_object('dead_letter_queue', %s::text))"):
            with pytest.raises(psycopg.Error, match="reserved"):
                engine.value(f"select signalbox.{call}", mine, name)
        with pytest.raises(psycopg.Error, match="reserved"):
            engine.value("select signalbox.create_queue(%s)", name)
        assert not Queue.objects.filter(name=name).exists()


def test_the_first_worker_makes_its_queue_and_tenant(engine: Engine) -> None:
    with engine.connection.transaction(force_rollback=True):
        engine.value("update signalbox.tenant set name = name || '-before' where name = %s returning 1", SYSTEM_TENANT)
        engine.value("update signalbox.queue set name = name || '-before' where name = 'signalbox' returning 1")
        made = engine.value("select signalbox.declare_queue('signalbox', '{}', %s)", SYSTEM_TENANT)
        assert isinstance(made, int)
