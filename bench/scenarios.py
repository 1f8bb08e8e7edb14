"""Scenarios that are measured, and the queues that run them."""

from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Literal

SQL = Path(__file__).parent / "sql"
# 200 bytes of JSON, like a small domain event.
PAYLOAD = (
    '{"event": "order.shipped", "order_id": 1234567, "customer_id": "c-20394857", "warehouse": "rotterdam-2", '
    '"items": [{"sku": "A-1001", "quantity": 2}, {"sku": "B-2002", "quantity": 1}], "express": false}'
)
FILL_BATCH = 1000


@dataclass(frozen=True)
class Scenario:
    """Work on `messages`, sent or drained `batch` at a time by `clients` in parallel."""

    name: str
    work: Literal["send", "drain", "steady"]
    batch: int
    clients: int
    messages: int

    def scaled(self, factor: float) -> "Scenario":
        return replace(self, messages=int(self.messages * factor))

    @property
    def transactions(self) -> int:
        """Number of calls of each client."""
        return max(1, self.messages // self.clients // self.batch)

    @property
    def handled(self) -> int:
        return self.transactions * self.clients * self.batch

    @property
    def stock(self) -> int:
        """Number of messages that must wait first: a little more than a drain takes, so that no claim is short."""
        if self.work == "send":
            return 0
        spare = FILL_BATCH + 2 * self.clients * self.batch
        return spare + (self.handled if self.work == "drain" else 0)


# Number of calls that hides the first call of each client, which compiles and plans.
SCENARIOS = (
    Scenario("send 1", "send", batch=1, clients=8, messages=24_000),
    Scenario("send 100", "send", batch=100, clients=4, messages=120_000),
    Scenario("drain 1", "drain", batch=1, clients=4, messages=24_000),
    Scenario("drain 10", "drain", batch=10, clients=4, messages=80_000),
    Scenario("drain 100", "drain", batch=100, clients=4, messages=160_000),
)


@dataclass(frozen=True)
class Side:
    """Compared queue: a folder of scripts."""

    name: str
    folder: str
    durable_claims: bool = True
    one_call: bool = False
    """Whether a claim also acknowledges the messages of the claim before."""
    queue: str = "bench"
    settings: str = "{}"
    steady: str = "steady"

    def sql(self, step: str, **values: object) -> str:
        template = Template((SQL / self.folder / f"{step}.sql").read_text())
        return template.substitute(
            payload=PAYLOAD,
            queue=self.queue,
            settings=self.settings,
            durable=str(self.durable_claims).lower(),
            **values,
        )

    def script(self, scenario: Scenario) -> str:
        if scenario.work == "steady":
            return self.sql(self.steady)
        step = f"{scenario.work}_{'one' if scenario.batch == 1 else 'batch'}"
        return self.sql(step + "_in_one_call" * self.one_call, batch=scenario.batch)


TEXTBOOK = Side("textbook", "textbook")
SIGNALBOX = Side("signalbox", "signalbox", durable_claims=False)
BARE = Side("the hot path alone", "bare", durable_claims=False)
# Messages of three priorities, or of a hundred message groups.
PRIORITIES = Side(
    "signalbox, 3 priorities", "signalbox", durable_claims=False, queue="bench-priorities", steady="steady_priorities"
)
LANES = Side(
    "signalbox, 100 lanes",
    "signalbox",
    durable_claims=False,
    queue="bench-lanes",
    settings='{"group_max_in_flight": 10}',
    steady="steady_lanes",
)
GROUPED = Side("signalbox, 100 groups", "signalbox", durable_claims=False, queue="bench-grouped", steady="steady_lanes")
FAIR = replace(GROUPED, name="signalbox, 100 groups share", queue="bench-fair", settings='{"fair_groups": true}')
FAIR_WITHOUT_GROUPS = replace(FAIR, name="signalbox, shared, no groups", steady="steady")
SIGNALBOX_DURABLE = Side("signalbox, durable claims", "signalbox")
SIGNALBOX_ONE_CALL = Side("signalbox, in one call", "signalbox", one_call=True)


def sides_of(scenario: Scenario) -> tuple[Side, ...]:
    """Restrict the kinds of claim to drains, since a send claims nothing."""
    if scenario.work == "send":
        return (TEXTBOOK, SIGNALBOX)
    return (TEXTBOOK, SIGNALBOX, SIGNALBOX_ONE_CALL, SIGNALBOX_DURABLE, BARE)
