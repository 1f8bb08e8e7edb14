"""The pages that rename and delete a stream, with a preview, a reason and a typed name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.streams import Log, make_log


@pytest.fixture
def log(connect: Callable[..., psycopg.Connection[Any]]) -> Log:
    return make_log(connect(), partitions=2)


def test_a_stream_is_renamed_and_deleted_by_clicks(admin: Browser, viewer: Browser, log: Log) -> None:
    new, here = f"{log.name}-new", f"/streams/{log.name}"
    assert viewer.get(f"{here}/delete").status_code == 403
    seen = admin.see(f"{here}/rename?new_name={new}").text
    assert "the old name is refused at once" in seen
    assert admin.post(f"{here}/rename", {"new_name": new}).status_code == 422
    assert admin.post(f"{here}/rename", {"new_name": new, "reason": "wrong"}).status_code == 302
    assert admin.get(here).status_code == 404
    assert AuditEvent.objects.get(action="stream.rename", details__stream=new).reason == "wrong"

    here = f"/streams/{new}"
    assert "is open: close it first" in admin.see(f"{here}/delete").text
    assert admin.post(f"{here}/delete", {"typed_name": new, "reason": "old"}).status_code == 422
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", new)
    assert admin.post(f"{here}/delete", {"typed_name": log.name, "reason": "old"}).status_code == 422
    assert admin.post(f"{here}/delete", {"typed_name": new, "reason": "old"}).status_code == 302
    assert AuditEvent.objects.get(action="stream.delete", details__stream=new).reason == "old"


def test_a_stream_is_renamed_and_deleted_from_a_terminal(
    commits: None, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    new = f"{log.name}-new"
    call_command("streams", "rename", log.name, new, "--check")
    assert "the old name is refused at once" in capsys.readouterr().out
    call_command("streams", "rename", log.name, new, "--reason", "wrong")
    call_command("streams", "list")
    assert f"{new}\t" in capsys.readouterr().out
    call_command("streams", "delete", new, "--check")
    assert f"In the way: {new} is open: close it first." in capsys.readouterr().out
    with pytest.raises(CommandError, match="is open"):
        call_command("streams", "delete", new)
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", new)
    call_command("streams", "delete", new, "--reason", "old")
    assert AuditEvent.objects.get(action="stream.delete", details__stream=new).reason == "old"
