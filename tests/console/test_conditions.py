"""Conditions that every page shows, read from the state of the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from tests.console.browsers import Browser


@pytest.fixture
def setting(commits: None) -> Iterator[list[str]]:
    """Settings of this session, to be put back."""
    changed: list[str] = []
    yield changed
    with connection.cursor() as cursor:
        for name in changed:
            cursor.execute(f"reset {name}")


def change(changed: list[str], name: str, value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"set {name} = {value}")
    changed.append(name)


def test_the_overview_says_that_acknowledged_messages_may_be_lost(viewer: Browser, setting: list[str]) -> None:
    assert "Messages that were acknowledged may be lost" not in viewer.see("/").text
    change(setting, "synchronous_commit", "off")

    assert "synchronous_commit is off: the last commits are gone" in viewer.see("/").text
    assert "may be lost" not in viewer.see("/account").text


def test_every_page_says_that_the_database_is_read_only(viewer: Browser, setting: list[str]) -> None:
    assert "The database is read-only." not in viewer.see("/account").text
    change(setting, "default_transaction_read_only", "on")

    for path in ("/", "/account", "/audit"):
        assert "The database is read-only." in viewer.see(path).text
    assert "The database is read-only." in viewer.fetch("/").text


def test_a_quiet_installation_says_nothing(viewer: Browser) -> None:
    page = viewer.see("/")
    assert page.one("div", id="conditions").text == page.one("div", id="outage").text == ""


def test_the_overview_says_that_the_clock_is_ahead(viewer: Browser, commits: None) -> None:
    move = "select setval('signalbox.clock', (extract(epoch from clock_timestamp()) * 1000000)::bigint + %s)"
    with connection.cursor() as cursor:
        cursor.execute(move, [3_600_000_000])
        try:
            shown = viewer.see("/").text
        finally:
            cursor.execute(move, [0])

    assert "ahead of the database server's" in shown
    assert "manage.py clock reset" in shown
    assert "manage.py clock reset" not in viewer.see("/").text
