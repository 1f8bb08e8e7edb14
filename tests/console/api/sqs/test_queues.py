"""Queues by boto3, in both protocols: creation, attributes, lists, purges and deletion."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from console.models import SqsQueue
from queues.models import AuditEvent, Queue
from tests.console.api.callers import Caller
from tests.console.api.sqs.test_messages import refusal
from tests.metrics.exposition import Exposition

Client = Any
Names = Callable[..., str]


def attributes(sqs: Client, url: str, *names: str) -> dict[str, str]:
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names or ["All"])).get("Attributes", {})


def test_a_queue_is_created_once(sqs: Client, new_name: Names) -> None:
    name, given = new_name(), {"VisibilityTimeout": "45", "DelaySeconds": "3", "MessageRetentionPeriod": "600"}
    url = sqs.create_queue(QueueName=name, Attributes=given, tags={"team": "blue"})["QueueUrl"]
    assert url.endswith(f"/sqs/000000000000/{name}")
    assert sqs.create_queue(QueueName=name, Attributes=given)["QueueUrl"] == url
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url
    code, text = refusal(sqs.create_queue, QueueName=name, Attributes={"DelaySeconds": "4"})
    assert (code, text) == (
        "QueueAlreadyExists",
        "A queue already exists with the same name and a different value for attribute DelaySeconds",
    )

    found = attributes(sqs, url)
    assert found.items() >= given.items()
    assert found["QueueArn"] == f"arn:aws:sqs:eu-central-1:000000000000:{name}"
    assert (found["MaximumMessageSize"], found["ReceiveMessageWaitTimeSeconds"]) == ("1048576", "0")
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "blue"}
    row = Queue.objects.get(name=name)
    assert (row.visibility_timeout_seconds, row.retention_seconds, row.delay_seconds) == (45, 600, 3)
    assert AuditEvent.objects.filter(queue_name=name, action="queue.create", actor__startswith="key:sqs-test").exists()


def test_attributes_are_changed_and_checked(sqs: Client, queue: str) -> None:
    sqs.set_queue_attributes(
        QueueUrl=queue,
        Attributes={"VisibilityTimeout": "0", "ReceiveMessageWaitTimeSeconds": "2", "MaximumMessageSize": "300000"},
    )
    row = Queue.objects.get(name=queue.rpartition("/")[2])
    assert (row.receive_wait_seconds, row.max_payload_bytes, row.max_large_body_bytes) == (2, 262_144, 300_000)
    names = ("VisibilityTimeout", "ReceiveMessageWaitTimeSeconds", "MaximumMessageSize", "SqsManagedSseEnabled")
    assert attributes(sqs, queue, *names) == {
        "VisibilityTimeout": "0",
        "ReceiveMessageWaitTimeSeconds": "2",
        "MaximumMessageSize": "300000",
        "SqsManagedSseEnabled": "true",
    }
    change = sqs.set_queue_attributes
    for wrong, code in (
        ({"VisibilityTimeout": "43201"}, "InvalidAttributeValue"),
        ({"DelaySeconds": "soon"}, "InvalidAttributeValue"),
        ({"Color": "blue"}, "InvalidAttributeName"),
        ({"FifoQueue": "true"}, "InvalidAttributeName"),
        ({"ContentBasedDeduplication": "true"}, "InvalidAttributeName"),
        ({"KmsMasterKeyId": "alias/aws/sqs"}, "AWS.SimpleQueueService.UnsupportedOperation"),
    ):
        assert refusal(change, QueueUrl=queue, Attributes=wrong)[0] == code
    assert refusal(sqs.get_queue_attributes, QueueUrl=queue, AttributeNames=["Nothing"]) == (
        "InvalidAttributeName",
        "Unknown Attribute Nothing.",
    )


def test_what_was_kept_for_sqs_alone_becomes_settings_of_the_queue(json_sqs: Client, new_name: Names) -> None:
    url = json_sqs.create_queue(QueueName=new_name(), Attributes={"SqsManagedSseEnabled": "false"})["QueueUrl"]
    row = SqsQueue.objects.get(queue_id=Queue.objects.get(name=url.rpartition("/")[2]).queue_id)
    row.attributes |= {"ReceiveMessageWaitTimeSeconds": "7", "MaximumMessageSize": "2048"}
    row.save()
    import_module("console.migrations.0004_sqs_settings").move(apps)

    names = ("ReceiveMessageWaitTimeSeconds", "MaximumMessageSize", "SqsManagedSseEnabled")
    assert list(attributes(json_sqs, url, *names).values()) == ["2048", "7", "false"]
    row.refresh_from_db()
    assert row.attributes == {"SqsManagedSseEnabled": "false"}


@pytest.mark.parametrize("name", ["with blank", "x" * 81, "dot.ted", "half.fifo"])
def test_names_are_checked(json_sqs: Client, name: str) -> None:
    assert refusal(json_sqs.create_queue, QueueName=name)[0] == "InvalidParameterValue"


def test_queues_are_listed_in_pages(sqs: Client, new_name: Names) -> None:
    prefix = new_name("-listed-")
    urls = sorted(sqs.create_queue(QueueName=f"{prefix}{number}")["QueueUrl"] for number in range(3))
    assert sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"] == urls
    first = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2)
    rest = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2, NextToken=first["NextToken"])
    assert (first["QueueUrls"] + rest["QueueUrls"], "NextToken" in rest) == (urls, False)
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=f"{prefix}none")


def test_a_purge_empties_the_queue_once_a_minute(sqs: Client, queue: str) -> None:
    sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": str(one), "MessageBody": "x"} for one in range(5)])
    sqs.receive_message(QueueUrl=queue)
    sqs.purge_queue(QueueUrl=queue)
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    assert set(attributes(sqs, queue, *names).values()) == {"0"}
    code, text = refusal(sqs.purge_queue, QueueUrl=queue)
    name = queue.rpartition("/")[2]
    assert (code, text) == (
        "AWS.SimpleQueueService.PurgeQueueInProgress",
        f"Only one PurgeQueue operation on {name} is allowed every 60 seconds.",
    )


def test_a_queue_is_deleted_with_its_messages(sqs: Client, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    sqs.delete_queue(QueueUrl=queue)

    code, text = refusal(sqs.send_message, QueueUrl=queue, MessageBody="x")
    assert code == "AWS.SimpleQueueService.NonExistentQueue"
    assert text in ("The specified queue does not exist.", "The specified queue does not exist for this wsdl version.")
    sqs.create_queue(QueueName=queue.rpartition("/")[2])
    assert attributes(sqs, queue, "ApproximateNumberOfMessages") == {"ApproximateNumberOfMessages": "0"}


def test_tags_are_added_and_removed(sqs: Client, queue: str) -> None:
    sqs.tag_queue(QueueUrl=queue, Tags={"a": "1", "b": ""})
    sqs.untag_queue(QueueUrl=queue, TagKeys=["a", "none"])
    assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"b": ""}


def test_operations_and_errors_are_counted(json_sqs: Client, stranger: Caller, new_name: Names) -> None:
    def counted(name: str, **labels: str) -> float:
        page = Exposition.parse(stranger.get("/metrics").content)
        return page.samples.get((f"signalbox_{name}", frozenset(labels.items())), 0.0)

    calls = ("api_request_duration_seconds_count", {"route": "SQS GetQueueUrl", "status": "4xx"})
    code = "AWS.SimpleQueueService.NonExistentQueue"
    errors = ("sqs_errors_total", {"operation": "GetQueueUrl", "code": code})
    before = [counted(name, **labels) for name, labels in (calls, errors)]
    assert refusal(json_sqs.get_queue_url, QueueName=new_name("-none"))[0] == code
    assert [counted(name, **labels) for name, labels in (calls, errors)] == [one + 1 for one in before]


def test_keys_reach_their_tenants_queues_only(connect_sqs: Callable[..., Client], new_name: Names) -> None:
    tenant, name = new_name("-tenant"), new_name()
    own, other = connect_sqs(tenant=tenant), connect_sqs("query", tenant=new_name("-other"))
    url = own.create_queue(QueueName=name)["QueueUrl"]
    account = url.split("/")[-2]
    assert account != "000000000000"
    assert attributes(own, url)["QueueArn"].split(":")[4] == account
    assert Queue.objects.get(name=name).tenant.name == tenant

    for call in (other.send_message, connect_sqs(prefix="none").send_message):
        assert refusal(call, QueueUrl=url, MessageBody="x")[0] == "AWS.SimpleQueueService.NonExistentQueue"
    assert "QueueUrls" not in other.list_queues()
    assert refusal(other.create_queue, QueueName=name)[0] == "QueueAlreadyExists"
    assert refusal(connect_sqs(prefix="a-").create_queue, QueueName="b")[0] == "AccessDenied"
    for wrong in (url.replace(account, "000000000000"), "http://elsewhere.example"):
        assert refusal(own.purge_queue, QueueUrl=wrong)[0] == "AWS.SimpleQueueService.NonExistentQueue"


def test_permissions_are_refused_with_what_to_do_instead(sqs: Client, queue: str) -> None:
    code, text = refusal(sqs.remove_permission, QueueUrl=queue, Label="x")
    assert (code, "API key" in text) == ("AWS.SimpleQueueService.UnsupportedOperation", True)
