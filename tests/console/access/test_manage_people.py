"""People: an admin creates a user, assigns a role, and removes it."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User

from console.access.roles import role_of
from queues.models import AuditEvent
from tests.console.browsers import Browser


def new_name() -> str:
    return f"person-{uuid.uuid4().hex[:8]}"


def test_a_new_user_logs_in_with_the_assigned_role(admin: Browser) -> None:
    name = new_name()

    page = admin.submit("/people", username=name, role="operator", password="correct horse battery")

    assert f"Created {name} with the role operator." in page.text
    browser = Browser()
    assert browser.post("/login", {"username": name, "password": "correct horse battery"}).status_code == 302
    assert "operator" in browser.see("/").text
    assert AuditEvent.objects.get(action="person.create", details__person=name).actor == admin.name


def test_a_weak_password_or_a_taken_name_is_refused(admin: Browser) -> None:
    weak = admin.submit("/people", status=422, username=new_name(), role="viewer", password="12345")
    taken = admin.submit("/people", status=422, username=admin.name.upper(), role="viewer", password="correct horse")

    assert "This password is too short" in weak.text
    assert "A person with this name exists." in taken.text
    assert "12345" not in weak.html


def test_a_role_is_changed_and_recorded(admin: Browser) -> None:
    person = User.objects.create_user(new_name(), password="x")

    admin.submit(f"/people/{person.pk}", role="viewer", active="on")

    assert role_of(User.objects.get(pk=person.pk)) == "viewer"
    event = AuditEvent.objects.get(action="person.change", details__person=person.username)
    assert event.details["changes"] == {"role": {"before": "", "after": "viewer"}}


def test_a_person_can_be_shut_out(admin: Browser) -> None:
    person = User.objects.create_user(new_name(), password="correct horse")
    browser = Browser()
    browser.force_login(person)

    admin.submit(f"/people/{person.pk}", role="viewer")

    assert browser.get("/")["Location"].startswith("/login")
    assert Browser().post("/login", {"username": person.username, "password": "correct horse"}).status_code == 422


def test_a_reenabled_user_has_to_log_in_again(admin: Browser) -> None:
    """A session that was stolen does not come back with the person, and those of others go on."""
    person, stolen, other = User.objects.create_user(new_name()), Browser(), Browser()
    stolen.force_login(person)
    other.force_login(User.objects.create_user(new_name()))

    admin.submit(f"/people/{person.pk}", role="viewer")
    admin.submit(f"/people/{person.pk}", role="viewer", active="on")

    assert stolen.get("/account")["Location"].startswith("/login")
    assert other.get("/account").status_code == 200
    assert admin.get("/account").status_code == 200


def test_admins_cannot_lock_themselves_out(admin: Browser) -> None:
    me = User.objects.get(username=admin.name)

    page = admin.submit(f"/people/{me.pk}", status=422, role="viewer")

    assert "Another administrator must change your own role." in page.text
    assert role_of(User.objects.get(pk=me.pk)) == "admin"


def test_an_admin_cannot_touch_a_superuser(admin: Browser) -> None:
    boss = User.objects.create_superuser(new_name(), password="x")

    page = admin.submit(f"/people/{boss.pk}", status=422, role="viewer")

    assert "Only a superuser changes a superuser" in page.text
    assert User.objects.get(pk=boss.pk).is_active


def test_a_role_that_does_not_exist_is_refused(admin: Browser) -> None:
    person = User.objects.create_user(new_name(), password="x")

    page = admin.submit(f"/people/{person.pk}", status=422, role="emperor")
    assert "emperor is not one of the available choices" in page.text
    assert admin.post("/people/999999999", {"role": "viewer"}).status_code == 404


def test_an_empty_request_disables_no_user(admin: Browser) -> None:
    person = User.objects.create_user(new_name(), password="correct horse")

    assert "Choose a role, or none." in admin.submit(f"/people/{person.pk}", status=422).text
    assert User.objects.get(pk=person.pk).is_active
