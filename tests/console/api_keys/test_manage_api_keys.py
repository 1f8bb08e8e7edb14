"""API keys in the console: an admin makes one, sees it once, and revokes it."""

from __future__ import annotations

import json

import pytest

from console.access.api_keys.models import ApiKey
from queues.models import AuditEvent
from tests.console.api_keys.keys import admitted, new_key, new_name
from tests.console.browsers import Browser

pytestmark = pytest.mark.usefixtures("commits")


def test_a_key_is_shown_once_and_works(admin: Browser, caplog: pytest.LogCaptureFixture) -> None:
    name = new_name()

    given = {"name": name, "scopes": ["send", "receive"], "tenant": "acme", "prefix": "or", "expires": "90d"}
    answer = admin.post("/api-keys", given | {"rate": "2.5", "connections": "4", "reason": "the shop"})

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    page = admin._read(answer, 200)
    text = page.one("input", id="key-text").attributes["value"]
    assert page.html.count(text) == 1
    key = admitted(f"Bearer {text}")
    assert (key.name, key.scopes, key.tenant, key.prefix) == (name, {"send", "receive"}, "acme", "or")
    assert (key.rate, key.connections) == (2.5, 4)
    secret = text.split(".")[1]
    assert secret not in admin.see("/api-keys").html
    event = AuditEvent.objects.get(action="apikey.create", details__key=name)
    assert (event.actor, event.reason) == (admin.name, "the shop")
    assert secret not in json.dumps(event.details) + caplog.text


def test_a_tenant_that_does_not_exist_yet_is_pointed_out(admin: Browser) -> None:
    page = admin.submit("/api-keys", status=200, name=new_name(), scopes=["*"], tenant=new_name())

    assert "It is created with its first queue" in page.text


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("name", "", "This field is required."),
        ("name", "12", "must not be a number"),
        ("scopes", [], "Choose at least one scope."),
        ("scopes", ["fly"], "Select a valid choice"),
        ("prefix", "a b", "beginning of queue names"),
        ("expires", "soon", "This must be a duration such as"),
        ("expires", "0s", "more than nothing"),
        ("rate", "0", "above 0"),
        ("rate", "nan", "Enter a number."),
        ("connections", "-1", "above 0"),
    ],
)
def test_a_mistake_stands_beside_its_field_and_makes_nothing(
    admin: Browser, field: str, wrong: object, said: str
) -> None:
    given = {"name": new_name(), "scopes": ["send"], "expires": "90d"} | {field: wrong}

    page = admin.submit("/api-keys", status=422, **given)

    assert said in page.text
    assert not ApiKey.objects.filter(name=given["name"]).exists()


def test_what_was_typed_stays_beside_a_mistake(admin: Browser) -> None:
    page = admin.submit("/api-keys", status=422, name="", scopes=["send", "peek"], prefix="or")

    assert page.fields()["prefix"] == "or"
    checked = {one.attributes["value"] for one in page.all("input", type="checkbox") if "checked" in one.attributes}
    assert checked == {"send", "peek"}


def test_the_list_says_what_each_key_may(admin: Browser) -> None:
    made = new_key("read,peek", tenant="acme", prefix="ord", rate=3, connections=5).row

    (row,) = [row for row in admin.see("/api-keys").rows() if made.name in row]

    assert f"sbx_{made.identifier}" in row
    assert "read peek ord* of acme 3/s, 5 concurrent never never" in row


def test_a_key_is_revoked_after_a_second_look(admin: Browser) -> None:
    made = new_key().row

    page = admin.see(admin.see("/api-keys").one("a", aria_label=f"Revoke {made.name}…").attributes["href"])
    assert made.name in page.title
    assert "Nothing" not in page.text
    assert "This field is required." in admin.submit(f"/api-keys/{made.pk}/revoke", status=422).text
    done = admin.submit(f"/api-keys/{made.pk}/revoke", reason="leaked")

    assert f"The key {made.name} is revoked" in done.text
    assert not any(made.name in row for row in done.rows())
    (row,) = [row for row in admin.see("/api-keys?show=revoked").rows() if made.name in row]
    assert f"by {admin.name}" in row
    assert AuditEvent.objects.get(action="apikey.revoke", details__key=made.name).reason == "leaked"
    again = admin.submit(f"/api-keys/{made.pk}/revoke", reason="leaked")
    assert "was revoked already" in again.text


def test_a_key_that_never_was_is_not_found(admin: Browser) -> None:
    admin.see("/api-keys/999999999/revoke", status=404)


def test_keys_are_found_beside_people(admin: Browser) -> None:
    page = admin.see(admin.see("/people").link("API keys"))

    assert "API keys" in page.title
    assert page.one("a", aria_current="page", data_goto="people").text == "Users & access"


def test_a_hostile_name_is_text(admin: Browser) -> None:
    name = f"<script>{new_name()}</script>"

    page = admin.submit("/api-keys", status=200, name=name, scopes=["send"])

    assert name in page.text
    assert name not in page.html
    assert name not in admin.see("/api-keys").html


def test_a_key_for_sqs_shows_its_secret_once(admin: Browser) -> None:
    name = new_name()
    page = admin._read(admin.post("/api-keys", {"name": name, "scopes": ["send"], "sqs": "on"}), 200)
    row = ApiKey.objects.get(name=name)

    assert page.one("input", id="access-key-id").attributes["value"] == row.identifier
    secret = page.one("input", id="secret-access-key").attributes["value"]
    assert page.one("input", id="key-text").attributes["value"] == f"sbx_{row.identifier}.{secret}"
    assert secret not in row.sqs_secret
    ApiKey.objects.filter(pk=row.pk).update(last_used_with="SQS JSON, <b>Boto3</b>")
    listed = admin.see("/api-keys")
    assert secret not in listed.html
    assert "SQS JSON, <b>Boto3</b>" in listed.text
