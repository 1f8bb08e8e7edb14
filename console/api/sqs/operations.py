"""The table of operations: the scope, the input, the output and the function of each. Both protocols follow from it.

Botocore's service model of SQS describes the same shapes; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from console.api.sqs.call import Call
from console.api.sqs.messages import receiving, sending, settling
from console.api.sqs.protocols.shapes import BOOLEAN, BYTES, INTEGER, TEXT, ListOf, MapOf, Structure
from console.api.sqs.queues import moving
from console.api.sqs.queues import operations as queues


@dataclass(frozen=True)
class Operation:
    """An operation: `output` is None if its answer has no content."""

    scope: str
    run: Callable[[Call], Awaitable[Mapping[str, Any] | None]]
    input: Structure
    output: Structure | None = None
    changes: bool = True


_QUEUE = {"QueueUrl": TEXT}
_VALUE = Structure(
    {
        "DataType": TEXT,
        "StringValue": TEXT,
        "BinaryValue": BYTES,
        "StringListValues": ListOf(TEXT, "StringListValue"),
        "BinaryListValues": ListOf(BYTES, "BinaryListValue"),
    },
)
_QUEUE_ATTRIBUTES = MapOf(TEXT, "Attribute")
_TAGS = MapOf(TEXT, "Tag", "Key", "Value")
_MESSAGE_ATTRIBUTES = MapOf(_VALUE, "MessageAttribute")
_NEW_MESSAGE = {
    "MessageBody": TEXT,
    "DelaySeconds": INTEGER,
    "MessageAttributes": _MESSAGE_ATTRIBUTES,
    "MessageSystemAttributes": MapOf(_VALUE, "MessageSystemAttribute"),
    "MessageDeduplicationId": TEXT,
    "MessageGroupId": TEXT,
}
_SENT = {
    "MessageId": TEXT,
    "MD5OfMessageBody": TEXT,
    "MD5OfMessageAttributes": TEXT,
    "MD5OfMessageSystemAttributes": TEXT,
    "SequenceNumber": TEXT,
}
_MESSAGE = Structure(
    {
        "MessageId": TEXT,
        "ReceiptHandle": TEXT,
        "MD5OfBody": TEXT,
        "Body": TEXT,
        "Attributes": MapOf(TEXT, "Attribute"),
        "MD5OfMessageAttributes": TEXT,
        "MessageAttributes": _MESSAGE_ATTRIBUTES,
    }
)
_TASK = Structure(
    {
        "TaskHandle": TEXT,
        "Status": TEXT,
        "SourceArn": TEXT,
        "DestinationArn": TEXT,
        "MaxNumberOfMessagesPerSecond": INTEGER,
        "ApproximateNumberOfMessagesMoved": INTEGER,
        "ApproximateNumberOfMessagesToMove": INTEGER,
        "FailureReason": TEXT,
        "StartedTimestamp": INTEGER,
    }
)
_PAGE = {"NextToken": TEXT, "MaxResults": INTEGER}


def _on_queue(members: Mapping[str, Any] | None = None, *required: str) -> Structure:
    return Structure({**_QUEUE, **(members or {})}, ("QueueUrl", *required))


def _batch(operation: str, members: Mapping[str, Any], *required: str) -> Structure:
    entry = Structure({"Id": TEXT, **members}, ("Id", *required))
    return _on_queue({"Entries": ListOf(entry, f"{operation}RequestEntry")}, "Entries")


def _batch_results(operation: str, members: Mapping[str, Any] | None = None) -> Structure:
    failed = Structure({"Id": TEXT, "SenderFault": BOOLEAN, "Code": TEXT, "Message": TEXT})
    return Structure(
        {
            "Successful": ListOf(Structure({"Id": TEXT, **(members or {})}), f"{operation}ResultEntry"),
            "Failed": ListOf(failed, "BatchResultErrorEntry"),
        }
    )


OPERATIONS: dict[str, Operation] = {
    "SendMessage": Operation("send", sending.send_message, _on_queue(_NEW_MESSAGE, "MessageBody"), Structure(_SENT)),
    "SendMessageBatch": Operation(
        "send",
        sending.send_message_batch,
        _batch("SendMessageBatch", _NEW_MESSAGE, "MessageBody"),
        _batch_results("SendMessageBatch", _SENT),
    ),
    "ReceiveMessage": Operation(
        "receive",
        receiving.receive_message,
        _on_queue(
            {
                "AttributeNames": ListOf(TEXT, "AttributeName"),
                "MessageSystemAttributeNames": ListOf(TEXT, "MessageSystemAttributeName"),
                "MessageAttributeNames": ListOf(TEXT, "MessageAttributeName"),
                "MaxNumberOfMessages": INTEGER,
                "VisibilityTimeout": INTEGER,
                "WaitTimeSeconds": INTEGER,
                "ReceiveRequestAttemptId": TEXT,
            }
        ),
        Structure({"Messages": ListOf(_MESSAGE, "Message")}),
    ),
    "DeleteMessage": Operation("receive", settling.delete_message, _on_queue({"ReceiptHandle": TEXT}, "ReceiptHandle")),
    "DeleteMessageBatch": Operation(
        "receive",
        settling.delete_message_batch,
        _batch("DeleteMessageBatch", {"ReceiptHandle": TEXT}, "ReceiptHandle"),
        _batch_results("DeleteMessageBatch"),
    ),
    "ChangeMessageVisibility": Operation(
        "receive",
        settling.change_message_visibility,
        _on_queue({"ReceiptHandle": TEXT, "VisibilityTimeout": INTEGER}, "ReceiptHandle", "VisibilityTimeout"),
    ),
    "ChangeMessageVisibilityBatch": Operation(
        "receive",
        settling.change_message_visibility_batch,
        _batch("ChangeMessageVisibilityBatch", {"ReceiptHandle": TEXT, "VisibilityTimeout": INTEGER}, "ReceiptHandle"),
        _batch_results("ChangeMessageVisibilityBatch"),
    ),
    "CreateQueue": Operation(
        "configure",
        queues.create_queue,
        Structure({"QueueName": TEXT, "Attributes": _QUEUE_ATTRIBUTES, "tags": _TAGS}, ("QueueName",)),
        Structure(_QUEUE),
    ),
    "DeleteQueue": Operation("configure", queues.delete_queue, _on_queue()),
    "GetQueueUrl": Operation(
        "read",
        queues.get_queue_url,
        Structure({"QueueName": TEXT, "QueueOwnerAWSAccountId": TEXT}, ("QueueName",)),
        Structure(_QUEUE),
        changes=False,
    ),
    "ListQueues": Operation(
        "read",
        queues.list_queues,
        Structure({"QueueNamePrefix": TEXT, **_PAGE}),
        Structure({"QueueUrls": ListOf(TEXT, "QueueUrl"), "NextToken": TEXT}),
        changes=False,
    ),
    "GetQueueAttributes": Operation(
        "read",
        queues.get_queue_attributes,
        _on_queue({"AttributeNames": ListOf(TEXT, "AttributeName")}),
        Structure({"Attributes": _QUEUE_ATTRIBUTES}),
        changes=False,
    ),
    "SetQueueAttributes": Operation(
        "configure", queues.set_queue_attributes, _on_queue({"Attributes": _QUEUE_ATTRIBUTES}, "Attributes")
    ),
    "PurgeQueue": Operation("purge", queues.purge_queue, _on_queue()),
    "ListDeadLetterSourceQueues": Operation(
        "read",
        queues.list_dead_letter_source_queues,
        _on_queue(_PAGE),
        Structure({"queueUrls": ListOf(TEXT, "QueueUrl"), "NextToken": TEXT}),
        changes=False,
    ),
    "StartMessageMoveTask": Operation(
        "redrive",
        moving.start_message_move_task,
        Structure({"SourceArn": TEXT, "DestinationArn": TEXT, "MaxNumberOfMessagesPerSecond": INTEGER}, ("SourceArn",)),
        Structure({"TaskHandle": TEXT}),
    ),
    "ListMessageMoveTasks": Operation(
        "redrive",
        moving.list_message_move_tasks,
        Structure({"SourceArn": TEXT, "MaxResults": INTEGER}, ("SourceArn",)),
        Structure({"Results": ListOf(_TASK, "ListMessageMoveTasksResultEntry")}),
        changes=False,
    ),
    "CancelMessageMoveTask": Operation(
        "redrive",
        moving.cancel_message_move_task,
        Structure({"TaskHandle": TEXT}, ("TaskHandle",)),
        Structure({"ApproximateNumberOfMessagesMoved": INTEGER}),
    ),
    "ListQueueTags": Operation("read", queues.list_queue_tags, _on_queue(), Structure({"Tags": _TAGS}), changes=False),
    "TagQueue": Operation("configure", queues.tag_queue, _on_queue({"Tags": _TAGS}, "Tags")),
    "UntagQueue": Operation("configure", queues.untag_queue, _on_queue({"TagKeys": ListOf(TEXT, "TagKey")}, "TagKeys")),
    "AddPermission": Operation(
        "configure",
        queues.refuse_permission,
        _on_queue(
            {
                "Label": TEXT,
                "AWSAccountIds": ListOf(TEXT, "AWSAccountId"),
                "Actions": ListOf(TEXT, "ActionName"),
            },
            "Label",
            "AWSAccountIds",
            "Actions",
        ),
    ),
    "RemovePermission": Operation("configure", queues.refuse_permission, _on_queue({"Label": TEXT}, "Label")),
}
"""By the name that a request gives."""
