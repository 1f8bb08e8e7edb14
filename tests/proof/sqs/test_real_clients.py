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
from botocore.client import BaseClient
from kombu import Connection

from console.access.api_keys import ALL, keys
from console.demo import sqs as demo
from queues.control.queues import create_queue
from tests.console.api.sqs.clients import client
from tests.proof.sqs.conftest import Endpoint

pytestmark = [pytest.mark.proof, pytest.mark.usefixtures("commits")]

WITHIN_SECONDS = 90
TASKS = """
import pathlib
from celery import Celery

app = Celery("tasks", broker="{broker}")
app.conf.broker_transport_options = {{"region": "us-east-1", "wait_time_seconds": 5}}
app.conf.task_default_queue = "celery-by-sqs"
app.conf.worker_enable_remote_control = False
app.conf.task_acks_late, app.conf.task_acks_on_failure_or_timeout = True, False

@app.task
def write(path, text):
    if not pathlib.Path("repaired").exists():
        raise RuntimeError("broken")
    pathlib.Path(path).write_text(text)
"""


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + WITHIN_SECONDS
    while not is_so():
        assert process.poll() is None, "the program has ended"
        assert time.monotonic() < ends_at, "it took too long"
        time.sleep(0.2)


def test_celery_goes_the_whole_way(endpoint: Endpoint, tmp_path: Path) -> None:
    """A task fails until its message is a dead letter; moved back, it is done."""
    own = endpoint.credentials("celery")
    sqs = client(own)
    _, dead, arn = make_queues(calls_of(sqs), "celery-by-sqs", VisibilityTimeout="2")
    broker = f"sqs://{own.access_key_id}:{own.secret}@127.0.0.1:{endpoint.port}//"
    (tmp_path / "tasks.py").write_text(TASKS.format(broker=broker))
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment["PYTHONPATH"] = f"{tmp_path}:{tmp_path / 'packages'}"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "packages")]
    subprocess.run([*install, "pycurl==7.49.0"], check=True, timeout=240)  # kombu's worker needs it for SQS alone
    celery = [sys.executable, "-m", "celery", "-A", "tasks"]

    def died() -> bool:
        counts = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])
        return bool(counts["Attributes"]["ApproximateNumberOfMessages"] == "1")

    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [*celery, "worker", "--pool", "solo", "-l", "info"], env=environment, cwd=tmp_path, stdout=log, stderr=log
        )
        try:
            arguments = json.dumps([str(tmp_path / "written"), "done by SQS"])
            subprocess.run(
                [*celery, "call", "tasks.write", "--args", arguments], env=environment, check=True, cwd=tmp_path
            )
            wait_until(died, worker)
            (tmp_path / "repaired").touch()
            sqs.start_message_move_task(SourceArn=arn)
            wait_until((tmp_path / "written").exists, worker)
        finally:
            worker.terminate()
            worker.wait(30)
            sys.stderr.write((tmp_path / "worker.log").read_text()[-3_000:])
    assert (tmp_path / "written").read_text() == "done by SQS"


PROGRAM = """
import * as sdk from "@aws-sdk/client-sqs";
import { createInterface } from "node:readline";

const [endpoint, accessKeyId, secretAccessKey] = process.argv.slice(2);
const sqs = new sdk.SQSClient({ endpoint, region: "us-east-1", credentials: { accessKeyId, secretAccessKey } });
for await (const line of createInterface({ input: process.stdin })) {
  const [operation, given] = JSON.parse(line);
  const { $metadata, ...answer } = await sqs.send(new sdk[`${operation}Command`](given));
  console.log(JSON.stringify(answer));
}
"""
PACKAGE = "@aws-sdk/client-sqs@3"


def test_the_javascript_sdk_goes_the_whole_way(endpoint: Endpoint, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    own = endpoint.credentials("javascript")
    subprocess.run(["npm", "install", "--silent", "--no-audit", PACKAGE], cwd=tmp_path, check=True, timeout=240)
    (tmp_path / "program.mjs").write_text(PROGRAM)
    command = ["node", "program.mjs", own.url, own.access_key_id, own.secret]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def call(operation: str, **given: Any) -> Any:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(json.dumps([operation.title().replace("_", ""), given]) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        whole_way(call, "javascript")


def test_boto3_goes_the_whole_way(endpoint: Endpoint) -> None:
    whole_way(calls_of(client(endpoint.credentials("boto3"))), "boto3")


def calls_of(sqs: BaseClient) -> Callable[..., Any]:
    """Call an operation of boto3 by its name."""
    return lambda operation, **given: getattr(sqs, operation)(**given)


def whole_way(
    call: Callable[..., dict[str, Any]], name: str, move: Callable[..., dict[str, Any]] | None = None
) -> None:
    """Send, long-poll, fail twice, die, and move back; `move` moves for clients older than that operation."""
    url, _, arn = make_queues(call, name)
    call("send_message", QueueUrl=url, MessageBody="poison")
    for _ in range(2):
        (message,) = call("receive_message", QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        call("change_message_visibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    assert "Messages" not in call("receive_message", QueueUrl=url)
    (move or call)("start_message_move_task", SourceArn=arn)
    (message,) = call("receive_message", QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert message["Body"] == "poison"
    call("delete_message", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def make_queues(call: Callable[..., dict[str, Any]], name: str, **attributes: str) -> tuple[str, str, str]:
    """Make a queue whose messages die at their second delivery; return its URL, and URL and ARN of the dead letters."""
    dead = call("create_queue", QueueName=f"{name}-dead")["QueueUrl"]
    arn = call("get_queue_attributes", QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    url = call("create_queue", QueueName=name, Attributes={"RedrivePolicy": policy, **attributes})["QueueUrl"]
    return url, dead, arn


def test_the_lines_of_the_demo_work_as_pasted(endpoint: Endpoint) -> None:
    """Each line follows its label; the last is a setting of Celery, which is Python."""
    if shutil.which("aws") is None:
        pytest.skip("the AWS CLI is not installed")
    made = keys.create("demo-lines", ALL, actor="test", sqs=True)
    create_queue(demo.QUEUE, tenant=demo.TENANT, actor="test")
    aws, boto3, celery = (line[15:] for line in demo.lines(made, endpoint.port).splitlines())
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    answers = [
        subprocess.run(line, shell=True, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout
        for line in (aws, boto3)
    ]
    assert ("MessageId" in answers[0], answers[1]) == (True, "hello\n")

    setting: dict[str, str] = {}
    exec(celery, setting)
    with Connection(setting["broker_url"]) as connection:
        assert connection.default_channel.sqs().list_queues()["QueueUrls"]


def test_the_aws_cli_goes_the_whole_way(endpoint: Endpoint) -> None:
    program = shutil.which("aws", path="/usr/bin") or shutil.which("aws")  # the first is Debian's
    if program is None or subprocess.run([program, "--version"], capture_output=True).returncode:
        pytest.skip("the AWS CLI is not installed")
    own = endpoint.credentials("aws-cli")
    names = {"AWS_ACCESS_KEY_ID": own.access_key_id, "AWS_SECRET_ACCESS_KEY": own.secret}
    environment = {**os.environ, **names, "AWS_DEFAULT_REGION": "us-east-1"}

    def call(operation: str, **given: Any) -> Any:
        words = [operation.replace("_", "-"), "--cli-input-json", json.dumps(given)]
        command = [program, "--endpoint-url", own.url, "--output", "json", "sqs", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WITHIN_SECONDS)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else {}

    whole_way(call, "aws-cli", calls_of(client(own)))  # Debian's is of 2022
