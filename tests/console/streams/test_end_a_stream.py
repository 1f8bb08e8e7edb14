"""The pages that rename and delete a stream, with a preview, a reason and a typed name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from console.access.api_keys import ALL, Key
from console.api.core.problems import Problem
from console.api.streams import configuring
from console.api.streams.shapes import Seek, StreamSettings
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


def test_what_takes_many_messages_waits_for_a_second_person(admin: Browser, log: Log, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_REDRIVE_MESSAGES = 1
    log.group(point="beginning")
    for n in range(3):
        log.append(n)
    group, here = f"/streams/{log.name}/groups/g", f"/streams/{log.name}"
    seek = admin.post(f"{group}/seek", {"point": "end", "reason": "stale"})
    assert seek.status_code == 302
    assert "/discards/" in seek.headers["Location"]
    page = admin.see(seek.headers["Location"]).text
    assert "awaiting approval" in page
    assert "seek that skips messages" in page
    assert f"at most 3 messages of {log.name}, not read by the group g" in admin.see("/approvals").text
    assert f"{log.name}" in admin.see("/purges").text
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)
    asked = admin.post(f"{here}/delete", {"typed_name": log.name, "reason": "old"}).headers["Location"]
    assert admin.get(here).status_code == 200
    assert admin.post(f"{asked}/cancel", {}).status_code == 302
    assert "cancelled" in admin.see(asked).text


def test_a_program_may_not_take_many_messages(commits: None, log: Log, settings: LazySettings) -> None:
    settings.APPROVAL_DELETE_MESSAGES = settings.APPROVAL_REDRIVE_MESSAGES = 1
    log.group(point="beginning")
    for n in range(3):
        log.append(n)
    key = Key(1, "shop", frozenset({ALL}), None, "", None, None)
    for call in (
        lambda: configuring.delete(key, log.name),
        lambda: configuring.configure(key, log.name, StreamSettings.model_validate({"retentionSeconds": 3600})),
        lambda: configuring.seek(key, log.name, "g", Seek(point="end")),
    ):
        with pytest.raises(Problem) as refused:
            call()
        assert (refused.value.kind.slug, refused.value.kind.status) == ("approval-required", 403)
    assert configuring.seek(key, log.name, "g", Seek.model_validate({"point": "end", "dryRun": True}))["partitions"]
