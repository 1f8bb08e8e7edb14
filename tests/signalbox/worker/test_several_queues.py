"""One worker of several queues: by preference or by weight, with one pool of children; and handlers by type."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from signalbox import InvalidArgument
from signalbox.worker import Worker
from signalbox.worker.command import workers_of
from signalbox.worker.handlers.table import load_handler
from signalbox.worker.queue_order import QueueOrder, weights_of
from tests.signalbox.worker.workers import eventually

HANDLERS = "tests.signalbox.worker.handlers"


def claims(order: QueueOrder, ready: dict[str, int], room: int) -> Counter[str]:
    """Messages that one claim of a worker takes of the ready ones."""
    taken: Counter[str] = Counter()
    for queue, share in order.turns(room):
        got = min(share, room - taken.total(), ready[queue])
        ready[queue] -= got
        taken[queue] += got
    return taken


@pytest.mark.parametrize("room", [1, 3, 40])
def test_by_weight_busy_queues_share_and_an_idle_one_leaves_no_slot_empty(room: int) -> None:
    order = QueueOrder({"a": 3, "b": 1, "idle": 4}, "weighted")
    ready = {"a": 4000, "b": 4000, "idle": 0}
    total: Counter[str] = Counter()
    for _ in range(1200 // room):
        taken = claims(order, ready, room)
        assert taken.total() == room
        total += taken
    assert total["b"] >= 1200 // 8 - room
    assert total["a"] >= 3 * 1200 // 8 - room
    ready["idle"] = 4000  # no more than its share for the time that it was idle
    assert claims(order, ready, 8)["idle"] <= 5


def test_by_preference_the_first_queue_is_emptied_first() -> None:
    ready = {"a": 5, "b": 5}
    order = QueueOrder({"a": 1, "b": 1})
    assert claims(order, ready, 4) == Counter(a=4)
    assert claims(order, ready, 4) == Counter(a=1, b=3)


@pytest.mark.parametrize(
    ("queue", "order", "field"),
    [
        ("a,,b", "strict", "queue"),
        ("a,a", "strict", "queue"),
        ("a:2,b", "strict", "queue"),
        ("a:0,b", "weighted", "queue"),
        ("a:9999,b", "weighted", "queue"),
        (",".join(f"q{n}" for n in range(101)), "strict", "queue"),
        ("a,b", "random", "order"),
    ],
)
def test_wrong_queues_and_orders_are_refused_by_name(queue: str, order: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Worker("", queue, f"{HANDLERS}:record", order=order)
    assert refused.value.field == field


def test_queues_and_handler_may_be_one_argument() -> None:
    (worker,) = workers_of("", {"queue": f"a:2,b={HANDLERS}:record", "order": "weighted"})
    assert (worker.weights, worker.handler) == ({"a": 2, "b": 1}, f"{HANDLERS}:record")
    assert weights_of("a", "weighted") == {"a": 1}


def test_a_table_of_plain_and_async_functions_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="mixes"):
        load_handler(f"{HANDLERS}:MIXED")


@pytest.mark.parametrize("order", ["strict", "weighted"])
def test_one_worker_handles_two_queues_by_type_in_one_child(
    client: Any, make_queue: Any, notes: Any, start_worker: Any, held: Any, dead_letter: Any, order: str
) -> None:
    queues = [make_queue(), make_queue()]
    kinds = {}
    for queue in queues:
        for kind in ("order", "mail"):
            kinds[client.send(queue, notes.payload(), attributes={"type": kind})] = kind
    unknown = client.send(queues[1], notes.payload(), attributes={"type": "other"})
    worker = start_worker(",".join(queues), "BY_TYPE", order=order)
    eventually(lambda: (held(queues[0]), held(queues[1])) == (0, 1))  # the dead letter is held
    assert {line[1]: line[0] for line in notes.lines} == {
        message_id: {"order": "shipped", "mail": "mailed"}[kind] for message_id, kind in kinds.items()
    }
    assert eventually(lambda: dead_letter(unknown))[0] == "rejected"
    assert len(worker.children()) == 1
