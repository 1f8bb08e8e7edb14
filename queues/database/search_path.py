"""The search path for connections that cannot set it: those through a pooler in transaction mode.

They take the search path of their role in this database, which `migrate` sets for the role of DATABASE_URL.
"""

from __future__ import annotations

from django.db import ProgrammingError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from queues.errors import SignalboxError

_IS_GIVEN = """
select exists (
  select from pg_db_role_setting s, unnest(s.setconfig) setting
  where s.setdatabase = (select d.oid from pg_database d where d.datname = %(database)s)
    and s.setrole = (select r.oid from pg_roles r where r.rolname = %(role)s)
    and setting ~ '^search_path=.*signalbox'
)
"""


class SearchPathDenied(SignalboxError):  # noqa: N818 - as in signalbox.errors
    """The current role may not set the search path of this role."""


def set_for_role(connection: BaseDatabaseWrapper, role: str) -> bool:
    """Set the search path of a role (empty: the current one) in this database; False when it was set before."""
    with connection.cursor() as cursor:
        cursor.execute("select current_user, current_database()")
        user, database = cursor.fetchone()
        cursor.execute(_IS_GIVEN, {"role": role or user, "database": database})
        if cursor.fetchone()[0]:
            return False
        statement = sql.SQL("alter role {} in database {} set search_path = signalbox, public").format(
            sql.Identifier(role or user), sql.Identifier(database)
        )
        try:
            cursor.execute(statement)
        except ProgrammingError as error:
            raise SearchPathDenied(
                f"The role {user} may not set the search path of {role}. Run this as a role that may: "
                f"{statement.as_string(cursor.connection)}"
            ) from error
    return True


def is_ours(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether a connection like this one finds the tables of Signalbox."""
    with connection.cursor() as cursor:
        cursor.execute("select 'signalbox' = any(current_schemas(false))")
        return bool(cursor.fetchone()[0])
