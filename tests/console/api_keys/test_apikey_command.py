"""manage.py apikey: keys from a terminal."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.access.api_keys import SQS_SCOPES
from console.access.api_keys.models import ApiKey
from queues.models import AuditEvent
from tests.console.api_keys.keys import admitted, new_name

pytestmark = pytest.mark.usefixtures("commits")


def apikey(*words: str) -> str:
    answer = io.StringIO()
    call_command("apikey", *words, stdout=answer)
    return answer.getvalue()


@pytest.fixture
def name() -> str:
    return new_name()


def test_the_key_is_the_last_line_alone_and_works(name: str) -> None:
    said = apikey("create", name, "--scopes", "send,receive", "--tenant", "acme", "--prefix", "or", "--expires", "90d")

    key = admitted(f"Bearer {said.splitlines()[-1]}")
    assert (key.name, key.scopes, key.tenant, key.prefix) == (name, {"send", "receive"}, "acme", "or")
    assert said.count("sbx_") == 1
    assert AuditEvent.objects.get(action="apikey.create", details__key=name).actor == "manage.py"


@pytest.mark.parametrize(
    "scopes", [["send", "receive"], ["send receive"], ["send,receive"], ["send,", "receive"], ["receive", "send"]]
)
def test_scopes_come_as_people_write_them(name: str, scopes: list[str]) -> None:
    apikey("create", name, "--scopes", *scopes)

    assert ApiKey.objects.get(name=name).scopes == ["send", "receive"]


def test_a_key_for_sqs_needs_no_scopes_and_comes_as_json(name: str) -> None:
    (made,) = [json.loads(line) for line in apikey("create", name, "--sqs", "--json").splitlines()]

    assert (made["scopes"], made["sqs"]) == (list(SQS_SCOPES), True)
    assert made["api_key"] == f"sbx_{made['access_key_id']}.{made['secret_access_key']}"
    assert made["endpoint_url"].endswith("/sqs")
    assert made["secret_access_key"] not in apikey("list", "--json")


def test_the_name_may_stand_last(name: str) -> None:
    apikey("create", "--scopes", "all", name)

    assert ApiKey.objects.get(name=name).scopes == ["*"]


def test_limits_are_kept_and_shown(name: str) -> None:
    apikey("create", name, "--scopes", "*", "--rate", "2.5", "--connections", "3")

    (line,) = [line for line in apikey("list").splitlines() if name in line]
    assert line.endswith("2.5/s  3 at once")
    (row,) = [row for row in json.loads(apikey("list", "--json")) if row["key"] == name]
    assert (row["rate"], row["connections"], row["state"], row["expires_at"]) == (2.5, 3, "active", None)
    assert not {"secret", "secret_hash"} & set(row)


def test_a_key_is_revoked_by_name_or_number(name: str) -> None:
    apikey("create", name, "--scopes", "send")
    number = str(ApiKey.objects.get(name=name).pk)

    assert apikey("revoke", name, "--reason", "leaked") == f"revoked {number} {name}\n"
    assert AuditEvent.objects.get(action="apikey.revoke", details__key=name).reason == "leaked"
    with pytest.raises(CommandError, match="was revoked already"):
        apikey("revoke", number)
    with pytest.raises(CommandError, match="there is no API key"):
        apikey("revoke", name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scopes", "fly"], "--scopes: scopes has 'fly'"),
        (["--scopes", "send", "--expires", "soon"], "--expires is 'soon': it must be a duration such as"),
        (["--scopes", "send", "--expires", "0d"], "--expires: expires must be more"),
        (["--scopes", "send", "--prefix", "a b"], "--prefix: prefix is 'a b'"),
        (["--scopes", "send", "--rate", "0"], "--rate: rate is 0"),
        ([], "--scopes is missing"),
    ],
)
def test_a_mistake_is_named_and_makes_nothing(name: str, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        apikey("create", name, *words)

    assert not ApiKey.objects.filter(name=name).exists()


def test_a_key_without_a_name_is_refused() -> None:
    with pytest.raises(CommandError, match="name is missing"):
        apikey("create", "--scopes", "send")


def test_the_command_says_nothing_of_others(name: str, capsys: pytest.CaptureFixture[Any]) -> None:
    apikey("create", name, "--scopes", "send")

    assert "sbx_" not in apikey("list") + apikey("list", "--json") + capsys.readouterr().err
