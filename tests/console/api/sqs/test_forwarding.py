"""signalbox sqs forward: between two queues of the endpoint, as from Amazon's to ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.cli import main
from tests.console.api.sqs.clients import Credentials, client
from tests.console.api.sqs.test_fifo import FIFO, receive

Names = Callable[..., str]


@pytest.fixture
def own(credentials: Callable[..., Credentials], monkeypatch: pytest.MonkeyPatch) -> Credentials:
    made = credentials()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", made.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", made.secret)
    return made


def forward(source: str, target: str, capsys: pytest.CaptureFixture[str]) -> tuple[Any, int]:
    with pytest.raises(SystemExit) as ended:
        main(["sqs", "forward", "--from", source, "--to", target, "--idle", "0.1", "--json"])
    return json.loads(capsys.readouterr().out or "null"), int(ended.value.code or 0)


def test_groups_keep_their_order_and_a_repetition_adds_nothing(
    own: Credentials, new_name: Names, capsys: pytest.CaptureFixture[str]
) -> None:
    sqs = client(own)
    source, target = (sqs.create_queue(QueueName=new_name(".fifo"), Attributes=FIFO)["QueueUrl"] for _ in range(2))
    bodies = [f"{group}{number}" for number in range(4) for group in "abc"]
    for body in bodies:
        sqs.send_message(QueueUrl=source, MessageBody=body, MessageGroupId=body[0])
    sqs.send_message(QueueUrl=target, MessageBody="a0", MessageGroupId="a")  # as if it had been stopped after a send

    assert forward(source, target, capsys) == ({"forwarded": 12, "left": 0}, 0)
    found: list[str] = []
    while messages := receive(sqs, target):
        found += [one["Body"] for one in messages]
        for one in messages:
            sqs.delete_message(QueueUrl=target, ReceiptHandle=one["ReceiptHandle"])
    assert sorted(found) == sorted(bodies)
    for group in "abc":
        assert [body for body in found if body[0] == group] == [f"{group}{number}" for number in range(4)]


def test_a_refused_message_stays(own: Credentials, new_name: Names, capsys: pytest.CaptureFixture[str]) -> None:
    sqs = client(own)
    source, target = (sqs.create_queue(QueueName=new_name())["QueueUrl"] for _ in range(2))
    sqs.set_queue_attributes(QueueUrl=target, Attributes={"MaximumMessageSize": "1024"})
    attributes = {"kind": {"DataType": "String", "StringValue": "new"}}
    sqs.send_message(QueueUrl=source, MessageBody="small", MessageAttributes=attributes)
    sqs.send_message(QueueUrl=source, MessageBody="x" * 2_000)

    assert forward(source, target, capsys) == ({"forwarded": 1, "left": 1}, 3)
    (message,) = receive(sqs, target, MessageAttributeNames=["All"])
    assert (message["Body"], message["MessageAttributes"]) == ("small", attributes)
    assert forward("no-url", target, capsys)[1] == 1
