"""One plain way to export rows, in a process of its own: plain.py WAY URL FOLDER.

The plain ways keep no count, no manifest and no horizon; each works once.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from string import Template

from bench.scenarios import SQL

ROWS_OF_A_GROUP = 250_000
SORT = "64MB"  # as in the archive


def adbc(url: str, folder: Path) -> None:
    """Export by ADBC to Arrow, and by pyarrow to Parquet."""
    import adbc_driver_postgresql.dbapi as postgresql
    import pyarrow.parquet as pq

    with postgresql.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"set work_mem = '{SORT}'")
        cursor.execute(select())
        batches = cursor.fetch_record_batch()
        with pq.ParquetWriter(folder / "plain.parquet", batches.schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch, row_group_size=ROWS_OF_A_GROUP)


def duckdb(url: str, folder: Path) -> None:
    """Export by COPY to CSV through a pipe, and by DuckDB to Parquet."""
    import duckdb as duck
    import psycopg

    pipe = folder / "rows.csv"
    os.mkfifo(pipe)
    with psycopg.connect(url) as connection:
        connection.execute(f"set work_mem = '{SORT}'")
        described = connection.execute(f"select * from ({select()}) s limit 0").description or []
        columns = {column.name: TYPES.get(column.type_display, "VARCHAR") for column in described}

        def copy() -> None:
            with pipe.open("wb") as end, connection.cursor().copy(f"copy ({select()}) to stdout (format csv)") as rows:
                for block in rows:
                    end.write(block)

        thread = threading.Thread(target=copy)
        thread.start()
        duck.execute("set preserve_insertion_order = false")
        shape = f"auto_detect = false, parallel = false, quote = '\"', escape = '\"', columns = {columns}"
        to = folder / "plain.parquet"
        duck.execute(f"copy (from read_csv('{pipe}', {shape})) to '{to}' (format parquet, compression zstd)")
        thread.join()


def rollup(url: str, folder: Path) -> None:
    """Read the files of the archive with DuckDB."""
    import duckdb as duck

    duck.execute("set timezone = 'UTC'")
    duck.execute(
        Template((SQL / "archive" / "rollup.sql").read_text()).substitute(files=folder / "settled" / "*" / "*")
    )


def start(url: str, folder: Path) -> None:
    """Start a Spark session as the archive does, and do nothing."""
    from pipeline.spark import sessions

    with sessions.session("local[*]", sessions.light({}), Path(os.environ["SPARK_CLASSES"])) as session:
        session.range(1).mapInArrow(lambda batches: batches, "id long").toArrow()


def select() -> str:
    return (SQL / "archive" / "plain.sql").read_text()


TYPES = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "timestamptz": "TIMESTAMPTZ",
}
WAYS = {way.__name__: way for way in (adbc, duckdb, rollup, start)}

if __name__ == "__main__":
    name, given_url, given_folder = sys.argv[1:]
    WAYS[name](given_url, Path(given_folder))
