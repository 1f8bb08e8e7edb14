"""A few pieces of work at a time, the next as soon as one of them is done: nobody waits for the slowest of a round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Piece = TypeVar("Piece")
Made = TypeVar("Made")


def at_once(work: Callable[[Piece], Sequence[Made]], pieces: Sequence[Piece], room: int) -> Iterator[Made]:
    """What comes of the pieces, in the order in which they are done, `room` of them at a time.

    Whoever stops asking waits for those that have begun; no other is begun then, nor after an error.
    """
    waiting, under_way = iter(pieces), set[Future[Sequence[Made]]]()
    with ThreadPoolExecutor(room, thread_name_prefix="pipeline") as threads:
        for piece in _some(waiting, room):
            under_way.add(threads.submit(work, piece))
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            made = [one for future in done for one in future.result()]
            for piece in _some(waiting, len(done)):
                under_way.add(threads.submit(work, piece))
            yield from made


def _some(waiting: Iterator[Piece], count: int) -> Iterator[Piece]:
    for _, piece in zip(range(count), waiting, strict=False):
        yield piece
