"""One process at a time, and the next as soon as it is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from typing import Any

import psycopg
import pytest

from pipeline.errors import Busy
from pipeline.jobs.runs import alone
from queues.database.connections import session_dsn
from signalbox.connections import primary_selection

pytestmark = pytest.mark.usefixtures("commits")


def test_a_second_run_is_refused_while_one_works() -> None:
    with alone("tests.alone"), alone("tests.another"), pytest.raises(Busy), alone("tests.alone"):
        pass


@pytest.fixture
def slowly_ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that notices only at the end of the test that a session was closed."""
    really = primary_selection.connect
    with ExitStack() as at_the_end:

        def connect(*where: Any, **how: Any) -> nullcontext[psycopg.Connection[Any]]:
            return nullcontext(at_the_end.enter_context(really(*where, **how)))

        monkeypatch.setattr(primary_selection, "connect", connect)
        yield


@pytest.mark.usefixtures("slowly_ended")
def test_the_next_waits_for_no_end_of_a_session() -> None:
    for _ in range(2):
        with alone("tests.alone"):
            pass
    with pytest.raises(ZeroDivisionError), alone("tests.alone"):
        raise ZeroDivisionError
    with alone("tests.alone"):
        pass


def test_a_session_that_was_cut_off_hides_no_error_of_the_work() -> None:
    with pytest.raises(ZeroDivisionError), alone("tests.cut_off"):
        fail_cut_off("tests.cut_off")


def fail_cut_off(name: str) -> None:
    ended = "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = %s"
    with primary_selection.connect(session_dsn(), autocommit=True) as connection:
        assert connection.execute(ended, [name]).fetchall() == [(True,)]
    raise ZeroDivisionError
