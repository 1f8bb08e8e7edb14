"""The work that is measured, and how each of the two queues does it."""

from dataclasses import dataclass
from pathlib import Path
from string import Template

SQL = Path(__file__).parent / "sql"
# 200 bytes of JSON, like a small domain event.
PAYLOAD = (
    '{"event": "order.shipped", "order_id": 1234567, "customer_id": "c-20394857", "warehouse": "rotterdam-2", '
    '"items": [{"sku": "A-1001", "quantity": 2}, {"sku": "B-2002", "quantity": 1}], "express": false}'
)


@dataclass(frozen=True)
class Scenario:
    """`messages` sent or drained, `batch` at a time, by `clients` at once."""

    name: str
    verb: str
    batch: int
    clients: int
    messages: int

    @property
    def transactions(self) -> int:
        """For each client; at least one."""
        return max(1, self.messages // self.clients // self.batch)

    @property
    def handled(self) -> int:
        return self.transactions * self.clients * self.batch

    @property
    def stock(self) -> int:
        """What must be waiting before: for a drain a little more than it takes, so that no claim comes back short."""
        slack = 2 * self.clients * self.batch
        return self.handled + slack if self.verb == "drain" else 0


SCENARIOS = (
    Scenario("send 1", "send", batch=1, clients=8, messages=16_000),
    Scenario("send 100", "send", batch=100, clients=4, messages=80_000),
    Scenario("drain 1", "drain", batch=1, clients=4, messages=16_000),
    Scenario("drain 10", "drain", batch=10, clients=4, messages=40_000),
    Scenario("drain 100", "drain", batch=100, clients=4, messages=100_000),
)


@dataclass(frozen=True)
class Side:
    """One of the queues compared: a folder of scripts."""

    name: str
    folder: str
    durable_claims: bool = True

    def sql(self, step: str, **values: object) -> str:
        template = Template((SQL / self.folder / f"{step}.sql").read_text())
        return template.substitute(payload=PAYLOAD, durable=str(self.durable_claims).lower(), **values)

    def script(self, scenario: Scenario) -> str:
        step = f"{scenario.verb}_{'one' if scenario.batch == 1 else 'batch'}"
        return self.sql(step, batch=scenario.batch)


TEXTBOOK = Side("textbook", "textbook")
SIGNALBOX = Side("signalbox", "signalbox", durable_claims=False)
SIGNALBOX_DURABLE = Side("signalbox, durable claims", "signalbox")
SIDES = (TEXTBOOK, SIGNALBOX, SIGNALBOX_DURABLE)
