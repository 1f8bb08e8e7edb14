"""Local server with the S3 API, and an archive in one of its buckets."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import boto3
import pytest
from moto.server import ThreadedMotoServer

REGION = "eu-west-1"
SECRET = "an-unlikely-secret-of-the-tests"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "an-unlikely-key-of-the-tests", "AWS_SECRET_ACCESS_KEY": SECRET}


@pytest.fixture(scope="session")
def bucket_url() -> Iterator[str]:
    """Bucket for an archive; its credentials are in the environment only (`credentials`)."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    bucket = f"signalbox-{uuid.uuid4().hex[:8]}"  # servers of one process know each other's
    boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name=REGION,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=SECRET,
    ).create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    where = urlencode({"endpoint_override": f"{host}:{port}", "scheme": "http", "region": REGION})
    yield f"s3://{bucket}/FOLDER?{where}"
    server.stop()


@contextmanager
def credentials() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in CREDENTIALS.items():
            environment.setenv(name, value)
        yield
