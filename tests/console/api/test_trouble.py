"""Answers of the API to errors on its own side."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout

from console.api import asgi
from console.api.core import database
from console.api.core.problems import problem_of
from console.api.messages import deliveries
from signalbox.http.connections import TIMEOUT_SECONDS
from tests.console.api.callers import Caller
from tests.engine import Engine
from tests.races.sessions import until


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("host 10.0.0.7 is down"),
        PoolTimeout("10.0.0.7"),
        OperationalError("host 10.0.0.7 is down"),
        InterfaceError("10.0.0.7: connection already closed"),
    ],
)
def test_without_a_database_it_says_when_to_come_back(error: Exception) -> None:
    response = problem_of(error).response()

    assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert b"10.0.0.7" not in response.content


def test_it_says_so_well_before_our_clients_give_up() -> None:
    assert database.BORROW_SECONDS <= TIMEOUT_SECONDS / 2


@pytest.mark.parametrize(
    ("sqlstate", "cause", "seconds"),
    [
        ("53100", "disk-full", "10"),
        ("25006", "read-only", "10"),
        ("53300", "too-many-connections", "2"),
        ("57014", "statement-timeout", "10"),
        ("55P03", "lock-timeout", "2"),
        ("40P01", "conflict", "2"),
        ("42P01", "migrations-missing", "10"),
    ],
)
@pytest.mark.parametrize("through_django", [True, False])
def test_it_says_what_the_database_lacks(
    engine: Engine, sqlstate: str, cause: str, seconds: str, through_django: bool
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        engine.rows(f"do $$ begin raise exception 'of 10.0.0.7' using errcode = '{sqlstate}'; end $$")
    error: Exception = caught.value
    if through_django:
        error = OperationalError("of 10.0.0.7")
        error.__cause__ = caught.value

    response = problem_of(error).response()
    document = json.loads(response.content)

    assert (response.status_code, response["Retry-After"]) == (503, seconds)
    assert (document["cause"], document["nothingDone"]) == (cause, True)
    assert b"10.0.0.7" not in response.content


def test_an_unexpected_error_shows_no_details(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(asgi, "_respond", fail)
    events: list[dict[str, Any]] = []

    async def send(event: Any) -> None:
        events.append(event)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    asyncio.run(asgi.application({"method": "GET", "path": "/v1/queues", "headers": []}, receive, send))
    document = json.loads(events[1]["body"])
    assert (events[0]["status"], document["type"]) == (500, "/problems/internal-error")
    assert b"42" not in events[1]["body"]
    assert "the secret is 42" in caplog.text


def test_a_key_that_came_in_clear_is_refused_where_tls_is_asked_for(settings: Any) -> None:
    settings.HTTPS_ONLY = True
    events: list[dict[str, Any]] = []

    async def send(event: Any) -> None:
        events.append(event)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    asyncio.run(asgi.application({"method": "GET", "scheme": "http", "path": "/v1/queues"}, receive, send))
    assert (events[0]["status"], json.loads(events[1]["body"])["type"]) == (403, "/problems/https-required")


def test_what_cannot_be_handed_over_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutStoreOrDatabase:
        async def fetch(self, message: Any) -> Any:
            raise OSError("no store")

        async def nack(self, *_: Any, **__: Any) -> None:
            raise psycopg.OperationalError("away")

    returned: list[Any] = []
    messages: Any = [SimpleNamespace(id=1), SimpleNamespace(id=2)]
    monkeypatch.setattr(database, "client", WithoutStoreOrDatabase)
    monkeypatch.setattr(deliveries, "shared_hub", lambda: SimpleNamespace(give_back=returned.extend))

    with pytest.raises(psycopg.OperationalError):
        asyncio.run(deliveries.documents(messages))

    assert returned == messages


@pytest.mark.proof
def test_a_database_that_came_back_is_found_again(
    caller: Caller, engine: Engine, observer: psycopg.Connection[Any]
) -> None:
    path = f"/v1/queues/{engine.queue}/messages"
    assert caller.post(path, {"body": 1}).status == 202
    observer.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'signalbox api' and datname = current_database()"
    )
    seen: set[int] = set()

    def sent() -> bool:
        seen.add(caller.post(path, {"body": 2}).status)
        return 202 in seen

    until(sent, "a send that is accepted")
    assert seen <= {202, 503}


def test_a_server_that_begins_and_ends_tells_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    from console.asgi import application

    given = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    told: list[str] = []

    async def receive() -> dict[str, Any]:
        return next(given)

    async def send(event: Any) -> None:
        told.append(event["type"])

    asyncio.run(application({"type": "lifespan"}, receive, send))
    assert told == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
