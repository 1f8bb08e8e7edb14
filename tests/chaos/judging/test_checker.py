"""The checker without a server: histories in which all is well, and one for each kind of defect."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.chaos.judging.history import FAILED, UNKNOWN
from tests.chaos.judging.stories import Story


def sent() -> Story:
    return Story().send(100, 1)


def acked_once() -> Story:
    return sent().receive(1, 2.0).ack(1, 3.0).end(1, "acked")


def in_groups(first_leased: float, second_leased: float, acked: float) -> Story:
    story = Story().send(100, 1, group="g").send(101, 2, at=1.0, group="g")
    story.receive(1, first_leased, group="g").receive(2, second_leased, group="g")
    return story.ack(1, acked).ack(2, 50.0).end(1, "acked").end(2, "acked")


GOOD: dict[str, Callable[[], Story]] = {
    "sent, received, acked": acked_once,
    "again after its lease ended": lambda: (
        sent().receive(1, 2.0).receive(1, 12.5, nonce="b", count=2).ack(1, 13.0, nonce="b").end(1, "acked")
    ),
    "again after a nack": lambda: (
        sent()
        .receive(1, 2.0)
        .settle("nack", 1, 3.0, "retry")
        .receive(1, 4.0, nonce="b", count=2)
        .ack(1, 5.0, nonce="b")
        .end(1, "acked")
    ),
    "again after a nack without an answer": lambda: (
        sent()
        .receive(1, 2.0)
        .settle("nack", 1, 3.0, "?")
        .receive(1, 4.0, nonce="b", count=2)
        .ack(1, 5.0, nonce="b")
        .end(1, "acked")
    ),
    "again after it was given back": lambda: (
        sent()
        .receive(1, 2.0)
        .settle("give back", 1, 3.0)
        .receive(1, 4.0, nonce="b", count=2)
        .ack(1, 5.0, nonce="b")
        .end(1, "acked")
    ),
    "again after its death and redrive": lambda: (
        sent()
        .receive(1, 2.0)
        .settle("nack", 1, 3.0, "dead")
        .redrive(1, 4.0)
        .receive(1, 5.0, nonce="b")
        .ack(1, 6.0, nonce="b")
        .end(1, "acked")
    ),
    "again after a crash undid a claim": lambda: (
        sent()
        .receive(1, 2.0, durable=False)
        .crash(2.5)
        .receive(1, 4.0, nonce="b")
        .ack(1, 5.0, nonce="b")
        .end(1, "acked")
    ),
    "a late ack that is refused": lambda: (
        sent()
        .receive(1, 2.0)
        .receive(1, 12.5, nonce="b", count=2)
        .ack(1, 13.0, False)
        .ack(1, 14.0, nonce="b")
        .end(1, "acked")
    ),
    "an ack again whose first answer was lost": lambda: (
        sent().receive(1, 2.0).ack(1, 3.0, "?").ack(1, 4.0, False).end(1, "acked")
    ),
    "an ack in an extended lease": lambda: (
        sent().receive(1, 2.0).settle("extend", 1, 3.0, 40.0, seconds=37.0).ack(1, 20.0).end(1, "acked")
    ),
    "an unseen delivery": lambda: sent().receive_unknown(1.0).receive(1, 12.0, count=2).ack(1, 13.0).end(1, "acked"),
    "a send in doubt that came": lambda: (
        Story().send(100, 1, outcome=UNKNOWN, there=True).receive(1, 2.0).ack(1, 3.0).end(1, "acked")
    ),
    "a send in doubt that did not come": lambda: Story().send(100, None, outcome=UNKNOWN),
    "a send that failed": lambda: Story().send(100, None, outcome=FAILED),
    "a send in doubt that was repeated": lambda: (
        Story()
        .send(100, 1, outcome=UNKNOWN, there=True)
        .send(100, 2, at=1.0)
        .receive(1, 2.0)
        .ack(1, 3.0)
        .receive(2, 4.0)
        .ack(2, 5.0)
        .end(1, "acked")
        .end(2, "acked")
    ),
    "a task that ran in both of its deliveries": lambda: _ran(sent().end(1, "acked"), 2, deliveries=2),
    "a task whose first delivery never ran": lambda: _ran(sent().end(1, "acked"), 1, deliveries=2),
    "a group in its order": lambda: in_groups(2.0, 4.0, 3.0),
}

BAD: dict[str, tuple[str, Callable[[], Story]]] = {
    "acknowledged and nowhere": ("lost", lambda: Story().send(100, 1, there=False)),
    "in the log and in no state": ("lost", sent),
    "still there after the drain": ("stranded", lambda: sent().end(1, "ready")),
    "in two places": ("in two places", lambda: acked_once().end(1, "acked", "ready")),
    "acked twice in history": ("in two places", lambda: acked_once().end(1, "acked", "acked")),
    "rolled back and delivered": (
        "unexpected",
        lambda: Story().send(100, 1, outcome=FAILED, there=True).receive(1, 2.0).ack(1, 3.0).end(1, "acked"),
    ),
    "sent without a client": ("unexpected", lambda: _conjured(sent().receive(1, 2.0).ack(1, 3.0).end(1, "acked"))),
    "delivered and not in the log": ("unexpected", lambda: acked_once().receive(7, 2.0, token=5)),
    "the body of another": ("another body", lambda: sent().receive(1, 2.0, token=101).ack(1, 3.0).end(1, "acked")),
    "kept with the body of another": ("another body", lambda: _rewritten(acked_once())),
    "again without a reason": (
        "unexplained duplicate",
        lambda: sent().receive(1, 2.0).receive(1, 4.0, nonce="b", count=2).ack(1, 5.0, nonce="b").end(1, "acked"),
    ),
    "again although extended": (
        "unexplained duplicate",
        lambda: (
            sent()
            .receive(1, 2.0)
            .settle("extend", 1, 3.0, 40.0, seconds=37.0)
            .receive(1, 13.0, nonce="b", count=2)
            .ack(1, 14.0, nonce="b")
            .end(1, "acked")
        ),
    ),
    "again by a crash although durable": (
        "unexplained duplicate",
        lambda: (
            sent().receive(1, 2.0).crash(2.5).receive(1, 4.0, nonce="b", count=2).ack(1, 5.0, nonce="b").end(1, "acked")
        ),
    ),
    "again after its ack": (
        "delivered after its ack",
        lambda: acked_once().receive(1, 14.0, nonce="b", count=2).ack(1, 15.0, nonce="b"),
    ),
    "an old receipt acks": (
        "stale receipt accepted",
        lambda: sent().receive(1, 2.0).receive(1, 12.5, nonce="b", count=2).ack(1, 13.0).end(1, "acked"),
    ),
    "an old receipt nacks": (
        "stale receipt accepted",
        lambda: (
            sent()
            .receive(1, 2.0)
            .receive(1, 12.5, nonce="b", count=2)
            .settle("nack", 1, 13.0, "retry")
            .ack(1, 14.0, nonce="b")
            .end(1, "acked")
        ),
    ),
    "a lease that is held is refused": (
        "held lease refused",
        lambda: sent().receive(1, 2.0).ack(1, 3.0, False).ack(1, 4.0).end(1, "acked"),
    ),
    "acked without a client": ("settled without a client", lambda: sent().receive(1, 2.0).end(1, "acked")),
    "an ack that did not last": ("ack undone", lambda: acked_once().end(1, "dead")),
    "two messages for one key": (
        "published twice",
        lambda: (
            Story()
            .send(100, 1, outcome=UNKNOWN, there=True, keyed=True)
            .send(100, 2, at=1.0, keyed=True)
            .receive(1, 2.0)
            .ack(1, 3.0)
            .receive(2, 4.0)
            .ack(2, 5.0)
            .end(1, "acked")
            .end(2, "acked")
        ),
    ),
    "two messages for one attempt": ("published twice", lambda: _doubled(acked_once())),
    "a delivery is not counted": (
        "miscounted delivery",
        lambda: sent().receive(1, 2.0).receive(1, 12.5, nonce="b").ack(1, 13.0, nonce="b").end(1, "acked"),
    ),
    "a delivery too many is counted": (
        "miscounted delivery",
        lambda: sent().receive(1, 12.0, count=2).ack(1, 13.0).end(1, "acked"),
    ),
    "a row without its message": ("lost", lambda: _with_row(Story(), 100)),
    "a message without its row": ("unexpected", lambda: _without_rows(acked_in_transaction())),
    "an effect that is missing": ("effect missing", lambda: _effects(acked_once(), 0)),
    "an effect that came twice": ("effect twice", lambda: _effects(acked_once(), 2)),
    "a task that is acked and never ran": (
        "effect missing",
        lambda: _ran(sent().end(1, "acked"), 0, deliveries=1),
    ),
    "a task that ran more often than it was delivered": (
        "effect twice",
        lambda: _ran(sent().end(1, "acked"), 2, deliveries=1),
    ),
    "the second of a group too early": ("FIFO violation", lambda: in_groups(2.0, 4.0, 5.0)),
    "a group backwards": ("FIFO violation", lambda: in_groups(4.0, 2.0, 5.0)),
    "ids of a group backwards": (
        "FIFO violation",
        lambda: (
            Story()
            .send(100, 2, group="g")
            .send(101, 1, at=1.0, group="g")
            .receive(1, 2.0, group="g")
            .ack(1, 3.0)
            .receive(2, 4.0, group="g")
            .ack(2, 5.0)
            .end(1, "acked")
            .end(2, "acked")
        ),
    ),
    "counters that drift": ("counter drift", lambda: _drifted(acked_once())),
}


def acked_in_transaction() -> Story:
    return Story().send(100, 1, kind="send in a transaction").receive(1, 2.0).ack(1, 3.0).end(1, "acked")


def _conjured(story: Story) -> Story:
    story.operations = [operation for operation in story.operations if operation.kind != "send"]
    return story


def _rewritten(story: Story) -> Story:
    story.send(101, None, outcome=UNKNOWN)
    story.truth.tokens[1] = 101
    return story


def _doubled(story: Story) -> Story:
    story.truth.tokens[2] = 100
    return story.receive(2, 4.0).ack(2, 5.0).end(2, "acked")


def _with_row(story: Story, token: int) -> Story:
    story.send(token, None, outcome=UNKNOWN, kind="send in a transaction")
    story.truth.business = {token}
    return story


def _without_rows(story: Story) -> Story:
    story.truth.business = set()
    return story


def _effects(story: Story, count: int) -> Story:
    story.truth.effective_queues = frozenset({"q"})
    story.truth.effects = {1: count} if count else {}
    return story


def _ran(story: Story, times: int, deliveries: int) -> Story:
    """Message received by Celery, whose deliveries are not recorded."""
    story.truth.delivered = {1: deliveries}
    story.truth.executions = {100: times}
    return story


def _drifted(story: Story) -> Story:
    story.truth.drift.append("orders, ready: counted 1, there are 0")
    return story


@pytest.mark.parametrize("name", GOOD)
def test_a_history_in_which_all_is_well_is_valid(name: str) -> None:
    verdict = GOOD[name]().verdict()

    assert verdict.valid, str(verdict)


@pytest.mark.parametrize("name", BAD)
def test_a_history_with_a_defect_is_convicted_of_it(name: str) -> None:
    charge, story = BAD[name]

    verdict = story().verdict()

    assert verdict.charges[charge] >= 1, str(verdict)


def test_every_charge_has_a_history_that_is_convicted_of_it() -> None:
    from tests.chaos.judging.verdict import CHARGES

    assert {charge for charge, _ in BAD.values()} == set(CHARGES)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("again after its lease ended", "expiry"),
        ("again after a nack", "nack"),
        ("again after a nack without an answer", "nack"),
        ("again after it was given back", "lease given back"),
        ("again after its death and redrive", "redrive"),
        ("again after a crash undid a claim", "crash"),
        ("a send in doubt that was repeated", "unknown publish"),
    ],
)
def test_duplicates_are_counted_by_their_cause(name: str, cause: str) -> None:
    assert dict(GOOD[name]().verdict().duplicates) == {cause: 1}


def test_messages_are_classified() -> None:
    story = acked_once()
    story.send(101, None, outcome=FAILED).send(102, None, outcome=UNKNOWN)
    story.send(103, 4, outcome=UNKNOWN, there=True).receive(4, 2.0).ack(4, 3.0).end(4, "acked")

    figures = story.verdict().figures

    assert {name: figures[name] for name in ("attempted", "acknowledged", "failed", "recovered", "acked")} == {
        "attempted": 4,
        "acknowledged": 1,
        "failed": 1,
        "recovered": 1,
        "acked": 2,
    }
    assert figures["unknown, and not there"] == 1
