"""FIFO queues and dead letters by boto3, in both protocols."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from console.api.sqs.messages import receiving
from dlq.jobs.models import Redrive
from tests.console.api.sqs.test_messages import refusal
from tests.console.api.sqs.test_queues import attributes

Client = Any
Names = Callable[..., str]
FIFO = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}


@pytest.fixture
def fifo(sqs: Client, new_name: Names) -> str:
    return sqs.create_queue(QueueName=new_name(".fifo"), Attributes=FIFO)["QueueUrl"]


def receive(sqs: Client, url: str, **wanted: Any) -> list[dict[str, Any]]:
    wanted = {"MaxNumberOfMessages": 10, "MessageSystemAttributeNames": ["All"], **wanted}
    return sqs.receive_message(QueueUrl=url, **wanted).get("Messages", [])


def test_groups_are_delivered_together_and_in_order(sqs: Client, fifo: str) -> None:
    bodies = ("a1", "b1", "a2", "a3")
    sent = [sqs.send_message(QueueUrl=fifo, MessageBody=body, MessageGroupId=body[0]) for body in bodies]
    assert [one["SequenceNumber"] for one in sent] == sorted(one["SequenceNumber"] for one in sent)

    first = receive(sqs, fifo, MaxNumberOfMessages=2)
    assert [one["Body"] for one in first] == ["a1", "a2"]
    assert [one["Body"] for one in receive(sqs, fifo)] == ["b1"]
    assert (
        first[0]["Attributes"].items()
        >= {
            "MessageGroupId": "a",
            "SequenceNumber": sent[0]["SequenceNumber"],
        }.items()
    )
    assert receive(sqs, fifo) == []
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=first[0]["ReceiptHandle"])
    assert receive(sqs, fifo) == []
    sqs.change_message_visibility(QueueUrl=fifo, ReceiptHandle=first[1]["ReceiptHandle"], VisibilityTimeout=0)
    assert [one["Body"] for one in receive(sqs, fifo)] == ["a2", "a3"]


def test_a_duplicate_is_accepted_and_not_delivered(sqs: Client, fifo: str) -> None:
    first = sqs.send_message(QueueUrl=fifo, MessageBody="x", MessageGroupId="g")
    again = sqs.send_message(QueueUrl=fifo, MessageBody="x", MessageGroupId="g")
    assert (again["MessageId"], again["SequenceNumber"]) == (first["MessageId"], first["SequenceNumber"])
    named = {"MessageGroupId": "g", "MessageDeduplicationId": "d"}
    other = sqs.send_message(QueueUrl=fifo, MessageBody="y", **named)
    entries = [
        {"Id": "1", "MessageBody": "another body", **named},
        {"Id": "2", "MessageBody": "z", "MessageGroupId": "g"},
    ]
    batch = sqs.send_message_batch(QueueUrl=fifo, Entries=entries)["Successful"]
    assert batch[0]["MessageId"] == other["MessageId"]
    assert attributes(sqs, fifo, "ApproximateNumberOfMessages") == {"ApproximateNumberOfMessages": "3"}

    sqs.set_queue_attributes(QueueUrl=fifo, Attributes={"DeduplicationScope": "messageGroup"})
    for group in ("h", "i", "i"):
        sqs.send_message(QueueUrl=fifo, MessageBody="x", MessageGroupId=group)
    assert attributes(sqs, fifo, "ApproximateNumberOfMessages") == {"ApproximateNumberOfMessages": "5"}


def test_fifo_rules_are_sqss(sqs: Client, fifo: str, queue: str) -> None:
    send, named = sqs.send_message, {"MessageBody": "x", "MessageGroupId": "g"}
    assert refusal(send, QueueUrl=fifo, MessageBody="x") == (
        "MissingParameter",
        "The request must contain the parameter MessageGroupId.",
    )
    assert "not valid for this queue type" in refusal(send, QueueUrl=fifo, **named, DelaySeconds=1)[1]
    assert "not valid for this queue type" in refusal(send, QueueUrl=queue, **named, MessageDeduplicationId="d")[1]
    assert refusal(send, QueueUrl=fifo, **named, MessageDeduplicationId="a b")[0] == "InvalidParameterValue"
    sqs.set_queue_attributes(QueueUrl=fifo, Attributes={"ContentBasedDeduplication": "false"})
    assert "ContentBasedDeduplication enabled" in refusal(send, QueueUrl=fifo, **named)[1]
    for entry, text in (
        ({"MessageDeduplicationId": "d"}, "The request must contain the parameter MessageGroupId."),
        ({"MessageGroupId": "g"}, "The queue should either have ContentBasedDeduplication enabled"),
    ):
        complete = {"Id": "1", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
        entries = [complete, {"Id": "2", "MessageBody": "x", **entry}]
        code, message = refusal(sqs.send_message_batch, QueueUrl=fifo, Entries=entries)
        assert (code, message.startswith(text)) == ("InvalidParameterValue", True)
    assert receive(sqs, fifo) == []
    configure = sqs.set_queue_attributes
    configure(QueueUrl=fifo, Attributes={"FifoQueue": "true"})
    assert "Modifying queue type" in refusal(configure, QueueUrl=fifo, Attributes={"FifoQueue": "false"})[1]
    assert "only when FifoQueue" in refusal(configure, QueueUrl=queue, Attributes={"DeduplicationScope": "queue"})[1]
    send(QueueUrl=queue, **named)  # fair queues
    assert receive(sqs, queue)[0]["Attributes"]["MessageGroupId"] == "g"


def test_a_message_that_upkeep_is_releasing_is_received_without_a_wait() -> None:
    claims = iter([[], ["released"]])

    async def claim() -> list[Any]:
        return next(claims)

    assert asyncio.run(receiving._claimed_beside_upkeep(claim)) == ["released"]


def test_an_attempt_can_be_repeated(sqs: Client, fifo: str) -> None:
    sqs.send_message(QueueUrl=fifo, MessageBody="x", MessageGroupId="g")
    (first,) = receive(sqs, fifo, ReceiveRequestAttemptId="one")
    assert receive(sqs, fifo, ReceiveRequestAttemptId="two") == []
    assert receive(sqs, fifo, ReceiveRequestAttemptId="one") == [first]
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=first["ReceiptHandle"])
    assert receive(sqs, fifo, ReceiveRequestAttemptId="one") == []


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_dead_letters_are_kept_listed_and_moved_back(sqs: Client, new_name: Names, suffix: str) -> None:
    given = FIFO if suffix else {}
    name, dead_name = new_name(suffix), new_name(f"-dead{suffix}")
    dead = sqs.create_queue(QueueName=dead_name, Attributes=given)["QueueUrl"]
    arn = attributes(sqs, dead)["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": "2"})
    url = sqs.create_queue(QueueName=name, Attributes={**given, "RedrivePolicy": policy})["QueueUrl"]
    found = attributes(sqs, url)
    assert json.loads(found["RedrivePolicy"]) == {"deadLetterTargetArn": arn, "maxReceiveCount": 2}
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == [url]
    assert attributes(sqs, dead).get("FifoQueue") == given.get("FifoQueue")

    group = {"MessageGroupId": "g"} if suffix else {}
    sent = sqs.send_message(QueueUrl=url, MessageBody="poison", **group)
    for _ in range(2):
        assert len(receive(sqs, url, VisibilityTimeout=0)) == 1
    assert receive(sqs, url) == []
    assert attributes(sqs, dead, "ApproximateNumberOfMessages") == {"ApproximateNumberOfMessages": "1"}

    sqs.start_message_move_task(SourceArn=arn)
    (task,) = sqs.list_message_move_tasks(SourceArn=arn)["Results"]
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 1)
    assert Redrive.objects.filter(source_queues__contains=[name], moved=1).exists()
    (again,) = receive(sqs, url, VisibilityTimeout=0)
    assert (again["Body"], again["Attributes"]["ApproximateReceiveCount"]) == ("poison", "1")

    receive(sqs, url, VisibilityTimeout=0)
    (letter,) = receive(sqs, dead)
    assert letter["Body"] == "poison"
    assert letter["Attributes"]["DeadLetterQueueSourceArn"] == found["QueueArn"]
    assert letter["Attributes"].get("MessageGroupId") == group.get("MessageGroupId")
    assert sent["MessageId"]


def test_a_dead_letter_queue_says_who_may_use_it(sqs: Client, new_name: Names) -> None:
    allow = json.dumps({"redrivePermission": "denyAll"})
    dead = sqs.create_queue(QueueName=new_name(), Attributes={"RedriveAllowPolicy": allow})["QueueUrl"]
    found = attributes(sqs, dead)
    assert json.loads(found["RedriveAllowPolicy"]) == {"redrivePermission": "denyAll"}
    target = found["QueueArn"]
    for policy, reason in (
        ({"deadLetterTargetArn": target, "maxReceiveCount": 3}, "is not allowed to use"),
        ({"deadLetterTargetArn": f"{target}-none", "maxReceiveCount": 3}, "Dead letter target does not exist"),
        ({"deadLetterTargetArn": target, "maxReceiveCount": 1001}, "valid values are from 1 to 1000"),
        ({"deadLetterTargetArn": target}, "does not contain mandatory attribute: maxReceiveCount"),
        ([], "is not a valid JSON map"),
    ):
        given = {"RedrivePolicy": json.dumps(policy)}
        code, text = refusal(sqs.create_queue, QueueName=new_name(), Attributes=given)
        assert (code, reason in text) == ("InvalidParameterValue", True), text


def test_moves_are_refused_in_sqss_words(sqs: Client, queue: str) -> None:
    arn = attributes(sqs, queue)["QueueArn"]
    assert "Dead Letter Queue" in refusal(sqs.start_message_move_task, SourceArn=arn)[1]
    assert refusal(sqs.list_message_move_tasks, SourceArn=f"{arn}-none")[0] == "ResourceNotFoundException"
    cancel = sqs.cancel_message_move_task
    assert refusal(cancel, TaskHandle="none") == (
        "InvalidParameterValue",
        "Value for parameter TaskHandle is invalid.",
    )
    handles = [b64encode(json.dumps({"taskId": "of-aws", "sourceArn": one}).encode()) for one in (arn, f"{arn}-none")]
    assert [refusal(cancel, TaskHandle=handle.decode()) for handle in handles] == [
        ("ResourceNotFoundException", "Task does not exist."),
        ("ResourceNotFoundException", "The resource that you specified for the SourceArn parameter doesn't exist."),
    ]


def test_a_move_with_a_rate_runs_until_it_is_cancelled(sqs: Client, new_name: Names) -> None:
    dead = sqs.create_queue(QueueName=new_name())["QueueUrl"]
    arn = attributes(sqs, dead)["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = sqs.create_queue(QueueName=new_name(), Attributes={"RedrivePolicy": policy})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="poison")
    receive(sqs, url, VisibilityTimeout=0)

    assert refusal(sqs.start_message_move_task, SourceArn=arn, MaxNumberOfMessagesPerSecond=501)[0] == (
        "InvalidParameterValue"
    )
    handle = sqs.start_message_move_task(SourceArn=arn, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    assert "already a task running" in refusal(sqs.start_message_move_task, SourceArn=arn)[1]
    (task,) = sqs.list_message_move_tasks(SourceArn=arn)["Results"]
    assert (task["Status"], task["TaskHandle"], task["MaxNumberOfMessagesPerSecond"]) == ("RUNNING", handle, 1)
    assert sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"] == 0
    (task,) = sqs.list_message_move_tasks(SourceArn=arn)["Results"]
    assert task["Status"] == "CANCELLED"
    assert refusal(sqs.cancel_message_move_task, TaskHandle=handle)[0] == "ResourceNotFoundException"
