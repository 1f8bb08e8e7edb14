"""openapi-python-client generates a client from our document, complete, and it walks a message's life."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

WALK = """
import sys
from generated import AuthenticatedClient
from generated.api.messages import ack_message, get_message_outcome, nack_message, receive_messages, send_message
from generated.api.queues import create_queue, get_queue
from generated.models import Ack, Nack, NewMessage, NewQueue, Problem, Receive

url, key, queue = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)
create_queue.sync(client=client, body=NewQueue(name=queue, backoff_base_seconds=0))
sent = send_message.sync(queue, client=client, body=NewMessage(body={"order": 1}))
first = receive_messages.sync(queue, client=client).messages[0]
nack_message.sync(queue, first.receipt_handle, client=client, body=Nack(error="late", delay_seconds=0))
again = receive_messages.sync(queue, client=client, body=Receive(max_messages=10, wait_seconds=5)).messages[0]
assert (again.message_id, again.body, again.receive_count) == (sent.message_id, {"order": 1}, 2), again
ack_message.sync(queue, again.receipt_handle, client=client, body=Ack(result={"total": 7}))
outcome = get_message_outcome.sync(queue, sent.message_id, client=client)
assert (outcome.outcome, outcome.result) == ("acked", {"total": 7}), outcome
assert get_queue.sync(queue, client=client).messages.ready == 0
refused = get_queue.sync(f"{queue}-none", client=client)
assert isinstance(refused, Problem) and refused.status == 404, refused
"""


@pytest.mark.timeout(600)
def test_a_generated_client_walks_a_messages_life(openapi: Path, console: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    generated = subprocess.run(
        [*command, "--path", openapi, "--output-path", tmp_path / "generated"],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert generated.returncode == 0, generated.stdout + generated.stderr

    walked = subprocess.run(
        [sys.executable, "-c", WALK, *console.values(), f"generated-{uuid4().hex[:8]}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert walked.returncode == 0, walked.stderr
