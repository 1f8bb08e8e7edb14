"""manage.py queues export | apply: configuration as code."""

from __future__ import annotations

import io
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queues.control import queues as control
from queues.control import quotas
from queues.control.as_code import applying, document
from queues.errors import InvalidArgument
from queues.models import AuditEvent, Queue
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


def queues(*words: str, **options: Any) -> str:
    answer = io.StringIO()
    call_command("queues", *words, stdout=answer, **options)
    return answer.getvalue()


@pytest.fixture
def name() -> str:
    return f"as-code-{uuid.uuid4().hex[:8]}"


def write(folder: Path, text: str) -> str:
    file = folder / "queues.yaml"
    file.write_text(text)
    return str(file)


def test_a_file_makes_changes_and_then_finds_nothing_to_do(name: str, tmp_path: Path) -> None:
    file = write(
        tmp_path,
        f"""
        tenants:
          {name}: {{max_queues: 5}}
        queues:
          {name}: {{tenant: {name}, settings: {{max_receives: 9}}}}
          {name}-graves: {{tenant: {name}, keeps_dead_letters: true, settings: {{alert_dead_letters: 7}}}}
        """,
    )
    said = queues("apply", file, yes=True, reason="agreed in review")

    assert f"+ queue {name} (tenant {name})\n    max_receives: 9\n" in said
    assert f"~ tenant {name}\n    max_queues: 5 (was 0)\n" in said
    assert "2 to make, 1 to change, 0 to delete; 0 queues as declared." in said
    queue = control.get_queue(name)
    assert (queue.max_receives, queue.tenant.name, queue.tenant.max_queues) == (9, name, 5)
    graves = control.get_queue(f"{name}-graves")
    assert (graves.is_dead_letter_queue, graves.alert_dead_letters) == (True, 7)
    assert AuditEvent.objects.filter(queue_name=name, actor="manage.py", action="queue.create").count() == 1

    with pytest.raises(SystemExit) as ended:
        queues("apply", file, check=True)
    assert ended.value.code == 0
    assert "0 to make, 0 to change, 0 to delete; 2 queues as declared." in queues("apply", file)


def test_what_is_not_named_has_its_default_again(engine: Engine, tmp_path: Path) -> None:
    control.configure_queue(engine.queue, {"max_receives": 9, "delay_seconds": 3.0}, actor="ann")
    control.pause_queue(engine.queue, actor="ann")
    file = write(tmp_path, f"queues: {{{engine.queue}: {{settings: {{delay_seconds: 4}}}}}}")

    with pytest.raises(SystemExit) as ended:
        queues("apply", file, check=True)
    assert ended.value.code == 1
    assert control.get_queue(engine.queue).max_receives == 9, "a check changes nothing"
    said = queues("apply", file, yes=True)

    assert "max_receives: 5 (was 9)" in said
    assert "delay_seconds: 4 (was 3.0)" in said
    queue = control.get_queue(engine.queue)
    assert (queue.max_receives, queue.delay_seconds) == (5, 4.0)
    assert queue.paused, "a momentary state is no configuration"
    event = AuditEvent.objects.filter(queue_name=engine.queue, action="queue.configure").latest("audit_event_id")
    assert event.details["changes"]["max_receives"] == {"before": 9, "after": 5}


def test_what_is_exported_applies_to_no_change(engine: Engine, tmp_path: Path) -> None:
    control.configure_queue(engine.queue, {"max_receives": 9, "dead_letter_queue": f"{engine.queue}-x"}, actor="ann")
    control.configure_queue(f"{engine.queue}-x", {"alert_dead_letters": 3}, actor="ann")
    tenant = control.get_queue(engine.queue).tenant.name
    quotas.set_quota(tenant, {"max_long_polls": 17}, actor="ann")
    try:
        assert document.read().tenants[tenant]["max_long_polls"] == 17
        assert "max_long_polls: 17" in queues("export")
    finally:
        quotas.set_quota(tenant, {"max_long_polls": 0}, actor="ann")
    text = queues("export", queue=[engine.queue, f"{engine.queue}-x"])
    assert f"{engine.queue}-x:\n    tenant: default\n    keeps_dead_letters: true\n" in text
    assert document.write(document.parse(text)) == text
    planned = applying.plan(document.parse(text))
    assert (planned.changes, planned.unchanged) == ([], 2)


def test_one_refusal_and_nothing_is_done(name: str, engine: Engine, tmp_path: Path) -> None:
    engine.send()
    file = write(tmp_path, f"queues: {{{name}: {{}}, {engine.queue}: {{settings: {{mode: fifo}}}}}}")

    with pytest.raises(CommandError, match=rf"^queues\.{engine.queue}\.mode: "):
        queues("apply", file, yes=True)
    assert not Queue.objects.filter(name=name).exists()


def test_a_plan_that_has_aged_is_not_carried_out(engine: Engine) -> None:
    wanted = document.parse(f"queues: {{{engine.queue}: {{settings: {{max_receives: 9}}}}}}")
    planned = applying.plan(wanted)
    control.configure_queue(engine.queue, {"max_receives": 7}, actor="bob")

    with pytest.raises(applying.Stale):
        applying.apply(wanted, planned, actor="ann")
    assert control.get_queue(engine.queue).max_receives == 7


def test_queues_that_are_not_named_are_deleted_only_when_asked_and_empty(engine: Engine) -> None:
    engine.send()
    keep = {one.name: one for one in document.read().queues.values()}
    empty = control.create_queue(f"{engine.queue}-empty").name
    wanted = document.Document(
        {name: one for name, one in keep.items() if name != engine.queue}, document.read().tenants
    )
    assert {engine.queue, empty} == set(applying.plan(wanted).undeclared)

    planned = applying.plan(wanted, prune=True)
    applying.apply(wanted, planned, prune=True, actor="ann")
    told = dict(applying.delete(planned, actor="ann"))

    assert told[empty] == ""
    assert engine.queue in told[engine.queue], "it says what is in the way"
    assert Queue.objects.filter(name=engine.queue).exists()
    assert not Queue.objects.filter(name=empty).exists()


def test_without_a_terminal_nothing_is_confirmed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"queues: {{{name}: {{}}}}"))
    with pytest.raises(SystemExit) as ended:
        queues("apply", "-")
    assert ended.value.code == 2
    assert not Queue.objects.filter(name=name).exists()


def test_the_plan_for_programs(engine: Engine, tmp_path: Path) -> None:
    file = write(tmp_path, f"queues: {{{engine.queue}: {{settings: {{max_receives: 9}}}}}}")
    told = queues("apply", file, yes=True, json=True).removesuffix("Done.\n")
    assert json.loads(told)["changes"] == [
        {"kind": "change", "name": engine.queue, "values": {"max_receives": {"before": 5, "after": 9}}}
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("queues: [", "file"),
        ("[]", "file"),
        ("quueues: {}", "file.quueues"),
        ("queues: {1: {}}", "queues"),
        ("queues: {a: {settings: {max_recieves: 9}}}", "queues.a.settings.max_recieves"),
        ("queues: {a: {settings: {paused: true}}}", "queues.a.settings.paused"),
        ("queues: {a: {settings: 3}}", "queues.a.settings"),
        ("queues: {a: {tenant: 3}}", "queues.a.tenant"),
        ("queues: {a: {keeps_dead_letters: 1}}", "queues.a.keeps_dead_letters"),
        ("tenants: {a: {max_quues: 1}}", "tenants.a.max_quues"),
        ("queues: {a: {}, a: {}}", "file"),
        ("queues: {a: &x {}, b: *x}", "file"),
        ("queues: !!python/object/apply:os.system [ls]", "file"),
    ],
)
def test_a_file_that_makes_no_sense_says_where(text: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        document.parse(text)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("queues: {'no/such name': {}}", "queues.no/such name.name"),
        ("queues: {as-code-bad: {settings: {max_receives: many}}}", "queues.as-code-bad.max_receives"),
        ("queues: {as-code-bad: {settings: {max_receives: 0}}}", "queues.as-code-bad.max_receives"),
        ("tenants: {as-code-bad: {max_queues: -1}}", "tenants.as-code-bad.max_queues"),
    ],
)
def test_a_value_that_the_engine_refuses_is_known_from_the_plan(text: str, path: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        applying.plan(document.parse(text))
    assert refused.value.field == path
    assert not Queue.objects.filter(name="as-code-bad").exists()
