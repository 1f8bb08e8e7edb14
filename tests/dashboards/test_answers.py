"""Every question of every dashboard, put to a real Prometheus that scrapes two replicas of the console.

Traffic goes on until all have been answered. What is empty while all is well (dead letters, refusals, lanes that hold
back) needs traffic of its own; an answer that is no number is none.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from metrics.reading import fleet
from metrics.reading.api_requests import API_REQUESTS, SQS_ERRORS
from metrics.reading.cells import Cells
from queues.counters.queue_numbers import read_numbers
from queues.errors import QuotaExceeded, translated
from signalbox import Client
from tests.dashboards.built import DASHBOARDS, Dashboard, alert_marks, asking, variables
from tests.engine import Engine
from tests.prometheus import Prometheus, running_console, running_prometheus, wait_until, write_settings

ANSWERED_WITHIN_SECONDS = 300.0
SHOWN_SECONDS = 3600
"""The range that is shown. Rates are taken over all of it, so that what happened once still shows on a slow machine."""

TWO_CELLS = Cells({"cell-2": True}, {"cell-2": 0}, peak_over_mean=1.1)
"""A second cell as the home sees it; tests/console/fleet reads a real one."""

LATE = """
update signalbox.ready set ready_at = ready_at - interval '1 hour'
where message_id = (select min(message_id) from signalbox.ready where queue_id = %s)
returning 1
"""


@pytest.fixture
def prometheus(commits: None, tmp_path: Path) -> Iterator[Prometheus]:
    """Prometheus that scrapes two replicas of the console every second and has loaded the rules."""
    with running_console() as one, running_console() as other:
        write_settings(tmp_path, [one, other])
        with running_prometheus(tmp_path) as prometheus:
            yield prometheus


@dataclass
class Traffic:
    """Make data for every panel, a little more with each step."""

    engine: Engine
    """The queue that is looked at: each step it is emptied again."""
    full: Engine
    """Queue without consumers that is closed."""
    lanes: Engine
    """The first of its messages is in flight, so the others wait."""
    died: list[int] = field(default_factory=list)

    def start(self) -> None:
        for most in (10_000, 0):  # a tenant that has, or had, such a quota exports what it refused
            self.engine.connection.execute(
                "update signalbox.tenant set max_long_polls = %s where name = 'default'", [most]
            )
        for _ in range(3):
            self.lanes.send(group_id="a")
        self.lanes.receive(1, visibility_timeout=43_200)
        self.full.send()

    def step(self) -> None:
        self._stream()
        for number in range(3):  # by the client, which measures what its calls take
            self.client.send(self.engine.queue, number)
        self.engine.rows("select * from signalbox.redrive(%s::bigint[])", self.died[:1])
        self.engine.rows(LATE, self.engine.queue_id)
        first, second, *others = self.client.receive(self.engine.queue, 100)
        self.died = [self._reject(message.id, message.receipt_handle) for message in (first, second)]
        self.engine.ack(*(message.receipt_handle for message in others))
        with suppress(QuotaExceeded), translated():
            self.full.send()
        API_REQUESTS.observe("POST /v1/queues/{queue}/messages", "2xx", 0.003)  # the replicas are threads
        SQS_ERRORS.count("SendMessage", "AccessDenied")
        self.engine.value("select signalbox.aggregate_counters()")  # waits and work times are counted there

    def _stream(self) -> None:
        """A stream of which one group reads half, so that another is behind."""
        self.client.create_stream("answers", {"partitions": 1})
        self.client.create_group("answers", "half", point="beginning")
        self.client.create_group("answers", "feeds", queue=self.engine.queue)
        self.client.append_batch("answers", [1, 2])
        self.client.append("answers", 3, deduplication_id="repeated")
        self.client.commit_messages("answers", "half", "m", self.client.read_stream("answers", "half", "m", 1))

    @property
    def client(self) -> Client:
        return Client(self.engine.connection)

    def _reject(self, message_id: int, handle: str) -> int:
        assert self.engine.nack(handle, reason="rejected") == "dead"
        letter = "select dead_letter_id from signalbox.dead_letter where message_id = %s order by 1 desc"
        return int(self.engine.value(letter, message_id))


@pytest.fixture
def traffic(make_engine: Callable[..., Engine]) -> Traffic:
    limited = make_engine(max_backlog_bytes=1_000_000)
    return Traffic(limited, make_engine(max_backlog_messages=1), make_engine(mode="fifo"))


@pytest.fixture
def only_its_own(traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fleet is the queues of this test: others have left thousands, each a hundred lines of every scrape."""
    queues = {engine.queue for engine in (traffic.engine, traffic.full, traffic.lanes)}
    monkeypatch.setattr(
        fleet, "read_numbers", lambda: [each for each in read_numbers() if each.name.removesuffix("-dlq") in queues]
    )
    monkeypatch.setattr(fleet, "read_cells", lambda queues: TWO_CELLS)


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("only_its_own")
@pytest.mark.proof
def test_every_question_is_answered(traffic: Traffic, prometheus: Prometheus) -> None:
    traffic.start()
    wait_until(lambda: is_known(traffic, prometheus), "both replicas")  # increases need a number to begin with

    unanswered = questions(traffic.engine.queue)
    assert len(unanswered) > 50
    give_up_at = time.monotonic() + ANSWERED_WITHIN_SECONDS
    while unanswered:
        assert time.monotonic() < give_up_at, "\n".join(question.expression for question in unanswered)
        traffic.step()
        unanswered = [question for question in unanswered if not question.is_answered(prometheus)]

    for state in ("ready", "scheduled", "waiting", "leased"):  # by two replicas, on two pages of each, and counted once
        wait_until(lambda state=state: shown(prometheus, state) == there_are(state), state)  # type: ignore[misc]


def shown(prometheus: Prometheus, state: str) -> int | None:
    """Number of messages in this state on the fleet's dashboard; None unless there is one number."""
    (expression,) = [
        query["expr"]
        for panel in asking(DASHBOARDS["signalbox-fleet.json"])
        for query in panel["targets"]
        if panel["type"] == "stat" and f'state="{state}"' in query["expr"]
    ]
    answers = prometheus.query(filled_in(expression, ""))
    return int(answers[0]["value"][1]) if len(answers) == 1 else None


def there_are(state: str) -> int:
    return sum(getattr(numbers, state) for numbers in fleet.read_numbers() if numbers.tenant == "default")


def is_known(traffic: Traffic, prometheus: Prometheus) -> bool:
    queues = f'signalbox_messages_published_total{{queue=~"{traffic.engine.queue}|{traffic.lanes.queue}"}}'
    processes = "signalbox_receive_duration_seconds_count"
    return len(prometheus.query(queues)) == 4 and len(prometheus.query(processes)) == 2


@dataclass(frozen=True)
class Question:
    """One expression as Grafana would send it; `label` is the one whose values a variable offers."""

    expression: str
    instant: bool
    label: str | None = None

    def is_answered(self, prometheus: Prometheus) -> bool:
        if not self.instant:
            found = prometheus.query_range(self.expression, SHOWN_SECONDS)
            return any(is_number(value) for series in found for _, value in series["values"])
        found = prometheus.query(self.expression)
        if self.label:
            return any(series["metric"].get(self.label) for series in found)
        return any(is_number(series["value"][1]) for series in found)


def is_number(value: Any) -> bool:
    return math.isfinite(float(value))


def questions(queue: str) -> list[Question]:
    """Queries of all dashboards, each once."""
    found = [question for dashboard in DASHBOARDS.values() for question in questions_of(dashboard)]
    filled = [Question(filled_in(question.expression, queue), question.instant, question.label) for question in found]
    return list(dict.fromkeys(filled))


def questions_of(dashboard: Dashboard) -> Iterator[Question]:
    for panel in asking(dashboard):
        for query in panel["targets"]:
            yield Question(query["expr"], query["instant"])
    for mark in alert_marks(dashboard):
        yield Question(mark["target"]["expr"], instant=False)
    for variable in variables(dashboard).values():
        if found := re.fullmatch(r"label_values\((.+), (\w+)\)", variable.get("definition", "")):
            yield Question(found[1], instant=True, label=found[2])


def filled_in(expression: str, queue: str) -> str:
    """Query with a viewer's choices: one tenant, one queue, the last hour."""
    values = {
        "$__rate_interval": f"{SHOWN_SECONDS}s",
        "$__range": f"{SHOWN_SECONDS}s",
        "$job": "signalbox",
        "$tenant": "default",
        "$queue": queue,
        "$dead_letter_queue": f"{queue}-dlq",
    }
    return re.sub(r"\$\w+", lambda match: values[match[0]], expression)
