"""A queue was named badly: what another name would change is shown and then done, by pages or from a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dlq.masking import rules
from dlq.masking.rules import MaskingRule
from dlq.search import saved_filters
from queues.models import AuditEvent, Queue
from tests.console.browsers import Browser
from tests.console.masking.masks import no_rules_left as no_rules_left
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("no_rules_left")


def queues(*words: str, **options: Any) -> str:
    answer = io.StringIO()
    call_command("queues", *words, stdout=answer, **options)
    return answer.getvalue()


def test_the_form_of_a_new_queue_says_that_queues_can_be_renamed(admin: Browser) -> None:
    page = admin.see("/new-queue").text

    assert "Rename the queue later from its page." in page
    assert "cannot be changed later" not in page


def test_from_its_settings_to_its_new_name(admin: Browser, engine: Engine) -> None:
    new_name = f"{engine.queue}.new"
    saved_filters.save("dead-letters", "mine", f"queue:{engine.queue}", owner=admin.name)
    rules.add(part="payload", path="card", queue=engine.queue, actor="ana")
    address = admin.see(f"/queues/{engine.queue}/settings").link("Rename it")

    look = admin.see(address, new_name=new_name, grace_days=2)
    assert f"the filter 'mine' of {admin.name} names {engine.queue}" in look.text
    assert "1 masking rule, for the new name" in look.text
    assert Queue.objects.filter(name=engine.queue).exists()

    done = admin.submit(address, new_name=new_name, grace_days="2", reason="misnamed")

    assert f"Renamed {engine.queue} to {new_name}." in done.text
    event = AuditEvent.objects.get(action="queue.rename", queue_id=engine.queue_id)
    assert (event.reason, event.queue_name, event.details["before"]) == ("misnamed", new_name, engine.queue)
    masked = MaskingRule.objects.filter(path="card", queue_name__startswith=engine.queue)
    assert {rule.queue_name for rule in masked} == {engine.queue, new_name}
    engine.send("by the old name")


def test_old_addresses_lead_to_the_new_one(admin: Browser, engine: Engine) -> None:
    message_id = engine.send("found by an old link")
    admin.submit(f"/queues/{engine.queue}/rename", new_name=f"{engine.queue}.new", grace_days="0")

    answer = admin.get(f"/queues/{engine.queue}/messages/{message_id}?q=x")

    assert (answer.status_code, answer["Location"]) == (302, f"/queues/{engine.queue}.new/messages/{message_id}?q=x")
    assert "found by an old link" in admin.see(answer["Location"]).text


def test_a_name_that_is_taken_is_refused_in_the_form(admin: Browser, engine: Engine) -> None:
    page = admin.submit(f"/queues/{engine.queue}/rename", status=422, new_name=engine.queue, grace_days="1")
    assert "is the name that the queue has" in page.text
    page = admin.submit(f"/queues/{engine.queue}/rename", status=422, new_name="no good", grace_days="1")
    assert "Use letters, digits, dots" in page.text


def test_an_old_name_is_let_go(admin: Browser, engine: Engine) -> None:
    new_name = f"{engine.queue}.new"
    admin.submit(f"/queues/{engine.queue}/rename", new_name=new_name, grace_days="1")
    page = admin.see(f"/queues/{new_name}/rename")
    assert f"{engine.queue} until" in page.text
    assert "not since" in page.text

    free = f"/queues/{new_name}/rename/free"
    assert "can be used for another queue." in admin.submit(free, old_name=engine.queue).text
    assert "Nothing was changed" in admin.submit(free, old_name=engine.queue).text
    assert AuditEvent.objects.filter(action="queue.free_name", queue_name=new_name).count() == 1


def test_who_may_not_configure_may_not_rename(operator: Browser, engine: Engine) -> None:
    operator.submit(f"/queues/{engine.queue}/rename", status=403, new_name="other", grace_days="1")
    operator.see(f"/queues/{engine.queue}/rename", status=403)
    assert Queue.objects.filter(name=engine.queue).exists()


def test_a_job_that_names_it_is_in_the_way(admin: Browser, engine: Engine) -> None:
    engine.send()
    chosen = {"states": "ready", "reason": "why", "typed_name": engine.queue}
    address = f"/queues/{engine.queue}/purge"
    admin.submit(address, **(admin.see(address).fields() | chosen))

    page = admin.see(f"/queues/{engine.queue}/rename", new_name=f"{engine.queue}.new", grace_days="1")

    assert "wait until it ends, or cancel it" in page.text
    page = admin.submit(f"/queues/{engine.queue}/rename", status=422, new_name=f"{engine.queue}.new", grace_days="1")
    assert "wait for the end, or cancel" in page.text


def test_from_a_terminal(commits: None, engine: Engine) -> None:
    new_name = f"{engine.queue}.new"
    assert "Follows:" in queues("rename", engine.queue, new_name, check=True)
    assert Queue.objects.filter(name=engine.queue).exists()

    said = queues("rename", engine.queue, new_name, reason="misnamed")

    assert f"Renamed {engine.queue} to {new_name}." in said
    with pytest.raises(CommandError, match=f"it is called '{new_name}'"):
        queues("show", engine.queue)
    with pytest.raises(CommandError, match="new_name is missing"):
        queues("rename", new_name)
    assert "is free" in queues("rename", engine.queue, free=True)
    assert "no old name" in queues("rename", engine.queue, free=True)
