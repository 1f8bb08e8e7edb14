import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from queues.database.embedded import EmbeddedPostgres, EmbeddedPostgresError, account, binary, locks
from tests.queues.database.embedded_users import (
    Runtime,
    User,
    copy_wheel,
    keeper_pid,
    kill_and_wait,
    plain_user_runtime,
    postmaster_pid,
    query,
    start_at_once,
    stop_and_remove,
)

pytestmark = pytest.mark.proof


@pytest.fixture
def fresh_home() -> Iterator[Path]:
    """A home that does not exist yet, with a path short enough for the socket to be in it."""
    folder = Path(tempfile.mkdtemp(prefix="sb-"))
    yield folder / "home"
    stop_and_remove(folder / "home")
    folder.rmdir()


@pytest.fixture(scope="module")
def initialised_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sb-"))
    User(folder / "home").leave()
    yield folder / "home"
    stop_and_remove(folder / "home")
    folder.rmdir()


@pytest.fixture
def home(initialised_home: Path) -> Iterator[Path]:
    """A home with a database and no running server, before and after the test."""
    EmbeddedPostgres(initialised_home).wait_until_stopped()
    yield initialised_home
    EmbeddedPostgres(initialised_home).stop()


@pytest.fixture(scope="module")
def plain_user() -> Iterator[Runtime]:
    with tempfile.TemporaryDirectory(prefix="sb-") as folder:
        Path(folder).chmod(0o755)
        project = Path(folder) / "project"
        project.mkdir()
        yield plain_user_runtime(project)


def test_users_who_come_at_once_share_one_server(fresh_home: Path) -> None:
    users = start_at_once(fresh_home, 4)

    started = {query(user.url, "select pg_postmaster_start_time()")[0] for user in users}

    assert len(started) == 1
    for user in users:
        user.leave()


def test_the_last_user_to_leave_stops_the_server(home: Path) -> None:
    first, last = start_at_once(home, 2)

    first.leave()
    assert query(last.url, "select 1") == [(1,)]
    last.leave()

    EmbeddedPostgres(home).wait_until_stopped()
    assert not (home / "postgres/data/postmaster.pid").exists()


def test_data_survives_a_restart(home: Path) -> None:
    user = User(home)
    query(user.url, "create table kept_restart as select 42 as answer")
    user.leave()
    EmbeddedPostgres(home).wait_until_stopped()

    user = User(home)

    assert query(user.url, "select answer from kept_restart") == [(42,)]
    user.leave()


def test_a_killed_user_of_the_server_stops_no_other(home: Path) -> None:
    killed, other = start_at_once(home, 2)

    with psycopg.connect(other.url) as connection:
        killed.kill()
        assert connection.execute("select 1").fetchone() == (1,)

    assert EmbeddedPostgres(home).is_running()
    other.leave()


def test_the_server_stops_when_all_its_users_were_killed(home: Path) -> None:
    users = start_at_once(home, 3)

    for user in users:
        user.kill()

    EmbeddedPostgres(home).wait_until_stopped()


def test_a_user_who_comes_while_the_server_stops_gets_a_server(home: Path) -> None:
    User(home).kill()

    for _ in range(3):
        user = User(home)
        assert query(user.url, "select 1") == [(1,)]
        user.kill()


def test_a_forked_child_keeps_the_server_after_its_parent_was_killed(home: Path) -> None:
    forking = """
import os, sys
from queues.database.embedded import EmbeddedPostgres
url = EmbeddedPostgres(sys.argv[1]).ensure_running()
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print(url, flush=True)
os.kill(os.getpid(), 9)
"""
    orphaned = User(home, code=forking)
    orphaned.process.wait()

    assert query(orphaned.url, "select 1") == [(1,)]

    orphaned.process.stdin.close()
    EmbeddedPostgres(home).wait_until_stopped()


def test_a_killed_postmaster_is_started_again_with_its_data(home: Path) -> None:
    user = User(home)
    query(user.url, "create table kept_postmaster as select 42 as answer")
    killed = postmaster_pid(home)

    kill_and_wait(killed)

    newcomer = User(home)
    assert postmaster_pid(home) != killed
    assert query(user.url, "select answer from kept_postmaster") == [(42,)]
    newcomer.leave()
    user.leave()


def test_a_killed_keeper_is_replaced_by_one_that_adopts_the_server(home: Path) -> None:
    user = User(home)
    server = postmaster_pid(home)
    kill_and_wait(keeper_pid(home))

    newcomer = User(home)
    assert postmaster_pid(home) == server
    newcomer.kill()
    user.kill()

    EmbeddedPostgres(home).wait_until_stopped()


def test_an_adopted_server_that_is_killed_is_started_again(home: Path) -> None:
    user = User(home)
    kill_and_wait(keeper_pid(home))
    User(home).leave()

    kill_and_wait(postmaster_pid(home))

    assert query(EmbeddedPostgres(home).ensure_running(), "select 1") == [(1,)]
    user.leave()


def test_the_last_user_to_leave_stops_a_server_without_keeper(home: Path) -> None:
    user = User(home)
    kill_and_wait(keeper_pid(home))

    user.leave()

    EmbeddedPostgres(home).wait_until_stopped()


def test_after_everything_was_killed_the_next_user_starts_afresh(home: Path) -> None:
    user = User(home)
    query(user.url, "create table kept_everything as select 42 as answer")
    kill_and_wait(keeper_pid(home))
    kill_and_wait(postmaster_pid(home))
    user.kill()

    user = User(home)

    assert query(user.url, "select answer from kept_everything") == [(42,)]
    user.leave()


def test_a_pid_file_that_names_a_stranger_does_not_hinder_a_start(home: Path) -> None:
    User(home).leave()
    server = EmbeddedPostgres(home)
    server.wait_until_stopped()
    data = server.folders.data
    owner = data.stat()
    stranger = subprocess.Popen(["sleep", "60"], user=owner.st_uid if os.geteuid() == 0 else None)
    for pid_file in (data / "postmaster.pid", server.folders.socket / ".s.PGSQL.5432.lock"):
        pid_file.write_text(f"{stranger.pid}\n{data}\n1\n5432\n\n\n0 0\nready\n")
        os.chown(pid_file, owner.st_uid, owner.st_gid)

    user = User(home)

    assert query(user.url, "select 1") == [(1,)]
    user.leave()
    stranger.kill()
    stranger.wait()


def test_an_interrupted_initialisation_is_repeated(fresh_home: Path) -> None:
    remains = fresh_home / "postgres/data.initializing"
    remains.mkdir(parents=True)
    (remains / "PG_VERSION").write_text("18\n")

    user = User(fresh_home)

    assert query(user.url, "select 1") == [(1,)]
    assert not remains.exists()
    user.leave()


def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    User(home).leave()
    EmbeddedPostgres(home).wait_until_stopped()
    version = home / "postgres/data/PG_VERSION"
    version.write_text("12\n")

    with pytest.raises(EmbeddedPostgresError, match=r"does not start(.|\n)*initialized by PostgreSQL version 12"):
        EmbeddedPostgres(home).ensure_running()

    version.write_text("18\n")


def test_stop_ends_the_server_under_its_users_and_the_next_start_serves_them_again(home: Path) -> None:
    user = User(home)

    EmbeddedPostgres(home).stop()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(user.url)

    newcomer = User(home)
    assert query(user.url, "select 1") == [(1,)]
    newcomer.leave()
    user.leave()


def test_a_keeper_that_ends_early_does_no_harm(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    server, kept = EmbeddedPostgres(home), iter([True, False])
    server.folders.keeper_lock.write_text(str(ended.pid))
    monkeypatch.setattr(server, "is_kept", lambda: next(kept))

    server.stop()

    assert next(kept, None) is None


def test_the_server_never_runs_as_root_and_listens_on_a_private_socket_only(home: Path) -> None:
    user = User(home)
    server = EmbeddedPostgres(home)

    settings = dict(query(user.url, "select name, setting from pg_settings"))
    assert Path(f"/proc/{postmaster_pid(home)}").stat().st_uid == server.folders.data.stat().st_uid != 0
    assert settings["listen_addresses"] == ""
    assert settings["max_connections"] == "200"
    assert settings["max_prepared_transactions"] == "16"
    assert settings["max_locks_per_transaction"] == "256"
    assert settings["shared_buffers"] == str(256 * 1024 // 8)
    assert stat.S_IMODE(server.folders.socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.folders.data.stat().st_mode) == 0o700
    user.leave()


def test_folders_above_the_data_keep_their_owner_and_mode(fresh_home: Path) -> None:
    fresh_home.mkdir(mode=0o700)
    above = [fresh_home, *fresh_home.parents]
    before = [(path.stat().st_uid, path.stat().st_gid, path.stat().st_mode) for path in above]

    user = User(fresh_home)

    assert [(path.stat().st_uid, path.stat().st_gid, path.stat().st_mode) for path in above] == before
    assert query(user.url, "select 1") == [(1,)]
    user.leave()


def test_a_plain_user_runs_the_server_as_itself(plain_user: Runtime) -> None:
    home = plain_user.project.parent / "own"
    home.mkdir(mode=0o700)
    if plain_user.uid is not None:
        os.chown(home, plain_user.uid, plain_user.gid)

    user = User(home, plain_user)

    assert Path(f"/proc/{postmaster_pid(home)}").stat().st_uid == (plain_user.uid or os.geteuid())
    assert query(user.url, "select 1") == [(1,)]
    user.kill()
    EmbeddedPostgres(home).wait_until_stopped()


def test_a_home_of_another_user_is_refused_with_advice(plain_user: Runtime) -> None:
    home = plain_user.project.parent / "foreign"
    home.mkdir(mode=0o555)
    joining = "import sys; from queues.database.embedded import EmbeddedPostgres as E; E(sys.argv[1]).join()"

    process = plain_user.popen(joining, str(home))

    assert "set SIGNALBOX_HOME to a folder of your own" in process.communicate()[1]


def test_binaries_behind_a_private_folder_are_reached_without_opening_it(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    install = copy_wheel(private)
    server = account.server_account(tmp_path / "none yet")
    # pytest's own folders are private too, and a cache is not
    with tempfile.TemporaryDirectory(prefix="sb-") as cache:
        Path(cache).chmod(0o755)

        reached = account.reachable_install(install, server, Path(cache))

        assert server.run([str(reached / "bin/initdb"), "--version"], Path("/")).endswith("18.4")
        assert server.run([str(reached / "bin/postgres"), "--version"], Path("/")).endswith("18.4")
        assert account.reachable_install(install, server, Path(cache)) == reached
        assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_a_home_too_long_for_a_socket_has_its_socket_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 25)

    user = User(home)

    assert not EmbeddedPostgres(home).folders.socket.is_relative_to(home)
    assert query(user.url, "select 1") == [(1,)]
    user.leave()
    EmbeddedPostgres(home).wait_until_stopped()
    EmbeddedPostgres(home).folders.socket.rmdir()


def test_a_socket_folder_that_others_could_use_is_refused(tmp_path: Path) -> None:
    home = tmp_path / ("open" * 25)
    server = EmbeddedPostgres(home)
    server.folders.socket.mkdir(mode=0o755)

    with pytest.raises(EmbeddedPostgresError, match="is not a private folder"):
        server.ensure_running()

    server.folders.socket.rmdir()
    server.leave()


def test_django_starts_the_server_and_finds_it_again_after_a_kill(home: Path) -> None:
    using_django = """
import sys, django
from django.conf import settings
from queues.database.url import database_settings
settings.configure(DATABASES={"default": database_settings("", sys.argv[1])})
django.setup()
from django.db import connection
def answer():
    with connection.cursor() as cursor:
        cursor.execute("show search_path")
        return cursor.fetchone()[0]
print(answer(), flush=True)
connection.close()
sys.stdin.readline()
print(answer(), flush=True)
"""
    process = Runtime().popen(using_django, str(home))
    assert process.stdout.readline() == "signalbox,public\n"

    kill_and_wait(postmaster_pid(home))

    said, complaints = process.communicate("go on\n")
    assert said == "signalbox,public\n", complaints


def test_django_connects_to_a_server_that_becomes_ready_before_it_looks(home: Path) -> None:
    """The first try meets none; what it says then is not passed on."""
    using_django = """
import sys, django
from django.conf import settings
from queues.database.url import database_settings
from queues.database.embedded import EmbeddedPostgres
settings.configure(DATABASES={"default": database_settings("", sys.argv[1])})
django.setup()
from django.db import connection
look = EmbeddedPostgres.is_accepting
EmbeddedPostgres.is_accepting = lambda server: bool(server.ensure_running()) and look(server)
connection.ensure_connection()
print(connection.is_usable())
"""
    process = Runtime().popen(using_django, str(home))

    said, complaints = process.communicate()
    assert said == "True\n", complaints


def test_django_reports_a_missing_database_as_missing(home: Path) -> None:
    user = User(home)
    asking_for_another = """
import sys, django
from django.conf import settings
from queues.database.url import database_settings
settings.configure(DATABASES={"default": database_settings("", sys.argv[1]) | {"NAME": "absent"}})
django.setup()
from django.db import connection
connection.ensure_connection()
"""

    process = Runtime().popen(asking_for_another, str(home))

    assert 'database "absent" does not exist' in process.communicate()[1]
    user.leave()


def test_the_programs_of_postgresql_are_at_hand() -> None:
    for name in ("psql", "pgbench", "pg_dump", "pg_basebackup"):
        said = subprocess.run([binary(name), "--version"], capture_output=True, text=True, check=True).stdout
        assert said.startswith(name)
        assert "18." in said
    with pytest.raises(EmbeddedPostgresError, match="no program 'nonsense'"):
        binary("nonsense")


def test_a_lock_is_free_once_its_holder_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holding = """
import sys
from pathlib import Path
from queues.database.embedded import locks
locks.shared(Path(sys.argv[1]))
print('held', flush=True)
sys.stdin.read()
"""
    holder = Runtime().popen(holding, str(path))
    assert holder.stdout.readline() == "held\n"
    assert locks.is_held(path)

    holder.kill()
    holder.communicate()

    assert not locks.is_held(path)
