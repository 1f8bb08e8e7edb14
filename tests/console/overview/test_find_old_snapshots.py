"""Old snapshots: an operator sees who keeps PostgreSQL from cleaning up, for how long, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from console.administration.old_snapshots import Row, advise, warning
from dlq.masking import rules
from dlq.masking.masks import MASK
from metrics.reading import xmin_holders
from metrics.reading.xmin_holders import (
    BACKEND,
    CATALOG_SLOT,
    HIDDEN_BACKEND,
    PREPARED_TRANSACTION,
    REPLICATION_SLOT,
    STANDBY,
    Holder,
)
from tests.console.browsers import Browser
from tests.console.masking.masks import no_rules_left as no_rules_left
from tests.engine import Engine
from tests.metrics.holders import forgotten_session, prepared_transaction, slot

Connect = Callable[..., psycopg.Connection[Any]]

PAGES = ("console.overview.views", "console.administration.old_snapshots")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Show holders at once, and count them as old."""
    settings.OLD_SNAPSHOT_SECONDS = 0
    for page in PAGES:
        monkeypatch.setattr(f"{page}.read_holders", lambda: xmin_holders.read_holders(young_seconds=0))


def row(browser: Browser, words: str) -> str:
    """Only row of the page with these words."""
    (text,) = [text for text in browser.see("/old-snapshots").rows() if words in text]
    return text


@pytest.mark.usefixtures("at_once", "no_rules_left")
def test_statements_are_masked_where_anything_is_masked(operator: Browser, engine: Engine, connect: Connect) -> None:
    session = forgotten_session(connect, application_name="reporting")
    session.execute("select 'card 4111-2222'")
    assert "card 4111-2222" in row(operator, f"Session {session.info.backend_pid}")

    rules.add(part="payload", path="card", queue=engine.queue, actor="ann")

    assert MASK in row(operator, f"Session {session.info.backend_pid}")
    assert "card 4111-2222" not in operator.see("/old-snapshots").html


def test_work_as_usual_is_not_spoken_of(viewer: Browser, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for page in PAGES:  # as many seconds as a busy machine may need for a page
        monkeypatch.setattr(f"{page}.read_holders", lambda: xmin_holders.read_holders(young_seconds=600))
    session = forgotten_session(connect, application_name="just begun")

    assert "removing dead rows" not in viewer.see("/").text
    assert f"Session {session.info.backend_pid}" not in viewer.see("/old-snapshots").text


@pytest.mark.usefixtures("at_once")
def test_the_overview_names_the_oldest_and_leads_to_all(viewer: Browser, connect: Connect) -> None:
    forgotten_session(connect, application_name="nightly <b>report</b>")

    page = viewer.see("/")

    assert "has kept PostgreSQL from removing dead rows for" in page.text
    assert page.link("Old snapshots") == "/old-snapshots"
    assert "<b>report" not in page.html


@pytest.mark.usefixtures("at_once")
def test_a_forgotten_session_is_named_with_the_statement_that_ends_it(viewer: Browser, connect: Connect) -> None:
    session = forgotten_session(connect, application_name="nightly <b>report</b>")
    pid = session.info.backend_pid

    text = row(viewer, f"Session {pid}")

    assert text.startswith(f"old Session {pid} nightly <b>report</b> · role {session.info.user}")
    assert "idle in transaction" in text
    assert f"select pg_terminate_backend({pid});" in text


@pytest.mark.usefixtures("at_once")
def test_statements_are_for_those_who_may_see_payloads(sign_in: Callable[[str], Browser], connect: Connect) -> None:
    session = forgotten_session(connect)

    seen = {role: row(sign_in(role), f"Session {session.info.backend_pid}") for role in ("viewer", "operator", "admin")}

    assert {role: "select 'forgotten'" in text for role, text in seen.items()} == {
        "viewer": False,
        "operator": True,
        "admin": True,
    }
    assert "masked" in seen["viewer"]


@pytest.mark.usefixtures("at_once")
def test_a_prepared_transaction_of_any_name_can_be_rolled_back_as_advised(viewer: Browser, connect: Connect) -> None:
    gid = "it's <i>half</i> \\ done"
    with prepared_transaction(connect, gid):
        text = row(viewer, "Prepared transaction it's")
        statement = text[text.index("rollback prepared") : text.rindex(";")]
        session = connect()
        session.execute(statement)
        session.execute("begin")
        session.execute("select pg_current_xact_id()")
        session.execute(f"prepare transaction {statement.removeprefix('rollback prepared ')}")  # for the fixture's end

    assert "<i>half" not in viewer.see("/old-snapshots").html


@pytest.mark.usefixtures("at_once")
def test_a_slot_left_behind_can_be_dropped_as_advised(viewer: Browser, connect: Connect, dsn: str) -> None:
    with slot(connect, dsn, "left_behind"):
        text = row(viewer, "Replication slot left_behind")

    assert "not in use" in text
    assert "select pg_drop_replication_slot('left_behind');" in text


@pytest.mark.usefixtures("at_once")
def test_a_hidden_session_says_so_and_how_it_would_be_seen(
    viewer: Browser, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = forgotten_session(connect)
    hidden = a_holder(HIDDEN_BACKEND, name=str(session.info.backend_pid), seconds=None, reader='con"sole')
    monkeypatch.setattr("console.administration.old_snapshots.read_holders", lambda: [hidden])

    page = viewer.see("/old-snapshots")

    assert "1 is a session that the console's database role may not inspect" in page.text
    assert "unknown" in page.rows()[0]
    assert 'grant pg_read_all_stats to "con""sole";' in page.rows()[0]


def test_an_empty_page_says_what_would_appear(viewer: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.administration.old_snapshots.read_holders", list)

    page = viewer.see("/old-snapshots")

    assert "No long-running transactions" in page.text
    assert "on the overview after 1 m" in page.text


@pytest.mark.usefixtures("at_once")
def test_the_number_of_queries_does_not_grow_with_the_holders(viewer: Browser, connect: Connect) -> None:
    counts = []
    for _ in range(2):
        forgotten_session(connect)
        viewer.see("/old-snapshots")
        with CaptureQueriesContext(connection) as queries:
            viewer.see("/old-snapshots")
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 14  # two are about alerts and silences, if some fire


def a_holder(kind: str, seconds: float | None = 75.0, **facts: Any) -> Holder:
    unknown = ("pid", "user", "database", "application", "client", "state", "started_at", "query_started_at", "query")
    return Holder(
        **{
            "kind": kind,
            "name": "x",
            "age_transactions": 9,
            "age_seconds": seconds,
            "reader": "console",
            **dict.fromkeys(unknown),
            **facts,
        }
    )


SENTENCES = [
    (
        a_holder(BACKEND, name="7", user="reporting", application="psql", state="idle in transaction"),
        "Session 7 of reporting (psql, idle in transaction) has kept … for 1 m 15 s.",
    ),
    (
        a_holder(HIDDEN_BACKEND, name="8", user="app"),
        "Session 8 of app (hidden from this role) has kept … for at least 1 m 15 s.",
    ),
    (
        a_holder(PREPARED_TRANSACTION, user="bank", state="prepared"),
        "Prepared transaction x of bank has kept … for 1 m 15 s.",
    ),
    (
        a_holder(REPLICATION_SLOT, state="inactive"),
        "Replication slot x (not in use) has kept … for at least 1 m 15 s.",
    ),
    (a_holder(STANDBY, state="streaming"), "Standby x (streaming) has kept … for at least 1 m 15 s."),
]


@pytest.mark.parametrize(("holder", "sentence"), SENTENCES)
def test_the_overview_says_who_in_one_sentence(holder: Holder, sentence: str) -> None:
    said = warning([holder]).replace("\u00a0", " ").replace("PostgreSQL from removing dead rows", "…")

    assert said == sentence


def test_others_are_counted(settings: Settings) -> None:
    holders = [a_holder(BACKEND), a_holder(BACKEND), a_holder(BACKEND, seconds=9.0), a_holder(CATALOG_SLOT)]

    assert warning(holders).endswith(". 1 other holder beside it.")
    assert warning(holders[2:]) == ""


@pytest.mark.parametrize(
    ("holder", "statement"),
    [
        (a_holder(BACKEND, pid=7, state="idle in transaction"), "select pg_terminate_backend(7);"),
        (a_holder(BACKEND, pid=7, state="active"), "select pg_cancel_backend(7);"),
        (
            a_holder(BACKEND, pid=7, state="active", application="signalbox upkeep pulse"),
            "select pg_terminate_backend(7);",
        ),
        (a_holder(HIDDEN_BACKEND), 'grant pg_read_all_stats to "console";'),
        (a_holder(PREPARED_TRANSACTION, name="it's"), "rollback prepared 'it''s';"),
        (a_holder(REPLICATION_SLOT, state="inactive"), "select pg_drop_replication_slot('x');"),
        (
            a_holder(REPLICATION_SLOT, state="active"),
            "alter system set hot_standby_feedback = off; select pg_reload_conf();",
        ),
        (a_holder(CATALOG_SLOT, state="inactive"), "select pg_drop_replication_slot('x');"),
        (a_holder(CATALOG_SLOT, state="active"), ""),
        (a_holder(STANDBY), "alter system set hot_standby_feedback = off; select pg_reload_conf();"),
    ],
)
def test_every_kind_has_its_advice(holder: Holder, statement: str) -> None:
    assert advise(holder).statement == statement
    assert advise(holder).words.endswith((".", ":", "or"))


def test_a_standby_is_named_once() -> None:
    assert Row(a_holder(STANDBY, application="x", user="replicator"), None).facts == ["role replicator"]
