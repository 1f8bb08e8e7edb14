"""Processes of the project that work on the test database."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

PROJECT = Path(__file__).resolve().parents[2]


def environment(dsn: str) -> dict[str, str]:
    """Command of the project with the test database as its database."""
    parameters = {name: value for name, value in conninfo_to_dict(dsn).items() if name != "options"}
    return {**os.environ, "DATABASE_URL": f"postgresql:///?{urlencode(parameters)}", "PYTHONPATH": str(PROJECT)}
