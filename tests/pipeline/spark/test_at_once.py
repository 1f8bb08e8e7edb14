"""Parallel work is limited; an error or an end starts nothing new."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from pipeline.spark.tasks import at_once


def test_all_pieces_are_done_and_never_more_than_there_is_room_for() -> None:
    under_way, most, lock = 0, 0, threading.Lock()
    pair = threading.Barrier(2)

    def work(piece: int) -> Sequence[int]:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        pair.wait(60)  # two are at it together, or this breaks
        with lock:
            under_way -= 1
        return [piece, -piece]

    made = sorted(at_once(work, range(1, 9), 2))

    assert made == sorted([*range(1, 9), *range(-8, 0)])
    assert most == 2


def test_an_error_begins_no_other() -> None:
    begun = []

    def work(piece: int) -> Sequence[int]:
        begun.append(piece)
        raise OSError(piece)

    with pytest.raises(OSError, match="1"):
        list(at_once(work, range(1, 9), 1))

    assert begun == [1]


def test_who_stops_asking_begins_no_other() -> None:
    begun: list[int] = []

    def work(piece: int) -> Sequence[int]:
        begun.append(piece)
        return [piece]

    made = at_once(work, range(1, 9), 1)
    assert next(made) == 1
    made.close()  # type: ignore[attr-defined]

    assert begun in ([1], [1, 2])
