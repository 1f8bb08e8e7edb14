"""The command `signalbox sqs forward`: moves the messages of an SQS queue to another one, to change the service.

A message is deleted from the source after the target has accepted it. So a forwarder can be stopped and started at any
time, and several forwarders can share the work. A message can arrive twice in a standard queue, as SQS itself delivers.
In a FIFO queue the deduplication id prevents that for five minutes, and the messages of a group keep their order.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from signalbox.cli.command import DONE, INTERRUPTED, NOTHING, REFUSED

Message = Mapping[str, Any]

MAX_WAIT_SECONDS = 20
LEASE_SECONDS = 120
BATCH_BYTES = 900_000  # below the limit of a batch, which counts attributes too
COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
FIFO = ".fifo"

_REGION = re.compile(r"sqs\.([a-z0-9-]+)\.amazonaws\.com")


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the command `forward` with its options."""
    commands = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    command = commands.add_parser("forward", help=forward.__doc__, description=forward.__doc__)
    for name in ("from", "to"):
        command.add_argument(f"--{name}", required=True, metavar="URL", dest=f"{name}_url", help="URL of an SQS queue")
        command.add_argument(f"--{name}-profile", metavar="NAME", help="profile of AWS with the credentials for it")
    command.add_argument("--region", default="us-east-1", help="region of queues whose URL names none")
    idle = "seconds without a message after which it ends (default 60); 0: it never ends"
    command.add_argument("--idle", type=float, default=60.0, metavar="S", help=idle)
    command.add_argument("--json", action="store_true", help="print one JSON object at the end")


def forward_if_asked(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Run the forwarder, which has addresses of its own, and exit; do nothing for other commands."""
    if args.command != "sqs":
        return
    try:
        parser.exit(forward(args))
    except KeyboardInterrupt:
        parser.exit(INTERRUPTED)


def forward(args: argparse.Namespace) -> int:
    """Move the messages of an SQS queue to another one. Exit status 3: messages are left in flight or delayed."""
    try:
        import boto3  # noqa: F401 - only this command needs it
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        sys.stderr.write("signalbox: this command needs boto3. Install signalbox-queue with the extra 'sqs'.\n")
        return REFUSED
    try:
        forwarder = Forwarder(
            _client(args.from_url, args.from_profile, args.region),
            args.from_url,
            _client(args.to_url, args.to_profile, args.region),
            args.to_url,
        )
        forwarder.run(args.idle)
        left = forwarder.left()
    except (BotoCoreError, ClientError, ValueError) as error:
        sys.stderr.write(f"signalbox: {error}\n")
        return REFUSED
    found = {"forwarded": forwarder.forwarded, "left": left}
    sys.stdout.write((json.dumps(found) if args.json else f"forwarded {forwarder.forwarded}, left {left}") + "\n")
    return NOTHING if left else DONE


def _client(url: str, profile: str | None, region: str) -> Any:
    import boto3

    parts = urlsplit(url)
    account = re.fullmatch(r"(.*)/[0-9]{12}/[^/]+", parts.path)
    if account is None or not parts.netloc:
        raise ValueError(f"{url!r} is not the URL of an SQS queue")
    named = _REGION.search(parts.netloc)
    endpoint = f"{parts.scheme}://{parts.netloc}{account[1]}"
    session = boto3.Session(profile_name=profile, region_name=named[1] if named else region)
    return session.client("sqs", endpoint_url=endpoint)


class Forwarder:
    """A loop that receives from one queue and sends to another."""

    def __init__(self, source: Any, source_url: str, target: Any, target_url: str) -> None:
        self.forwarded = 0
        self._source = source
        self._source_url = source_url
        self._target = target
        self._target_url = target_url

    def run(self, idle_seconds: float) -> None:
        """Forward until no message has come for this time; 0: forever."""
        idle_since = time.monotonic()
        while not idle_seconds or time.monotonic() - idle_since <= idle_seconds:
            if messages := self._receive(idle_seconds):
                self.forward(messages)
                idle_since = time.monotonic()

    def forward(self, messages: list[Message]) -> None:
        """Send messages and delete those that were accepted. After a refusal, the rest of its group waits."""
        refused: set[str] = set()
        for together in _in_turns(messages):
            sendable = [one for one in together if _group(one) not in refused]
            refused |= {_group(one) for one in self._send(sendable)} - {""}

    def left(self) -> int:
        """Count the messages that the source still has, in any state."""
        found = self._source.get_queue_attributes(QueueUrl=self._source_url, AttributeNames=list(COUNTS))["Attributes"]
        return sum(int(found[name]) for name in COUNTS)

    def _receive(self, idle_seconds: float) -> list[Message]:
        wait = MAX_WAIT_SECONDS if not idle_seconds else min(MAX_WAIT_SECONDS, max(1, int(idle_seconds)))
        found: list[Message] = self._source.receive_message(
            QueueUrl=self._source_url,
            MaxNumberOfMessages=10,
            WaitTimeSeconds=wait,
            VisibilityTimeout=LEASE_SECONDS,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages", [])
        return found

    def _send(self, messages: list[Message]) -> list[Message]:
        """Send messages, delete the accepted ones from the source, and return the refused ones."""
        refused: list[Message] = []
        for batch in _batches(messages):
            entries = [{"Id": str(number), **self._entry(one)} for number, one in enumerate(batch)]
            answer = self._target.send_message_batch(QueueUrl=self._target_url, Entries=entries)
            accepted = [batch[int(one["Id"])] for one in answer.get("Successful", ())]
            for failure in answer.get("Failed", ()):
                message = batch[int(failure["Id"])]
                refused.append(message)
                sys.stderr.write(f"signalbox: {message['MessageId']} was refused: {failure.get('Message', '')}\n")
            self._delete(accepted)
        return refused

    def _delete(self, messages: list[Message]) -> None:
        if messages:
            entries = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]
            self._source.delete_message_batch(QueueUrl=self._source_url, Entries=entries)
            self.forwarded += len(messages)

    def _entry(self, message: Message) -> dict[str, Any]:
        facts = message.get("Attributes", {})
        entry: dict[str, Any] = {"MessageBody": message["Body"]}
        if "MessageAttributes" in message:
            entry["MessageAttributes"] = message["MessageAttributes"]
        if "AWSTraceHeader" in facts:
            header = {"DataType": "String", "StringValue": facts["AWSTraceHeader"]}
            entry["MessageSystemAttributes"] = {"AWSTraceHeader": header}
        if "MessageGroupId" in facts:
            entry["MessageGroupId"] = facts["MessageGroupId"]
        if self._target_url.endswith(FIFO):
            entry["MessageDeduplicationId"] = facts.get("MessageDeduplicationId", message["MessageId"])
            entry.setdefault("MessageGroupId", message["MessageId"])
        return entry


def _group(message: Message) -> str:
    facts = message.get("Attributes", {})
    return str(facts["MessageGroupId"]) if "SequenceNumber" in facts else ""


def _in_turns(messages: Iterable[Message]) -> list[list[Message]]:
    """Split messages so that each list has at most one of each FIFO group, in order."""
    turns: dict[int, list[Message]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for message in messages:
        group = _group(message)
        turns[seen[group] if group else 0].append(message)
        seen[group] += 1
    return [turns[turn] for turn in sorted(turns)]


def _batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Split messages into batches that are small enough together."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        length = len(message["Body"].encode())
        if batch and size + length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch
