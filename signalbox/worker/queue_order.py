"""Several queues of one worker: how many messages to claim from each, by preference or by weight."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from signalbox.errors import InvalidArgument

MAX_QUEUES = 100
MAX_WEIGHT = 1000
ORDERS = ("strict", "weighted")

_QUEUE = re.compile(r"([^:,\s]+)(?::([0-9]{1,4}))?")


def weights_of(queue: str, order: str) -> Mapping[str, int]:
    """Read the queues of a worker and their weights: `orders`, `orders,emails`, or by weight `orders:3,emails`.

    Raises InvalidArgument.
    """
    if order not in ORDERS:
        raise InvalidArgument(f"order is {order[:80]!r}: it must be one of {', '.join(ORDERS)}", field="order")
    if queue.count(",") >= MAX_QUEUES:
        raise InvalidArgument(f"queue names more than {MAX_QUEUES} queues", field="queue")
    weights: dict[str, int] = {}
    for part in queue.split(","):
        if not (match := _QUEUE.fullmatch(part)):
            raise InvalidArgument(
                f"queue has {part[:80]!r}: write names as in orders,emails or orders:3", field="queue"
            )
        name, weight = match[1], match[2]
        if name in weights:
            raise InvalidArgument(f"queue names {name[:80]} twice", field="queue")
        if weight is not None and order == "strict":
            raise InvalidArgument(f"queue has a weight for {name[:80]}: weights need --order weighted", field="queue")
        weights[name] = int(weight or 1)
        if not 1 <= weights[name] <= MAX_WEIGHT:
            raise InvalidArgument(f"queue has the weight {weight}: allowed are 1 to {MAX_WEIGHT}", field="queue")
    return weights


@dataclass
class QueueOrder:
    """The order in which a worker claims from its queues.

    `strict`: a queue gets what those before it leave. `weighted`: each claim is shared by weight, and what one queue
    cannot fill goes to the others, so that no slot stays empty while any queue has messages.
    """

    weights: Mapping[str, int]
    order: str = "strict"
    _used: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self._used = dict.fromkeys(self.weights, 0.0)

    def turns(self, room: int) -> Iterator[tuple[str, int]]:
        """List the queues to ask, each with the most messages to claim; later turns fill the room that is left."""
        if self.order == "weighted" and len(self.weights) > 1:
            yield from self._shares(room).items()
        for queue in self.weights:
            yield queue, room

    def _shares(self, room: int) -> dict[str, int]:
        """Share the room: each message goes to the queue with the least use so far for its weight.

        A queue is charged for its share even when it is empty, so that it has no more than its share later.
        """
        shares: dict[str, int] = {}
        for _ in range(room):
            queue = min(self._used, key=lambda name: self._used[name])
            self._used[queue] += 1 / self.weights[queue]
            shares[queue] = shares.get(queue, 0) + 1
        return shares
