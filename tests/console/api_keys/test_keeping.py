"""Keys are made and revoked with a row in the audit each; the secret is nowhere but in the hands of who asked."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from console.access.api_keys import keys
from console.access.api_keys.models import ApiKey
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.console.api_keys.keys import new_key, new_name

pytestmark = pytest.mark.usefixtures("commits")


def test_a_new_key_is_recorded_without_its_secret() -> None:
    made = new_key("purge,send", tenant="acme", prefix="o", expires_in=timedelta(days=1), reason="the shop needs it")

    event = AuditEvent.objects.get(action="apikey.create", details__key=made.row.name)
    assert (event.actor, event.reason) == ("ana", "the shop needs it")
    assert event.details["scopes"] == ["send", "purge"]
    identifier, secret = made.text.removeprefix("sbx_").split(".")
    assert event.details["identifier"] == identifier
    assert secret not in json.dumps(event.details)
    with connection.cursor() as cursor:
        cursor.execute("select k::text from signalbox.api_key k where api_key_id = %s", [made.row.pk])
        row = cursor.fetchone()[0]
    assert secret not in row
    assert hashlib.sha256(secret.encode()).hexdigest() in row


def test_no_two_keys_are_alike() -> None:
    assert len({new_key().text for _ in range(10)}) == 10


def test_a_revocation_is_recorded_once_and_frees_the_name() -> None:
    made = new_key()

    assert keys.revoke(made.row.pk, actor="ben", reason="leaked")
    assert not keys.revoke(made.row.pk, actor="ben")
    assert not keys.revoke(999_999_999, actor="ben")

    event = AuditEvent.objects.get(action="apikey.revoke", details__key=made.row.name)
    assert (event.actor, event.reason, event.details["key_id"]) == ("ben", "leaked", made.row.pk)
    row = ApiKey.objects.get(pk=made.row.pk)
    assert (row.state, row.revoked_by) == ("revoked", "ben")
    assert keys.create(row.name, "send", actor="ana").row.pk != row.pk


def test_a_name_is_one_keys() -> None:
    made = new_key()

    with pytest.raises(InvalidArgument, match="as another key's is") as refusal:
        keys.create(made.row.name, "send", actor="ana")

    assert refusal.value.field == "name"
    assert AuditEvent.objects.filter(action="apikey.create", details__key=made.row.name).count() == 1


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("send", ["send"]),
        ("receive,send", ["send", "receive"]),
        (" send  receive ", ["send", "receive"]),
        (["send", "receive,read"], ["send", "receive", "read"]),
        ("*", ["*"]),
        ("all", ["*"]),
        ("send,*", ["*"]),
    ],
)
def test_scopes_stand_between_commas_or_blanks(given: Any, read: list[str]) -> None:
    assert keys.read_scopes(given) == read


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("name", "", "from 1 to 100"),
        ("name", "x" * 101, "from 1 to 100"),
        ("name", "a\nb", "printable"),
        ("name", " a", "printable"),
        ("name", "17", "must not be a number"),
        ("scopes", "", "scopes is empty"),
        ("scopes", "send,fly", "'fly', which is none"),
        ("scopes", "*,fly", "'fly', which is none"),
        ("tenant", "a\x00b", "printable"),
        ("tenant", "x" * 101, "at most 100"),
        ("prefix", "acme-*", "beginning of queue names"),
        ("prefix", "x" * 101, "beginning of queue names"),
        ("expires_in", timedelta(0), "more than nothing"),
        ("expires_in", timedelta(days=36_000), "at most 3660 days"),
        ("rate", 0.0, "above 0"),
        ("rate", math.nan, "above 0"),
        ("rate", math.inf, "above 0"),
        ("connections", 0, "above 0"),
        ("connections", 1.5, "whole number"),
    ],
)
def test_a_mistake_is_named_and_makes_nothing(field: str, wrong: Any, said: str) -> None:
    options: dict[str, Any] = {"name": new_name(), "scopes": "send"} | {field: wrong}
    before = ApiKey.objects.count()

    with pytest.raises(InvalidArgument, match=said) as refusal:
        keys.create(actor="ana", **options)

    assert refusal.value.field == field.removesuffix("_in")
    assert ApiKey.objects.count() == before


def test_a_key_is_found_by_its_name_or_its_number() -> None:
    made = new_key()

    assert keys.find(made.row.name) == made.row
    assert keys.find(str(made.row.pk)) == made.row
    assert keys.find("nobody's") is None
    assert keys.find("9" * 30) is None
