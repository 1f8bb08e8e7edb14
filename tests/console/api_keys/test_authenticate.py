"""A key is good or the reason is given; a revocation is known within the documented time; a use is noted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from console.access.api_keys import Unauthorized, authentication
from console.access.api_keys import keys as keeping
from console.access.api_keys.authentication import Doorkeeper
from console.access.api_keys.models import ApiKey
from tests.console.api_keys.keys import admitted_by, bearer, new_key

pytestmark = pytest.mark.usefixtures("commits")


class Clock:
    """Clock that advances on command."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Database:
    """Connections to the test's database, counted; `gate` holds them back."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.asked = 0
        self.gate: asyncio.Event | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as connection:
            yield connection


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(dsn: str) -> Database:
    return Database(dsn)


@pytest.fixture
def doorkeeper(database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Doorkeeper:
    """Cache that records no use, so that it asks the database about keys only."""
    monkeypatch.setattr(Doorkeeper, "_note_use", lambda *_: None)
    return Doorkeeper(database.connection, clock)


def test_a_good_key_is_known_with_all_that_it_may(doorkeeper: Doorkeeper) -> None:
    made = new_key("receive send", tenant="acme", prefix="orders-", rate=2.5, connections=7)

    key = admitted_by(doorkeeper, bearer(made))

    assert (key.key_id, key.name) == (made.row.pk, made.row.name)
    assert (key.tenant, key.prefix, key.rate, key.connections) == ("acme", "orders-", 2.5, 7)
    assert key.scopes == {"send", "receive"}
    assert key.may("send")
    assert not key.may("purge")
    assert key.actor == f"key:{made.row.name}"


def test_a_key_of_all_scopes_may_everything(doorkeeper: Doorkeeper) -> None:
    key = admitted_by(doorkeeper, bearer(new_key("all")))

    assert all(key.may(scope) for scope in ("send", "receive", "read", "peek", "redrive", "purge", "configure"))


@pytest.mark.parametrize(
    ("tenant", "prefix", "queue", "of", "reaches"),
    [
        (None, "", "orders", "acme", True),
        ("acme", "", "orders", "acme", True),
        ("acme", "", "orders", "globex", False),
        (None, "ord", "orders", "acme", True),
        (None, "ord", "mails", "acme", False),
        ("acme", "ord", "orders", "globex", False),
    ],
)
def test_what_a_key_reaches(
    doorkeeper: Doorkeeper, tenant: str | None, prefix: str, queue: str, of: str, reaches: bool
) -> None:
    key = admitted_by(doorkeeper, bearer(new_key(tenant=tenant, prefix=prefix)))

    assert key.reaches(queue, of) is reaches


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        (None, "There is no API key"),
        ("", "There is no API key"),
        ("Basic dXNlcjpwYXNz", "must be Bearer"),
        ("Bearer", "This is no API key"),
        ("Bearer nonsense", "This is no API key"),
        ("Bearer sbx_abcdefghijkl.", "This is no API key"),
        (f"Bearer sbx_abcdefghijkl.{'é' * 43}", "This is no API key"),
        (f"Bearer sbx_abcdefghijkl.{'A' * 43}\n", "is not known"),
        (f"Bearer sbx_abcdefghijkl.{'A' * 43}", "is not known"),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason(
    doorkeeper: Doorkeeper, authorization: str | None, reason: str
) -> None:
    with pytest.raises(Unauthorized, match=reason):
        admitted_by(doorkeeper, authorization)


def test_a_wrong_secret_is_refused_like_an_unknown_key_and_not_remembered(
    doorkeeper: Doorkeeper, database: Database
) -> None:
    made = new_key()
    wrong = bearer(made)[:-1] + ("A" if made.text[-1] != "A" else "B")

    for _ in range(2):
        with pytest.raises(Unauthorized, match="is not known"):
            admitted_by(doorkeeper, wrong)

    assert database.asked == 2
    assert admitted_by(doorkeeper, bearer(made)).name == made.row.name


def test_a_revoked_key_is_refused_once_the_answer_is_stale(doorkeeper: Doorkeeper, clock: Clock) -> None:
    made = new_key()
    admitted_by(doorkeeper, bearer(made))
    keeping.revoke(made.row.pk, actor="ana")

    clock.now += authentication.FRESH_SECONDS - 0.01
    assert admitted_by(doorkeeper, bearer(made))
    clock.now += 0.01
    with pytest.raises(Unauthorized, match="is revoked"):
        admitted_by(doorkeeper, bearer(made))


def test_the_process_that_revokes_a_key_forgets_it_at_once(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Doorkeeper(Database(dsn).connection, Clock())
    monkeypatch.setattr(keeping, "doorkeeper", ours)
    monkeypatch.setattr(Doorkeeper, "_note_use", lambda *_: None)
    made = new_key()
    admitted_by(ours, bearer(made))

    keeping.revoke(made.row.pk, actor="ana")

    with pytest.raises(Unauthorized, match="is revoked"):
        admitted_by(ours, bearer(made))


def test_an_expired_key_is_refused(doorkeeper: Doorkeeper, clock: Clock, database: Database) -> None:
    made = new_key(expires_in=timedelta(hours=1))
    admitted_by(doorkeeper, bearer(made))
    clock.now += authentication.FRESH_SECONDS - 1
    assert admitted_by(doorkeeper, bearer(made))
    assert database.asked == 1
    ApiKey.objects.filter(pk=made.row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    clock.now += authentication.FRESH_SECONDS
    with pytest.raises(Unauthorized, match="has expired"):
        admitted_by(doorkeeper, bearer(made))


def test_a_remembered_key_expires_without_asking(doorkeeper: Doorkeeper, clock: Clock, database: Database) -> None:
    made = new_key(expires_in=timedelta(hours=1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(authentication, "FRESH_SECONDS", 100_000.0)
        admitted_by(doorkeeper, bearer(made))

    clock.now += 3_601
    with pytest.raises(Unauthorized, match="has expired"):
        admitted_by(doorkeeper, bearer(made))
    assert database.asked == 1


def test_of_many_requests_with_one_key_one_asks(doorkeeper: Doorkeeper, database: Database) -> None:
    made = new_key()

    async def scenario() -> list[str]:
        database.gate = asyncio.Event()
        asking = [asyncio.create_task(doorkeeper.authenticate(bearer(made))) for _ in range(50)]
        await asyncio.sleep(0)  # every task runs up to where it waits
        asking[0].cancel()  # the first request gives up
        database.gate.set()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        return [key.name for key in answers[1:]]  # type: ignore[union-attr]

    assert asyncio.run(scenario()) == [made.row.name] * 49
    assert database.asked == 1


def test_what_was_asked_before_a_revocation_is_not_remembered_after_it(
    doorkeeper: Doorkeeper, database: Database
) -> None:
    made = new_key()

    async def scenario() -> None:
        database.gate = asyncio.Event()
        asking = asyncio.create_task(doorkeeper.authenticate(bearer(made)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert database.asked == 1
        doorkeeper.forget()
        database.gate.set()
        await asking
        await doorkeeper.authenticate(bearer(made))

    asyncio.run(scenario())
    assert database.asked == 2


def test_memory_is_bounded(doorkeeper: Doorkeeper, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MAX_REMEMBERED", 2)
    keys = [new_key() for _ in range(3)]

    for key in keys:
        admitted_by(doorkeeper, bearer(key))

    assert len(doorkeeper._answers) == 2
    admitted_by(doorkeeper, bearer(keys[2]))
    assert database.asked == 3
    admitted_by(doorkeeper, bearer(keys[0]))
    assert database.asked == 4


def test_a_use_is_noted_once_a_minute_behind_the_request(database: Database, clock: Clock) -> None:
    made = new_key()
    doorkeeper = Doorkeeper(database.connection, clock)

    async def use(times: int) -> None:
        for _ in range(times):
            await doorkeeper.authenticate(bearer(made))
        await asyncio.gather(*doorkeeper._noting)

    asyncio.run(use(5))
    noted = last_used(made.row.pk)
    assert noted is not None
    assert database.asked == 2  # who it is, and that it was used

    ApiKey.objects.filter(pk=made.row.pk).update(last_used_at=noted - timedelta(minutes=2))
    asyncio.run(use(1))
    assert last_used(made.row.pk) == noted - timedelta(minutes=2)
    clock.now += authentication.NOTE_USE_SECONDS
    asyncio.run(use(1))
    assert last_used(made.row.pk) >= noted


def test_a_key_works_when_its_use_cannot_be_recorded(
    dsn: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = new_key()
    doorkeeper = Doorkeeper(Database(dsn).connection, clock)
    monkeypatch.setattr(authentication, "NOTE_USE", "select no_such_column, %s, %s")

    async def use() -> None:
        await doorkeeper.authenticate(bearer(made))
        await asyncio.gather(*doorkeeper._noting)

    asyncio.run(use())

    assert "the use of an API key could not be noted" in caplog.text
    assert made.text not in caplog.text
    assert last_used(made.row.pk) is None


def last_used(key_id: int) -> Any:
    return ApiKey.objects.get(pk=key_id).last_used_at
