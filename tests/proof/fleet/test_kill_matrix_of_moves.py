"""A move killed at every statement: its runner before and after it, the server of the old cell and of the new one.

The old cell is the directory's home too. Runners that are wrong on purpose do not pass the same check.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from queues import fleet
from queues.fleet import moving
from signalbox.fleet import client
from tests.chaos.server import ChaosServer
from tests.proof.fleet.scene import GROUPS, Death, Lookers, Scene, Watch, home_at

pytestmark = [pytest.mark.timeout(1200), pytest.mark.proof]

Make = Callable[[], Scene]


@pytest.fixture(scope="module")
def make(django_db_blocker: Any) -> Iterator[Make]:
    """Scenes on two servers of one fleet."""
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        a, b = (stack.enter_context(ChaosServer()) for _ in range(2))
        stack.enter_context(home_at(a))
        fleet.add_cell("a", a.url, actor="test")
        fleet.add_cell("b", b.url, actor="test")
        lookers = Lookers()
        stack.callback(lookers.close)
        yield lambda: Scene(a, b, lookers)


@pytest.fixture(autouse=True)
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Short bounds, since nothing else goes on in these servers."""
    monkeypatch.setattr(client, "MOVE_SECONDS", 0.2)
    monkeypatch.setattr(client, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(moving, "CLOSING_SECONDS", 0.2)
    watch = Watch()
    watch.install(monkeypatch.setattr)
    return watch


def statements(make: Make, watch: Watch) -> int:
    """Count the statements of a move that nothing disturbs, up to the point where it needs a consumer."""
    scene = make()
    with watch.runner():
        scene.run()
    assert scene.finish() == []
    return watch.count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_the_runner_dies_at_each_statement(make: Make, watch: Watch, after: bool) -> None:
    for number in range(1, statements(make, watch) + 1):
        scene = make()
        with suppress(Death), watch.runner(number, _die, after):
            scene.run()
        assert scene.finish() == [], number


def _die() -> None:
    raise Death


@pytest.mark.parametrize("cell", ["a", "b"])
def test_a_server_is_killed_at_each_statement(make: Make, watch: Watch, cell: str) -> None:
    for number in range(1, statements(make, watch) + 1):
        scene = make()
        server = getattr(scene, cell)
        with watch.runner(number, lambda server=server: server.end(signal.SIGKILL)):
            scene.run()
        assert scene.finish() == [], number


def test_a_sender_that_commits_after_the_old_cell_closed_is_waited_for(make: Make) -> None:
    scene = make()
    with scene.open_transaction():
        scene.run()
    assert scene.finish() == []


MUTANTS: dict[str, tuple[str, Any]] = {
    "copies no deduplication id": ("copy_keys", lambda *_: None),
    "ends before the old cell is empty": ("note_messages", lambda *_: 0),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_runner_is_convicted(make: Make, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = make()
    monkeypatch.setattr(moving, *MUTANTS[name])
    scene.run()
    assert scene.finish() != []


def test_a_runner_that_waits_for_no_open_transaction_is_convicted(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = make()
    monkeypatch.setattr(moving, "fenced", lambda _: True)
    with scene.open_transaction():
        scene.run()
        assert scene.finish() == []
    scene.send(GROUPS[2])
    scene.consume(2)
    assert scene.wrongs == [f"{GROUPS[2]}: two messages in flight"]


NAIVE = """
create or replace function signalbox._waits_for_source(p_queue text, p_lane text) returns boolean
language sql as $$ select false $$
"""
NAIVE_CHECK = """
create or replace function signalbox._check_placement(
  p_queue text, p_mode text, p_group_ids text[], p_deduplication_ids text[], p_count integer
) returns void language sql as $$ select $$
"""


@pytest.mark.parametrize("naive", [NAIVE, NAIVE_CHECK], ids=["hands groups out at once", "checks no placement"])
def test_a_wrong_cell_is_convicted(make: Make, naive: str) -> None:
    scene = make()
    name = naive.partition("signalbox.")[2].partition("(")[0]
    kept = {}
    for cell in (scene.a, scene.b):
        with cell.connect() as session:
            row = session.execute(
                "select pg_get_functiondef(oid) from pg_proc where proname = %s and prokind = 'f'", [name]
            ).fetchone()
            kept[cell] = row[0]
            session.execute(naive.encode())
    try:
        scene.run()
        assert scene.finish() != []
    finally:
        for cell, definition in kept.items():
            with cell.connect() as session:
                session.execute(definition.encode())
