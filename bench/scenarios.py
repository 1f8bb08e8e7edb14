"""The work that is measured, and the queues that do it."""

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
    """`messages` sent or drained, `batch` at a time, by `clients` at once."""

    name: str
    work: Literal["send", "drain", "steady"]
    batch: int
    clients: int
    messages: int

    def scaled(self, factor: float) -> "Scenario":
        return replace(self, messages=int(self.messages * factor))

    @property
    def transactions(self) -> int:
        """For each client."""
        return max(1, self.messages // self.clients // self.batch)

    @property
    def handled(self) -> int:
        return self.transactions * self.clients * self.batch

    @property
    def stock(self) -> int:
        """What must be waiting before: a little more than a drain takes, so that no claim comes back short."""
        if self.work == "send":
            return 0
        spare = FILL_BATCH + 2 * self.clients * self.batch
        return spare + (self.handled if self.work == "drain" else 0)


# Large enough that the first call of each client, which compiles and plans, does not show.
SCENARIOS = (
    Scenario("send 1", "send", batch=1, clients=8, messages=24_000),
    Scenario("send 100", "send", batch=100, clients=4, messages=120_000),
    Scenario("drain 1", "drain", batch=1, clients=4, messages=24_000),
    Scenario("drain 10", "drain", batch=10, clients=4, messages=80_000),
    Scenario("drain 100", "drain", batch=100, clients=4, messages=160_000),
)


@dataclass(frozen=True)
class Side:
    """One of the queues compared: a folder of scripts."""

    name: str
    folder: str
    durable_claims: bool = True
    one_call: bool = False
    """A claim acknowledges what the one before brought."""
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
# Each message of one of three priorities; of one of a hundred lanes.
PRIORITIES = Side(
    "signalbox, 3 priorities", "signalbox", durable_claims=False, queue="bench-priorities", steady="steady_priorities"
)
LANES = Side(
    "signalbox, 100 lanes",
    "signalbox",
    durable_claims=False,
    queue="bench-lanes",
    settings='{"lane_max_in_flight": 10}',
    steady="steady_lanes",
)
SIGNALBOX_DURABLE = Side("signalbox, durable claims", "signalbox")
SIGNALBOX_ONE_CALL = Side("signalbox, in one call", "signalbox", one_call=True)


def sides_of(scenario: Scenario) -> tuple[Side, ...]:
    """A send claims nothing, so that the kinds of claim differ in drains only."""
    if scenario.work == "send":
        return (TEXTBOOK, SIGNALBOX)
    return (TEXTBOOK, SIGNALBOX, SIGNALBOX_ONE_CALL, SIGNALBOX_DURABLE, BARE)
