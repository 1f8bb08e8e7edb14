"""The tasks of the project: each notes its order in a table."""

from django.db import connection


def ship(order: str, *, express: bool = False) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into shipped values (%s, %s)", [order, express])
