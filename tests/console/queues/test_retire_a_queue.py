"""The end of a queue: closed, drained, deleted; in the console and from a terminal."""

from __future__ import annotations

import io
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from queues.control import queues as control
from queues.models import AuditEvent, Queue
from tests.console.browsers import Browser
from tests.engine import Engine


def queues(*words: str, **options: Any) -> str:
    answer = io.StringIO()
    call_command("queues", *words, stdout=answer, **options)
    return answer.getvalue()


def test_from_its_settings_to_its_end(admin: Browser, engine: Engine) -> None:
    engine.send()
    page = admin.see(admin.see(f"/queues/{engine.queue}/settings").link("Close, drain and delete"))
    assert "open: sends are accepted" in page.text
    assert f"queue '{engine.queue}' has messages" in page.text

    assert "This field is required." in admin.submit(f"/queues/{engine.queue}/close", status=422).text
    engine.send()
    engine.ack(engine.receive_one()[1])
    closed = admin.submit(f"/queues/{engine.queue}/close", reason="moved to orders")
    assert f"{engine.queue} refuses sends." in closed.text
    assert AuditEvent.objects.filter(queue_name=engine.queue).latest("audit_event_id").reason == "moved to orders"
    with pytest.raises(psycopg.Error) as refused:
        engine.send()
    assert refused.value.sqlstate == "SB423"
    left = admin.submit(f"/queues/{engine.queue}/retire", status=422, typed_name=engine.queue, reason="moved")
    assert "has messages" in left.text

    engine.ack(engine.receive_one()[1])
    assert "empty" in admin.see(f"/queues/{engine.queue}/retire").text
    assert "Deleted" in admin.submit(f"/queues/{engine.queue}/retire", typed_name=engine.queue, reason="moved").text

    assert not Queue.objects.filter(name=engine.queue).exists()
    assert AuditEvent.objects.get(action="queue.delete", queue_name=engine.queue).reason == "moved"


def test_the_name_has_to_be_typed(admin: Browser, engine: Engine) -> None:
    page = admin.submit(f"/queues/{engine.queue}/retire", status=422, typed_name="x", reason="moved")
    assert "This is not the name of the queue." in page.text
    assert Queue.objects.filter(name=engine.queue).exists()


def test_it_may_be_opened_again(admin: Browser, engine: Engine) -> None:
    admin.submit(f"/queues/{engine.queue}/close", reason="moved")
    assert "accepts messages again" in admin.submit(f"/queues/{engine.queue}/open").text
    engine.send()


def test_who_may_not_configure_may_not_retire(operator: Browser, engine: Engine) -> None:
    assert (
        "Changing queues, streams and quotas requires the admin role."
        in operator.see(f"/queues/{engine.queue}/settings").text
    )
    for path in ("retire", "close", "open"):
        operator.submit(f"/queues/{engine.queue}/{path}", status=403)
    assert not control.get_queue(engine.queue).closed


def test_drained_and_deleted_from_a_terminal(commits: None, engine: Engine) -> None:
    engine.send()
    with pytest.raises(SystemExit) as ended:
        queues("drain", engine.queue)
    assert ended.value.code == 1
    assert control.get_queue(engine.queue).closed
    with pytest.raises(CommandError, match="has messages"):
        queues("delete", engine.queue)

    engine.ack(engine.receive_one()[1])
    assert queues("drain", engine.queue, wait=60.0) == f"{engine.queue}: empty\n"
    assert queues("delete", engine.queue, reason="moved") == f"{engine.queue} is deleted.\n"
    assert not Queue.objects.filter(name=engine.queue).exists()
