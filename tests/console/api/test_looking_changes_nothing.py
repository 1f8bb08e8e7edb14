"""Every GET of the API leaves the database as it was: it is answered by a console that may not write at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from tests.console.api.callers import Caller
from tests.console.api.routes import ROWS, address, routes
from tests.console.api.worlds import World
from tests.console.servers import Server, console_server, environment_of

LOOKING = sorted(route for route in routes() if route[0] == "GET")
READ_ONLY = f"options={quote('-c default_transaction_read_only=on')}"


@pytest.fixture(scope="module")
def looking_server(dsn: str) -> Iterator[Server]:
    """The last use of a key is not written there either: it is recorded after the answer, if possible."""
    with console_server(dsn, DATABASE_URL=f"{environment_of(dsn)['DATABASE_URL']}&{READ_ONLY}") as server:
        yield server


def test_every_get_is_answered_without_writing(
    looking_server: Server, make_caller: Callable[..., Caller], world: World
) -> None:
    looking = Caller(looking_server.url, make_caller().key)

    answers = {route: looking.get(address(route, ROWS[route], world)) for route in LOOKING}

    assert {route: answer.status for route, answer in answers.items()} == {
        route: ROWS[route].right for route in LOOKING
    }


def test_what_writes_is_refused_there(looking_server: Server, make_caller: Callable[..., Caller], world: World) -> None:
    looking = Caller(looking_server.url, make_caller().key)

    answer = looking.post(f"/v1/queues/{world.queue}/messages", {"body": {"n": 1}})

    assert answer.status >= 500
    assert world.engine.counted() == (0, 0, 0, 0, 0)
