"""The SQS endpoint in the demo: its port, and lines to paste into a terminal."""

from __future__ import annotations

import socket

from django.conf import settings

from console.access.api_keys.keys import NewKey
from console.api.sqs.accounts import account_of

HOST = "127.0.0.1"
PORT = 9324
QUEUE, TENANT = "ledger-export", "initech"
"""A queue of the demo that no worker receives from, so that its messages can be received by hand."""

LINES = """  SQS          AWS_ACCESS_KEY_ID={key} AWS_SECRET_ACCESS_KEY={secret} AWS_DEFAULT_REGION=us-east-1 aws \
--endpoint-url {endpoint} sqs send-message --queue-url {url} --message-body hello
               python -c 'import boto3; sqs = boto3.client("sqs", endpoint_url="{endpoint}", region_name="us-east-1", \
aws_access_key_id="{key}", aws_secret_access_key="{secret}"); sqs.send_message(QueueUrl="{url}", MessageBody="hello"); \
print(sqs.receive_message(QueueUrl="{url}", WaitTimeSeconds=20)["Messages"][0]["Body"])'
               broker_url = "sqs://{key}:{secret}@{host}:{port}//"
"""


def port() -> int:
    """Return the port of the SQS endpoint: SQS_PORT, else ElasticMQ's port if it is free; 0 is none."""
    if settings.SQS_PORT:
        return settings.SQS_PORT
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, PORT))
        except OSError:
            return 0
    return PORT


def lines(made: NewKey, port: int) -> str:
    """Return a call of the AWS CLI, lines of boto3 and Celery's broker_url; nothing without a port."""
    if not port:
        return ""
    endpoint = f"http://{HOST}:{port}"
    return LINES.format(
        key=made.row.identifier,
        secret=made.secret,
        endpoint=endpoint,
        url=f"{endpoint}/{account_of(TENANT)}/{QUEUE}",
        host=HOST,
        port=port,
    )
