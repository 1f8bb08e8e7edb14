import traceback
from pathlib import Path

import pytest
from django.conf import settings
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from queues.database.embedded import EmbeddedPostgres
from queues.database.url import NOTICE_SILENCE, DatabaseUrlError, database_settings, parse_database_url

OURS = "-c search_path=signalbox,public"


def test_a_tcp_url_fills_the_names_that_dbshell_reads() -> None:
    settings = parse_database_url("postgresql://ann:s3cret@db.example:6432/orders")

    assert settings == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "orders",
        "USER": "ann",
        "PASSWORD": "s3cret",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {**NOTICE_SILENCE, "options": OURS},
    }


def test_a_socket_folder_is_a_host() -> None:
    settings = parse_database_url("postgresql:///orders?host=/run/postgresql")

    assert (settings["HOST"], settings["PORT"], settings["NAME"]) == ("/run/postgresql", "", "orders")


def test_several_hosts_stay_together() -> None:
    settings = parse_database_url("postgresql://a:5432,b:5433/orders?target_session_attrs=read-write")

    assert (settings["HOST"], settings["PORT"]) == ("a,b", "5432,5433")
    assert settings["OPTIONS"]["target_session_attrs"] == "read-write"


def test_the_short_scheme_and_escapes_are_read_as_libpq_reads_them() -> None:
    settings = parse_database_url("postgres://an%20n:p%40ss%2Fword@[::1]/or%20ders")

    assert (settings["USER"], settings["PASSWORD"]) == ("an n", "p@ss/word")
    assert (settings["HOST"], settings["NAME"]) == ("::1", "or ders")


def test_other_parameters_of_libpq_become_options() -> None:
    settings = parse_database_url("postgresql://db/orders?sslmode=verify-full&connect_timeout=3&application_name=sb")

    assert settings["OPTIONS"] == {
        **NOTICE_SILENCE,
        "sslmode": "verify-full",
        "connect_timeout": "3",
        "application_name": "sb",
        "options": OURS,
    }


def test_our_search_path_joins_the_options_of_the_url_and_wins() -> None:
    url = "postgresql://db/orders?options=-c%20statement_timeout%3D5s%20-c%20search_path%3Dtheirs"

    options = parse_database_url(url)["OPTIONS"]["options"]

    assert options == f"-c statement_timeout=5s -c search_path=theirs {OURS}"


def test_a_service_may_name_the_database() -> None:
    settings = parse_database_url("postgresql://?service=orders")

    assert settings["NAME"] == ""
    assert settings["OPTIONS"]["service"] == "orders"


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("mysql://db/orders", "must start with postgresql://"),
        ("host=db dbname=orders", "must start with postgresql://"),
        ("postgresql://db", "names no database"),
        ("postgresql://db/", "names no database"),
        ("postgresql://db/orders?sslmood=require", "invalid URI query parameter"),
        ("postgresql://ann:s3cret%zz@db/orders", "invalid percent-encoded token"),
        ("postgresql://ann:s3cret@[::1/orders", "end of string reached"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_by_name_and_without_its_password(url: str, complaint: str) -> None:
    with pytest.raises(DatabaseUrlError) as refusal:
        parse_database_url(url)

    assert str(refusal.value).startswith("DATABASE_URL ")
    assert complaint in str(refusal.value)
    assert "s3cret" not in "".join(traceback.format_exception(refusal.value))


def test_without_a_url_the_embedded_server_of_the_home_is_used() -> None:
    settings = database_settings("", Path("/srv/signalbox"))

    assert settings["ENGINE"] == "queues.database.embedded.backend"
    assert settings["HOST"] == "/srv/signalbox/postgres/socket"
    assert settings["NAME"] == "signalbox"
    assert settings["OPTIONS"]["options"] == OURS


def test_a_url_is_used_instead_of_the_embedded_server() -> None:
    assert database_settings("postgresql://db/orders", Path("/srv/signalbox"))["HOST"] == "db"


def test_a_url_of_several_hosts_reaches_the_one_that_answers(django_db_blocker: DjangoDbBlocker) -> None:
    server = EmbeddedPostgres(settings.SIGNALBOX_HOME)
    server.ensure_running()
    url = f"postgresql://signalbox@/signalbox?host=/absent,{server.folders.socket}&port=5432,5432"
    several = DatabaseWrapper(ConnectionHandler({"default": parse_database_url(url)})["default"].settings_dict)

    with django_db_blocker.unblock(), several.cursor() as cursor:
        cursor.execute("show search_path")
        assert cursor.fetchone() == ("signalbox,public",)
    several.close()
