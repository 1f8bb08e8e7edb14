"""Effect of DATABASE_POOLER on DATABASE_URL, and its refusals."""

from pathlib import Path

import pytest

from queues.database.url import (
    DatabaseUrlError,
    database_settings,
    direct_database_settings,
    parse_database_url,
    through_a_pooler,
)

URL = "postgresql://ann:s3cret@pooler.example:6432/orders"


def test_through_a_pooler_nothing_is_asked_for_that_lasts_as_long_as_a_session() -> None:
    direct, pooled = parse_database_url(URL), database_settings(URL, Path("/nowhere"), pooled=True)

    assert "search_path" in direct["OPTIONS"]["options"]
    assert "options" not in pooled["OPTIONS"]
    assert pooled["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert {name: pooled[name] for name in ("NAME", "USER", "HOST", "PORT")} == {
        "NAME": "orders",
        "USER": "ann",
        "HOST": "pooler.example",
        "PORT": "6432",
    }


def test_options_of_the_address_itself_are_the_operators_to_know() -> None:
    given = parse_database_url(f"{URL}?options=-c%20jit%3Doff")

    assert through_a_pooler(given)["OPTIONS"]["options"] == "-c jit=off"


def test_a_pooler_needs_an_address() -> None:
    with pytest.raises(DatabaseUrlError, match="DATABASE_URL is empty"):
        database_settings("", Path("/nowhere"), pooled=True)


def test_the_way_past_the_pooler_has_its_search_path() -> None:
    found = direct_database_settings(URL, "transaction")

    assert found is not None
    assert "search_path" in found["OPTIONS"]["options"]
    assert direct_database_settings("", "transaction") is None


def test_a_way_past_nothing_is_refused_and_a_wrong_one_is_named() -> None:
    with pytest.raises(DatabaseUrlError, match="DATABASE_DIRECT_URL is set without a pooler"):
        direct_database_settings(URL, "none")
    with pytest.raises(DatabaseUrlError, match=r"^DATABASE_DIRECT_URL names no database"):
        direct_database_settings("postgresql://db.example", "transaction")


def test_an_address_of_several_hosts_has_a_backend_that_chooses() -> None:
    assert parse_database_url("postgresql:///app?host=/a,/b")["ENGINE"] == "queues.database.several_hosts"
    assert parse_database_url("postgresql:///app?host=/a")["ENGINE"] == "django.db.backends.postgresql"
