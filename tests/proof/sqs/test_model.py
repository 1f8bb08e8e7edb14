"""Any sequence of operations against a small model of SQS, by boto3, with answers checked against botocore's shapes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.console.api.sqs.clients import client
from tests.console.api.sqs.test_messages import refusal
from tests.proof.sqs.conftest import Endpoint
from tests.tiers import examples

pytestmark = [pytest.mark.proof, pytest.mark.usefixtures("commits"), pytest.mark.property]

LONG_SECONDS = 600
STEPS_A_LOOK = 4
EXAMPLES = {"json": 40, "query": 16}
"""The protocols differ in how they are read and written, not in what is done."""
_numbers = itertools.count(1)

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1, max_size=20)
groups = st.sampled_from("abc")


class Model(RuleBasedStateMachine):
    """A queue as SQS describes it: visible messages, messages in flight by handle, and groups that are in turn."""

    sqs: Any
    is_fifo: bool
    tries: int
    handles = Bundle("handles")

    def __init__(self) -> None:
        super().__init__()
        name = f"model-{next(_numbers)}{'.fifo' if self.is_fifo else ''}"
        self.url = self.sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"} if self.is_fifo else {})[
            "QueueUrl"
        ]
        self.bodies: dict[str, tuple[str, str]] = {}
        self.visible: list[str] = []
        self.in_flight: dict[str, str] = {}
        self.over: set[str] = set()
        self.received: dict[str, int] = {}
        self.last: dict[str, str] = {}
        self.returned: dict[str, str] = {}
        self.steps = 0

    @rule(body=texts, group=groups)
    def send(self, body: str, group: str) -> None:
        given = {"MessageGroupId": group, "MessageDeduplicationId": str(len(self.bodies))} if self.is_fifo else {}
        sent = self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **given)
        self._sent(sent["MessageId"], body, group)

    @rule(bodies=st.lists(st.tuples(texts, groups), min_size=1, max_size=10))
    def send_batch(self, bodies: list[tuple[str, str]]) -> None:
        entries: list[dict[str, Any]] = [{"Id": str(at), "MessageBody": body} for at, (body, _) in enumerate(bodies)]
        for at, (entry, (_, group)) in enumerate(zip(entries, bodies, strict=True)):
            if self.is_fifo:
                entry |= {"MessageGroupId": group, "MessageDeduplicationId": f"{len(self.bodies)}.{at}"}
        answer = self.sqs.send_message_batch(QueueUrl=self.url, Entries=entries)
        for one in answer["Successful"]:
            self._sent(one["MessageId"], *bodies[int(one["Id"])])
        assert not answer.get("Failed")

    def _sent(self, message_id: str, body: str, group: str) -> None:
        assert message_id not in self.bodies
        self.bodies[message_id] = body, group
        self.visible.append(message_id)
        self.received[message_id] = 0

    @rule(target=handles, count=st.integers(1, 10))
    def receive(self, count: int) -> Any:
        expected = self._deliverable()
        answer = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=count, VisibilityTimeout=LONG_SECONDS, AttributeNames=["All"]
        )
        messages = answer.get("Messages", [])
        assert len(messages) == min(count, len(expected))
        if self.is_fifo:
            self._are_whole_groups([message["MessageId"] for message in messages], expected)
        for message in messages:
            self._received(message, expected)
        return tuple(message["ReceiptHandle"] for message in messages)

    def _received(self, message: dict[str, Any], expected: list[str]) -> None:
        found = message["MessageId"]
        assert found in expected
        assert message["Body"] == self.bodies[found][0]
        self.received[found] += 1
        assert message["Attributes"]["ApproximateReceiveCount"] == str(self.received[found])
        self.visible.remove(found)
        self.in_flight[message["ReceiptHandle"]] = found
        self.last[found] = message["ReceiptHandle"]

    def _deliverable(self) -> list[str]:
        """The messages that may be delivered: in a FIFO queue those of groups that have none in flight, in order."""
        taken = {self.bodies[one][1] for one in self.in_flight.values()} if self.is_fifo else set()
        return [one for one in sorted(self.visible, key=list(self.bodies).index) if self.bodies[one][1] not in taken]

    def _are_whole_groups(self, found: list[str], expected: list[str]) -> None:
        """Check that group follows group, each from its first message on and in order, and only the last in part."""
        groups = list(dict.fromkeys(self.bodies[one][1] for one in found))
        whole = [one for group in groups for one in expected if self.bodies[one][1] == group]
        assert found == whole[: len(found)]

    @rule(several=handles)
    def delete(self, several: tuple[str, ...]) -> None:
        for handle in several[:3]:
            if handle in self.in_flight or self._has_ended(handle):
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=handle)
                if (ended := self.in_flight.pop(handle, None)) is not None:
                    self.over.add(handle)
                    self.over.add(ended)
            else:
                self._delete_late(handle)

    def _delete_late(self, handle: str) -> None:
        """Delete after the visibility: refused in FIFO queues; elsewhere the last handle of a message deletes it."""
        if self.is_fifo:
            refusal(self.sqs.delete_message, QueueUrl=self.url, ReceiptHandle=handle)
            return
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=handle)
        message = self.returned[handle]
        if self.last[message] == handle:
            self.visible.remove(message)
            self.over |= {handle, message}

    def _has_ended(self, handle: str) -> bool:
        return handle in self.over or self.returned.get(handle) in self.over

    @rule(several=handles, seconds=st.sampled_from([0, LONG_SECONDS]))
    def change_visibility(self, several: tuple[str, ...], seconds: int) -> None:
        for handle in several[:3]:
            given = {"QueueUrl": self.url, "ReceiptHandle": handle, "VisibilityTimeout": seconds}
            if handle not in self.in_flight:
                refusal(self.sqs.change_message_visibility, **given)
                continue
            self.sqs.change_message_visibility(**given)
            if not seconds:
                self.returned[handle] = self.in_flight.pop(handle)
                self.visible.append(self.returned[handle])

    @invariant()
    def numbers_are_exact_now_and_then(self) -> None:
        """A number that is wrong stays wrong: the next look finds it, and shrinking finds the step."""
        self.steps += 1
        if self.steps % STEPS_A_LOOK == 0:
            self.numbers_are_exact()

    def teardown(self) -> None:
        self.numbers_are_exact()

    def numbers_are_exact(self) -> None:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        assert {name: int(value) for name, value in found.items()} == dict(
            zip(names, [len(self.visible), len(self.in_flight)], strict=True)
        )


@pytest.fixture(params=[("json", False), ("json", True), ("query", False)], ids=["standard", "fifo", "query"])
def model(request: pytest.FixtureRequest, endpoint: Endpoint) -> type[Model]:
    protocol, is_fifo = request.param
    own = endpoint.credentials(f"model-{protocol}-{is_fifo}")
    return type("OneModel", (Model,), {"sqs": client(own, protocol), "is_fifo": is_fifo, "tries": EXAMPLES[protocol]})


def test_the_endpoint_is_the_model(model: type[Model]) -> None:
    health = [HealthCheck.too_slow, HealthCheck.data_too_large]
    chosen = settings(
        max_examples=examples(model.tries), stateful_step_count=25, deadline=None, suppress_health_check=health
    )
    run_state_machine_as_test(model, settings=chosen)  # type: ignore[no-untyped-call]
