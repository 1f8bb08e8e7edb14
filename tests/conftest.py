"""Home and PostgreSQL of the test run; DATABASE_URL runs it on another server.

The settings are named here and not in pyproject.toml, because pytest-django would otherwise read them
before this file has said where home is.
"""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.conf import settings as django_settings
from django.db import connection, connections
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker

from queues.database.embedded import EmbeddedPostgres
from queues.database.embedded.server import DATABASE
from tests import prepared
from tests.patience import LIMITS_OF_PAGES, PATIENCE_MILLISECONDS
from tests.reuse import leave
from tests.scratch import prefer_memory

pytest_plugins = ["tests.engine", "tests.tiers"]

gc.disable()  # until the first test: what is imported and collected stays
prefer_memory()
HOME = Path(tempfile.mkdtemp(prefix="signalbox-tests-"))

os.environ["SIGNALBOX_HOME"] = str(HOME)
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
os.environ.setdefault("HTTPS_ONLY", "false")  # the test client and the browser speak plain HTTP
os.environ.setdefault("SPARK_CLASSES", str(Path(__file__).parents[1] / ".pytest_cache" / "spark"))
os.environ.setdefault("PIPELINE_NICE", "false")  # what others leave is nothing while tests run
os.environ["METRICS_DETAILED_QUEUES"] = "1000000"
os.environ["METRICS_MAX_SERIES"] = "10000000"  # tests leave thousands of queues, and a new one is to be seen as well

django.setup()
django_settings.PASSWORD_HASHERS = ["tests.passwords.QuickHasher"]


@pytest.fixture(scope="session", autouse=True)
def patient_pages() -> Iterator[None]:
    """Pages let the database think for as long as it takes.

    Else a busy machine would turn an exact count into "more than 99". What limits do is tested with some of its own.
    """
    with pytest.MonkeyPatch.context() as patched:
        for limit in LIMITS_OF_PAGES:
            patched.setattr(limit, PATIENCE_MILLISECONDS)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let each of several processes read its settings here too, after it has made a home of its own."""
    del os.environ["DJANGO_SETTINGS_MODULE"]


def pytest_collection_finish() -> None:
    """Freeze the objects that exist before the first test, so that garbage collection skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    server = EmbeddedPostgres(HOME)
    if server.is_running():
        server.stop()
    shutil.rmtree(HOME)


# A vacuum that cuts a table short locks everybody out for a moment, and tests of who waits would take it for a wait.
NEVER_CUT_SHORT = """
do $$
declare
  v_table regclass;
begin
  for v_table in select oid from pg_class where relnamespace = 'signalbox'::regnamespace and relkind = 'r' loop
    execute format('alter table %s set (vacuum_truncate = off)', v_table);
  end loop;
end $$
"""


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The migrated test database, always: most tests reach it by connections that pytest-django knows nothing of."""
    _begin_migrated()
    with django_db_blocker.unblock():
        created = setup_databases(verbosity=0, interactive=False, aliases={"default"}, serialized_aliases=set())
        with connection.cursor() as cursor:
            cursor.execute(NEVER_CUT_SHORT)
    yield
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:  # a failed test may have left a session open
            cursor.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        teardown_databases(created, verbosity=0)


def _begin_migrated() -> None:
    """A server of our own has a migrated database already, of which that of the tests is a copy."""
    folders = EmbeddedPostgres(HOME).folders
    if not os.environ.get("DATABASE_URL") and not folders.data.exists():
        prepared.prepare(folders)
        django_settings.DATABASES["default"]["TEST"]["TEMPLATE"] = DATABASE


@pytest.fixture
def commits(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Django's own connection, outside any transaction: what the test does through it stays."""
    with django_db_blocker.unblock():
        yield
        for one in connections.all(initialized_only=True):
            leave(one)
