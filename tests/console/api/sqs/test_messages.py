"""Messages by boto3, in both protocols, against a running server; botocore checks the MD5s of bodies itself."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.exceptions import ClientError

from tests.console.api.callers import Caller
from tests.console.api.sqs.clients import Credentials, client
from tests.console.api.sqs.test_signatures import signed
from tests.engine import Engine

Client = Any
TEXT = 'ünï \U0001f600 <&> "quoted"\t\r\n end'


def refusal(call: Callable[..., Any], **given: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as raised:
        call(**given)
    return raised.value.response["Error"]["Code"], raised.value.response["Error"]["Message"]


def _add_header(name: str, value: str) -> Callable[..., None]:
    def add(request: Any, **_: Any) -> None:
        request.headers[name] = value

    return add


def test_a_message_is_sent_received_and_deleted(sqs: Client, queue: str) -> None:
    attributes = {
        "city": {"DataType": "String", "StringValue": "Zürich"},
        "count": {"DataType": "Number", "StringValue": "007.50"},
        "größe": {"DataType": "String", "StringValue": "L"},
        "picture": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff\x10"},
        "sqs": {"DataType": "String", "StringValue": "a name of the endpoint's own"},
    }
    name = queue.rpartition("/")[2]  # SQS takes it for the URL
    trace = "Root=1-3152b799-8954dae64eda91bc9a23a7e8;Sampled=1"
    sqs.meta.events.register("before-send.sqs.SendMessage", _add_header("X-Amzn-Trace-Id", trace))
    sent = sqs.send_message(QueueUrl=name, MessageBody=TEXT, MessageAttributes=attributes)
    assert sent["MD5OfMessageBody"] == hashlib.md5(TEXT.encode()).hexdigest()

    (message,) = sqs.receive_message(
        QueueUrl=queue, MessageAttributeNames=["*"], MessageSystemAttributeNames=["All"], MaxNumberOfMessages=10
    )["Messages"]
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], TEXT)
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert message["Attributes"]["AWSTraceHeader"] == trace

    assert "Messages" not in sqs.receive_message(QueueUrl=queue)
    for _ in range(2):  # a second deletion is no error
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    counts = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessagesNotVisible"])
    assert counts["Attributes"] == {"ApproximateNumberOfMessagesNotVisible": "0"}


def test_a_binary_payload_arrives_as_base64(sqs: Client, queue: str, engine: Engine) -> None:
    engine.value("select signalbox.send_binary(%s, %s)", queue.rpartition("/")[2], b"\x00\xff\x10")
    (message,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    assert message["Body"] == "AP8Q"


def test_the_md5_of_attributes_is_that_of_awss_own_example(json_sqs: Client, new_name: Any) -> None:
    url = json_sqs.create_queue(QueueName=new_name())["QueueUrl"]
    attributes = {"timestamp": {"StringValue": "1493147359900", "DataType": "Number"}}
    sent = json_sqs.send_message(QueueUrl=url, MessageBody="derp", MessageAttributes=attributes)

    assert sent["MD5OfMessageAttributes"] == "235c5c510d26fb653d073faed50ae77c"


def test_batches_answer_for_each_entry(sqs: Client, queue: str) -> None:
    entries = [{"Id": f"n{number}", "MessageBody": f"body {number}"} for number in range(8)]
    entries += [{"Id": "late", "MessageBody": "x", "DelaySeconds": 901}, {"Id": "bad", "MessageBody": "\x01"}]
    answer = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
    assert [one["Id"] for one in answer["Successful"]] == [f"n{number}" for number in range(8)]
    assert {one["Id"]: one["Code"] for one in answer["Failed"]} == {
        "late": "InvalidParameterValue",
        "bad": "InvalidMessageContents",
    }

    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    handles = [{"Id": f"h{at}", "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]
    again = [{**one, "VisibilityTimeout": 60} for one in handles]
    changed = sqs.change_message_visibility_batch(QueueUrl=queue, Entries=again)
    assert (len(changed["Successful"]), "Failed" in changed) == (8, False)
    deleted = sqs.delete_message_batch(QueueUrl=queue, Entries=[*handles, {"Id": "bad", "ReceiptHandle": "none"}])
    assert len(deleted["Successful"]) == 8
    assert [(one["Id"], one["Code"], one["SenderFault"]) for one in deleted["Failed"]] == [
        ("bad", "ReceiptHandleIsInvalid", True)
    ]


def test_a_whole_batch_is_refused_in_sqss_words(sqs: Client, queue: str) -> None:
    service, entry = "AWS.SimpleQueueService.", {"Id": "a", "MessageBody": "x"}
    for entries, code in (
        ([{**entry, "Id": str(number)} for number in range(11)], "TooManyEntriesInBatchRequest"),
        ([entry, entry], "BatchEntryIdsNotDistinct"),
        ([{**entry, "Id": "no blanks"}], "InvalidBatchEntryId"),
        ([{"Id": str(one), "MessageBody": "x" * 300_000} for one in range(4)], "BatchRequestTooLong"),
    ):
        assert refusal(sqs.send_message_batch, QueueUrl=queue, Entries=entries)[0] == service + code


def test_a_long_poll_gets_a_message_that_is_sent_later(sqs: Client, queue: str) -> None:
    sender = threading.Timer(0.5, sqs.send_message, kwargs={"QueueUrl": queue, "MessageBody": "late"})
    sender.start()
    (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    sender.join()

    assert message["Body"] == "late"


def test_a_client_that_has_gone_gets_no_message(credentials: Callable[..., Credentials], new_name: Any) -> None:
    own = credentials()
    sqs = client(own)
    queue = sqs.create_queue(QueueName=new_name())["QueueUrl"]
    document = json.dumps({"QueueUrl": queue, "WaitTimeSeconds": 20}).encode()
    request = signed(own, SigV4Auth, "POST", "", document, **{"X-Amz-Target": "AmazonSQS.ReceiveMessage"})
    gone = HTTPConnection(urlsplit(own.url).netloc, timeout=30)
    gone.request("POST", urlsplit(request.url).path, document, dict(request.headers))
    gone.close()
    sqs.send_message(QueueUrl=queue, MessageBody="for another")

    found = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    assert [message["Body"] for message in found] == ["for another"]


def test_a_visibility_of_zero_returns_the_message(sqs: Client, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="again")
    (first,) = sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)["Messages"]
    (second,) = sqs.receive_message(QueueUrl=queue, AttributeNames=["ApproximateReceiveCount"])["Messages"]
    assert (second["MessageId"], second["Attributes"]) == (first["MessageId"], {"ApproximateReceiveCount": "2"})

    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=second["ReceiptHandle"], VisibilityTimeout=0)
    code, _ = refusal(
        sqs.change_message_visibility, QueueUrl=queue, ReceiptHandle=second["ReceiptHandle"], VisibilityTimeout=9
    )
    assert code == "AWS.SimpleQueueService.MessageNotInflight"
    assert len(sqs.receive_message(QueueUrl=queue)["Messages"]) == 1


def test_an_old_handle_deletes_what_was_not_received_again(sqs: Client, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="slow")
    first, second = (sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)["Messages"][0] for _ in range(2))
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=first["ReceiptHandle"])  # succeeds, and deletes nothing
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
    assert found == {"ApproximateNumberOfMessages": "1"}
    entries = [{"Id": one["ReceiptHandle"][-1], "ReceiptHandle": one["ReceiptHandle"]} for one in (first, second)]
    assert len(sqs.delete_message_batch(QueueUrl=queue, Entries=entries)["Successful"]) == 2
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


def test_each_door_reads_what_the_other_sent(json_sqs: Client, caller: Caller, engine: Engine) -> None:
    url = json_sqs.get_queue_url(QueueName=engine.queue)["QueueUrl"]
    body = {"name": "ünï", "order": 7}
    caller.post(f"/v1/queues/{engine.queue}/messages", {"body": body, "attributes": {"kind": "new", "size": 3}})
    (message,) = json_sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert message["Body"] == json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    assert message["MessageAttributes"]["size"] == {"DataType": "Number", "StringValue": "3"}

    json_sqs.send_message(QueueUrl=url, MessageBody=TEXT)
    answer = caller.post(f"/v1/queues/{engine.queue}/messages:receive", {})
    assert answer.document["messages"][0]["body"] == TEXT


def test_a_receive_that_names_no_wait_waits_as_the_queue_says(
    json_sqs: Client, caller: Caller, make_engine: Callable[..., Engine]
) -> None:
    brief, long = make_engine(receive_wait_seconds=0.2), make_engine(receive_wait_seconds=20)
    at = {one.queue: json_sqs.get_queue_url(QueueName=one.queue)["QueueUrl"] for one in (brief, long)}
    for receive in (
        lambda: json_sqs.receive_message(QueueUrl=at[brief.queue]),
        lambda: caller.post(f"/v1/queues/{brief.queue}/messages:receive", {}),
    ):
        began = time.monotonic()
        receive()
        assert time.monotonic() - began >= 0.2
    began = time.monotonic()
    json_sqs.receive_message(QueueUrl=at[long.queue], WaitTimeSeconds=0)
    caller.post(f"/v1/queues/{long.queue}/messages:receive", {"waitSeconds": 0})
    assert time.monotonic() - began < 20


def test_a_message_of_a_mebibyte_is_the_largest(json_sqs: Client, caller: Caller, new_name: Any) -> None:
    name = new_name()
    url = json_sqs.create_queue(QueueName=name)["QueueUrl"]
    json_sqs.send_message(QueueUrl=url, MessageBody='"' * 1_048_576)
    assert json_sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == '"' * 1_048_576

    json_sqs.set_queue_attributes(QueueUrl=url, Attributes={"MaximumMessageSize": "1024"})
    json_sqs.send_message(QueueUrl=url, MessageBody='"' * 1_024)
    code, text = refusal(json_sqs.send_message, QueueUrl=url, MessageBody="x" * 1_025)
    assert (code, "shorter than 1024 bytes" in text) == ("InvalidParameterValue", True)

    fits, too_large = {"body": "x" * 1_024}, {"body": "x" * 1_025}
    answer = caller.post(f"/v1/queues/{name}/messages", too_large)
    assert (answer.status, answer.fields) == (413, ["body"])
    answer = caller.post(f"/v1/queues/{name}/messages:batch", {"messages": [fits, too_large]})
    assert [one["status"] for one in answer.document["results"]] == ["accepted", "rejected"]
