"""An operator lets the database's pg_cron do the upkeep: what is sent to the extension, and what is said without it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

# What pg_cron offers, as far as it is asked: jobs of a name, replaced when scheduled again.
CRON = """
create schema cron;
create table cron.job (
  jobid bigserial, jobname text unique, schedule text, command text, database text default current_database()
);
create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql as $$
  insert into cron.job (jobname, schedule, command) values ($1, $2, $3) returning jobid
$$;
create function cron.unschedule(job_name text) returns boolean language plpgsql as $$
begin
  delete from cron.job j where j.jobname = job_name;
  return found;
end $$;
insert into cron.job (jobname, schedule, command) values ('somebody else', '* * * * *', 'select 1');
"""


def run(*arguments: str) -> str:
    said = StringIO()
    call_command("schedule_upkeep", *arguments, stdout=said)
    return said.getvalue()


def jobs() -> dict[str, tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute("select jobname, schedule, command from cron.job where jobname <> 'somebody else'")
        return {name: (schedule, command) for name, schedule, command in cursor.fetchall()}


@pytest.fixture
def install(db: None) -> None:
    """The extension as far as it matters, in a transaction that is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute(CRON)


def pretend_version(version: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("set local allow_system_table_mods = on")
        cursor.execute(
            "insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)"
            " select 4000000000, 'pg_cron', r.oid, 'cron'::regnamespace, false, %s"
            " from pg_roles r where r.rolname = current_user",
            [version],
        )


@pytest.mark.django_db
def test_without_the_extension_it_says_so_plainly() -> None:
    with pytest.raises(CommandError, match=r"pg_cron is not installed in the database .*Run manage\.py upkeep instead"):
        run()


@pytest.mark.usefixtures("install")
def test_a_recent_pg_cron_takes_a_step_every_second() -> None:
    pretend_version("1.6")

    said = run()
    assert said.startswith("pg_cron runs: signalbox upkeep.\n")
    assert "Claims get slower while a transaction holds an old snapshot" in said
    assert jobs() == {"signalbox upkeep": ("1 seconds", "select signalbox.upkeep()")}
    run()
    assert len(jobs()) == 1
    assert run("--remove") == "Removed 1 jobs.\n"
    assert jobs() == {}


@pytest.mark.usefixtures("install")
def test_an_older_one_takes_every_step_each_minute() -> None:
    pretend_version("1.4-1")

    run()
    with connection.cursor() as cursor:
        cursor.execute("select signalbox.upkeep_steps()")
        (steps,) = cursor.fetchone()
    assert jobs() == {f"signalbox {step}": ("* * * * *", f"select signalbox.upkeep('{step}')") for step in steps}
    with connection.cursor() as cursor:
        for _, command in jobs().values():
            cursor.execute(command)
    assert run("--remove") == f"Removed {len(steps)} jobs.\n"


@pytest.mark.usefixtures("install")
def test_an_upgrade_of_the_extension_leaves_no_old_jobs() -> None:
    pretend_version("1.4-1")
    run()
    with connection.cursor() as cursor:
        cursor.execute("update pg_extension set extversion = '1.6' where extname = 'pg_cron'")
    run()

    assert list(jobs()) == ["signalbox upkeep"]
