"""Roles in a run, and the entry point by which a forked process takes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.chaos.company.client import Assignment, ChaosClient
from tests.chaos.company.consumers import BulkConsumer, Consumer, MortalConsumer, OrderConsumer, Prober, Redriver
from tests.chaos.company.senders import (
    BatchSender,
    GroupSender,
    KeyedSender,
    OrderSender,
    RepeatingSender,
    Sender,
    TaskSender,
)

ROLES: dict[str, type[ChaosClient]] = {
    "sender": Sender,
    "batch sender": BatchSender,
    "order sender": OrderSender,
    "keyed sender": KeyedSender,
    "repeating sender": RepeatingSender,
    "group sender": GroupSender,
    "task sender": TaskSender,
    "consumer": Consumer,
    "bulk consumer": BulkConsumer,
    "order consumer": OrderConsumer,
    "mortal consumer": MortalConsumer,
    "redriver": Redriver,
    "prober": Prober,
}


@dataclass(frozen=True)
class Part:
    """Place in the company, whose process is replaced when it dies."""

    role: str
    queue: str
    through_proxy: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def sends(self) -> bool:
        return "sender" in self.role


COMPANY = (
    Part("sender", "plain", through_proxy=True),
    Part("sender", "lanes"),
    Part("sender", "mortal"),
    Part("sender", "work"),
    Part("task sender", "celery", options={"pause": 0.05}),
    Part("batch sender", "bulk", through_proxy=True, options={"batch": 500}),
    Part("order sender", "orders", through_proxy=True),
    Part("keyed sender", "keyed", through_proxy=True),
    Part("repeating sender", "again", through_proxy=True),
    Part("group sender", "fifo", options={"groups": "left"}),
    Part("group sender", "fifo", through_proxy=True, options={"groups": "right"}),
    Part("consumer", "plain"),
    Part("consumer", "plain", through_proxy=True),
    Part("bulk consumer", "bulk", through_proxy=True, options={"batch": 500}),
    Part("bulk consumer", "bulk", options={"batch": 200, "durable": 0.3}),
    Part("order consumer", "orders", through_proxy=True),
    Part("order consumer", "orders"),
    Part("consumer", "again"),
    Part("consumer", "keyed", through_proxy=True),
    Part("consumer", "fifo"),
    Part("consumer", "fifo", through_proxy=True),
    Part("consumer", "lanes"),
    Part("mortal consumer", "mortal"),
    Part("redriver", "mortal", through_proxy=True),
    Part("prober", "probe", through_proxy=True),
)


def take_part(assignment: Assignment) -> None:
    """Main function of a forked process."""
    ROLES[assignment.role](assignment).run()
