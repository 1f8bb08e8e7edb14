"""Grants: an admin grants a role for some queues, previews its effect, and revokes it."""

from __future__ import annotations

import json
import uuid
from io import StringIO

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from console.access import roles
from console.access.grants.models import Grant
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.engine import Engine


@pytest.fixture
def person(commits: None) -> User:
    return User.objects.create_user(f"granted-{uuid.uuid4().hex[:8]}")


def browser_of(person: User) -> Browser:
    browser = Browser("granted")
    browser.force_login(person)
    return browser


def test_a_grant_shows_its_queues_and_is_recorded(admin: Browser, person: User, engine: Engine) -> None:
    page = admin.submit(f"/people/{person.pk}/grants", role="operator", prefix=engine.queue, reason="on call")

    assert f"{person.username} is operator for {engine.queue}* from now on." in page.text
    assert engine.queue in browser_of(person).see("/").text
    event = AuditEvent.objects.get(action="grant.give", details__person=person.username)
    assert (event.actor, event.reason) == (admin.name, "on call")
    assert event.details["prefix"] == engine.queue


def test_before_it_is_given_one_sees_what_it_would_show(admin: Browser, person: User, engine: Engine) -> None:
    page = admin.submit(
        f"/people/{person.pk}/grants", status=200, role="viewer", prefix=engine.queue, tenant="", preview="1"
    )

    assert f"With viewer for {engine.queue}*" in page.text
    assert engine.queue in [one.text for one in page.all("li")]
    assert not Grant.objects.filter(person=person).exists()


def test_a_grant_that_is_taken_shows_nothing_any_more(admin: Browser, person: User, engine: Engine) -> None:
    given = Grant.objects.create(person=person, role="viewer", queue_prefix=engine.queue, created_by="x")
    browser = browser_of(person)
    browser.see(f"/queues/{engine.queue}")

    page = admin.submit(f"/grants/{given.pk}/take")

    assert f"{person.username} is no longer viewer for {engine.queue}*" in page.text
    browser.see(f"/queues/{engine.queue}", status=403)
    assert AuditEvent.objects.get(action="grant.take", details__person=person.username).actor == admin.name
    assert "there is no such grant" in admin.submit(f"/grants/{given.pk}/take").text


def test_what_makes_no_sense_is_refused(admin: Browser, person: User) -> None:
    path = f"/people/{person.pk}/grants"

    assert "tenant and prefix are empty: enter at least one" in admin.submit(path, status=422, role="viewer").text
    assert "prefix is" in admin.submit(path, status=422, role="viewer", prefix="-no*").text
    assert "tenant must have" in admin.submit(path, status=422, role="viewer", tenant="a\u200bb").text
    admin.submit(path, role="viewer", tenant="acme")
    assert (
        "is viewer for all queues of acme already" in admin.submit(path, status=422, role="viewer", tenant="acme").text
    )
    assert admin.get("/people/999999999/grants").status_code == 404


def test_own_grants_cannot_be_changed(admin: Browser) -> None:
    me = User.objects.get(username=admin.name)
    path = f"/people/{me.pk}/grants"

    page = admin.see(path)
    refused = admin.post(path, {"role": "viewer", "prefix": "a-"})

    assert "You cannot change your own grants." in page.text
    assert refused.status_code == 422
    assert not Grant.objects.filter(person=me).exists()


def test_grants_add_up_and_to_a_role_for_all_queues(person: User) -> None:
    person.groups.set([Group.objects.get(name="viewer")])
    Grant.objects.create(person=person, role="operator", tenant_name="acme", created_by="x")
    Grant.objects.create(person=person, role="admin", tenant_name="acme", queue_prefix="in-", created_by="x")
    fresh = User.objects.get(pk=person.pk)

    assert roles.reach(fresh, "see_metadata").is_everything
    assert roles.reach(fresh, "redrive").holds("orders", "acme")
    assert not roles.reach(fresh, "redrive").holds("orders", "other")
    assert roles.reach(fresh, "configure").holds("in-orders", "acme")
    assert not roles.reach(fresh, "configure").holds("orders", "acme")
    assert roles.role_of(fresh) == "viewer, operator for all queues of acme, admin for in-* of acme"


def test_who_is_shut_out_has_no_grants_either(person: User) -> None:
    Grant.objects.create(person=person, role="admin", tenant_name="acme", created_by="x")
    person.is_active = False

    assert not roles.reach(person, "see_metadata")


def test_a_new_user_sees_nothing_before_a_grant(admin: Browser, engine: Engine) -> None:
    name = f"new-{uuid.uuid4().hex[:8]}"

    page = admin.submit("/people", username=name, role="", password="correct horse battery")

    assert f"Created {name} without a role. Add a grant so that the person sees queues." in page.text
    browser = browser_of(User.objects.get(username=name))
    browser.see("/", status=403)
    call_command("grant", "give", name, "viewer", "--prefix", engine.queue, stdout=StringIO())
    assert engine.queue in browser.see("/").text


def test_the_command_gives_lists_and_takes(person: User) -> None:
    call_command("grant", "give", person.username, "viewer", "--tenant", "acme", "--prefix", "in-", stdout=StringIO())
    listed = StringIO()
    call_command("grant", "list", "--json", stdout=listed)
    [row] = [one for one in json.loads(listed.getvalue()) if one["person"] == person.username]

    assert (row["role"], row["tenant"], row["prefix"]) == ("viewer", "acme", "in-")

    taken = StringIO()
    call_command("grant", "take", str(row["grant_id"]), stdout=taken)
    assert f"{person.username} is no longer viewer for in-* of acme" in taken.getvalue()
    with pytest.raises(CommandError, match="there is no grant"):
        call_command("grant", "take", str(row["grant_id"]))
    with pytest.raises(CommandError, match="role is 'emperor'"):
        call_command("grant", "give", person.username, "emperor", "--tenant", "acme")
    with pytest.raises(CommandError, match="there is no person"):
        call_command("grant", "give", "nobody-at-all", "viewer", "--tenant", "acme")
