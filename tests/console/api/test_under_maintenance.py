"""Permissions of keys during maintenance."""

from __future__ import annotations

from queues.control import maintenance
from tests.console.api.callers import Caller
from tests.engine import Engine
from tests.maintained import Begin, begin

__all__ = ["begin"]


def test_changes_are_refused_and_messages_go_on(caller: Caller, engine: Engine, begin: Begin) -> None:
    path = f"/v1/queues/{engine.queue}"
    begin()

    for refused in (
        caller.post("/v1/queues", {"name": f"{engine.queue}-new"}),
        caller.patch(path, {"maxReceiveCount": 3}),
        caller.delete(path),
        caller.post(f"{path}:purge-plan", {}),
    ):
        assert (refused.status, refused.kind) == (503, "maintenance")
        assert "Maintenance by ada, until" in refused.document["detail"]
        assert refused.headers["retry-after"] == "60"
    assert caller.get(path).document["state"] == "paused"
    assert caller.post(f"{path}/messages", {"body": 1}).status == 202
    assert caller.post(f"{path}/messages:receive", {}).document["messages"] == []
    maintenance.end(actor="ada")

    assert len(caller.post(f"{path}/messages:receive", {}).document["messages"]) == 1
    assert caller.patch(path, {"maxReceiveCount": 3}).status == 200


def test_sends_that_are_refused_say_until_when(caller: Caller, engine: Engine, begin: Begin) -> None:
    row = begin(refuses_sends=True)

    refused = caller.post(f"/v1/queues/{engine.queue}/messages", {"body": 1})
    assert (refused.status, refused.kind) == (503, "maintenance")
    assert "maintenance by ada refuses sends: New disks." in refused.document["detail"]
    assert row.until is not None
    assert refused.document["until"].startswith(f"{row.until:%Y-%m-%dT%H:%M}")
    assert 0 < int(refused.headers["retry-after"]) <= 3600
