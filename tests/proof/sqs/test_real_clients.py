"""Real clients of SQS work unchanged: each sends, polls, fails, and finds its dead letters moved back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.console.api.sqs.clients import Credentials, client
from tests.proof.sqs.conftest import Endpoint

pytestmark = [pytest.mark.proof, pytest.mark.usefixtures("commits")]

WITHIN_SECONDS = 90
TASKS = """
import pathlib
from celery import Celery

app = Celery("tasks", broker="{broker}")
app.conf.broker_transport_options = {{"region": "us-east-1", "wait_time_seconds": 5, "visibility_timeout": 30}}
app.conf.task_default_queue = "celery-by-sqs"
app.conf.worker_enable_remote_control = False

@app.task
def write(path, text):
    pathlib.Path(path).write_text(text)
"""


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + WITHIN_SECONDS
    while not is_so():
        assert process.poll() is None, "the program has ended"
        assert time.monotonic() < ends_at, "it took too long"
        time.sleep(0.2)


def test_celery_runs_tasks_over_the_endpoint(endpoint: Endpoint, tmp_path: Path) -> None:
    own = endpoint.credentials("celery")
    broker = f"sqs://{own.access_key_id}:{own.secret}@127.0.0.1:{endpoint.port}//"
    (tmp_path / "tasks.py").write_text(TASKS.format(broker=broker))
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment["PYTHONPATH"] = f"{tmp_path}:{tmp_path / 'packages'}"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "packages")]
    subprocess.run([*install, "pycurl==7.49.0"], check=True, timeout=240)  # kombu's worker needs it for SQS alone
    celery = [sys.executable, "-m", "celery", "-A", "tasks"]
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [*celery, "worker", "--pool", "solo", "-l", "info"], env=environment, cwd=tmp_path, stdout=log, stderr=log
        )
        try:
            arguments = json.dumps([str(tmp_path / "written"), "done by SQS"])
            subprocess.run(
                [*celery, "call", "tasks.write", "--args", arguments], env=environment, check=True, cwd=tmp_path
            )
            wait_until((tmp_path / "written").exists, worker)
        finally:
            worker.terminate()
            worker.wait(30)
            sys.stderr.write((tmp_path / "worker.log").read_text()[-3_000:])
    assert (tmp_path / "written").read_text() == "done by SQS"


PROGRAM = """
import {{ SQSClient, CreateQueueCommand, SendMessageCommand, ReceiveMessageCommand, DeleteMessageCommand }}
  from "@aws-sdk/client-sqs";

const sqs = new SQSClient({{
  endpoint: "{url}", region: "us-east-1", credentials: {{ accessKeyId: "{key}", secretAccessKey: "{secret}" }},
}});
const {{ QueueUrl }} = await sqs.send(new CreateQueueCommand({{ QueueName: "javascript" }}));
const MessageAttributes = {{ picture: {{ DataType: "Binary", BinaryValue: new Uint8Array([0, 255]) }} }};
await sqs.send(new SendMessageCommand({{ QueueUrl, MessageBody: "hello", MessageAttributes }}));
const {{ Messages: [message] }} = await sqs.send(new ReceiveMessageCommand({{
  QueueUrl, WaitTimeSeconds: 20, MessageAttributeNames: ["All"],
}}));
await sqs.send(new DeleteMessageCommand({{ QueueUrl, ReceiptHandle: message.ReceiptHandle }}));
console.log(JSON.stringify([message.Body, [...message.MessageAttributes.picture.BinaryValue]]));
"""
PACKAGE = "@aws-sdk/client-sqs@3"


def test_the_javascript_sdk_sends_and_receives(endpoint: Endpoint, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    own = endpoint.credentials("javascript")
    subprocess.run(["npm", "install", "--silent", "--no-audit", PACKAGE], cwd=tmp_path, check=True, timeout=240)
    program = PROGRAM.format(url=own.url, key=own.access_key_id, secret=own.secret)
    (tmp_path / "program.mjs").write_text(program)
    done = subprocess.run(["node", "program.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=WITHIN_SECONDS)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["hello", [0, 255]]


def test_boto3_goes_the_whole_way(endpoint: Endpoint) -> None:
    sqs = client(endpoint.credentials("boto3"))
    whole_way(
        lambda operation, **given: getattr(sqs, operation)(**given),
        "boto3",
    )


def whole_way(call: Callable[..., dict[str, Any]], name: str) -> None:
    """Send, long-poll, fail twice, die, and move back."""
    dead = call("create_queue", QueueName=f"{name}-dead")["QueueUrl"]
    arn = call("get_queue_attributes", QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    url = call("create_queue", QueueName=name, Attributes={"RedrivePolicy": policy})["QueueUrl"]
    call("send_message", QueueUrl=url, MessageBody="poison")
    for _ in range(2):
        (message,) = call("receive_message", QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        call("change_message_visibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    assert "Messages" not in call("receive_message", QueueUrl=url)
    call("start_message_move_task", SourceArn=arn)
    (message,) = call("receive_message", QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert message["Body"] == "poison"
    call("delete_message", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def test_the_aws_cli_sends_and_receives(endpoint: Endpoint) -> None:
    own = endpoint.credentials("aws-cli")
    if aws(own, "--version") is None:
        pytest.skip("the AWS CLI is not installed")
    url = aws(own, "create-queue", "--queue-name", "aws-cli")["QueueUrl"]
    aws(own, "send-message", "--queue-url", url, "--message-body", "hello")
    (message,) = aws(own, "receive-message", "--queue-url", url, "--wait-time-seconds", "20")["Messages"]
    assert message["Body"] == "hello"


def aws(own: Credentials, *words: str) -> Any:
    """Call the AWS CLI; None if there is none that works."""
    program = shutil.which("aws")
    if program is None:
        return None
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": own.access_key_id,
        "AWS_SECRET_ACCESS_KEY": own.secret,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    command = [
        program,
        *(() if words == ("--version",) else ("--endpoint-url", own.url, "--output", "json", "sqs")),
        *words,
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WITHIN_SECONDS)
    if words == ("--version",):
        return done.stdout if done.returncode == 0 else None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else {}
