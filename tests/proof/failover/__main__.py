# ruff: noqa: T201 - standard output is how it answers
"""`python -m tests.proof.failover`: kills a primary under load, promotes its standby, and says what that cost.

Messages are lost that were acknowledged and that the promoted standby does not have; silence is from the death of the
one to the first send that the other answered, and what promotes does so at once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.chaos.judging.history import OK, Operation
from tests.proof.failover.load import load
from tests.proof.failover.pair import Pair
from tests.proof.failover.unheard import lost

SYNCHRONOUS = "synchronous"
UP_TO_DATE = "asynchronous"


@dataclass(frozen=True)
class Promotion:
    """Cost of a failover; `pace` counts acknowledged messages, and `oldest_lost_ms` is None without a loss."""

    standby: str
    pace: float
    lost: int
    oldest_lost_ms: float | None
    silence_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.failover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--behind", type=float, nargs="*", default=[1.0, 5.0], metavar="SECONDS")
    options = parser.parse_args()
    kinds = [(SYNCHRONOUS, 0.0), (UP_TO_DATE, 0.0)]
    kinds += [(f"{UP_TO_DATE}, {seconds:g} s behind", seconds) for seconds in options.behind]
    print("| the standby is | acknowledged | lost | the oldest, before the death | silence |\n|---|--:|--:|--:|--:|")
    for standby, behind in kinds:
        for _ in range(options.rounds):
            print(_row(promotion(standby, behind)), flush=True)


def promotion(standby: str, behind: float) -> Promotion:
    with Pair() as pair, load(pair) as working:
        if standby == SYNCHRONOUS:
            pair.wait_for_each_commit()
        working.wait_for_work(since=time.time())
        if behind:
            pair.stop_sending()
            time.sleep(behind)
        pair.kill_primary()
        died_at = time.time()
        pair.promote()
        working.wait_for_work(since=time.time())
        truth = working.drain()
        operations = working.operations()
    gone = lost(operations, truth)
    there = set(truth.tokens.values())
    return Promotion(
        standby,
        _pace(operations, died_at),
        sum(len(set(one.arguments["tokens"]) - there) for one in gone),
        max((1000 * (died_at - (one.completed or died_at)) for one in gone), default=None),
        min(one.completed for one in _sends(operations) if one.invoked > died_at and one.completed) - died_at,
    )


def _pace(operations: Sequence[Operation], died_at: float, seconds: float = 5.0) -> float:
    """Acknowledged messages a second, over the last seconds of the primary."""
    last = [one for one in _sends(operations) if one.completed and died_at - seconds < one.completed <= died_at]
    return sum(len(one.arguments["tokens"]) for one in last) / seconds


def _sends(operations: Sequence[Operation]) -> list[Operation]:
    return [one for one in operations if one.kind.startswith("send") and one.outcome == OK]


def _row(one: Promotion) -> str:
    oldest = "—" if one.oldest_lost_ms is None else f"{one.oldest_lost_ms:,.0f} ms"
    return f"| {one.standby} | {one.pace:,.0f}/s | {one.lost:,} | {oldest} | {one.silence_seconds:.2f} s |"


if __name__ == "__main__":
    main()
