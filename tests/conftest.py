"""Gives the test run a home, and thereby a PostgreSQL, of its own; DATABASE_URL runs it on another server.

The settings are named here and not in pyproject.toml, because pytest-django would otherwise read them
before this file has said where home is.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from queues.embedded import EmbeddedPostgres

HOME = Path(tempfile.mkdtemp(prefix="signalbox-tests-"))

os.environ["SIGNALBOX_HOME"] = str(HOME)
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
os.environ.setdefault("HTTPS_ONLY", "false")  # the test client and the browser speak plain HTTP


def pytest_unconfigure(config: pytest.Config) -> None:
    server = EmbeddedPostgres(HOME)
    if server.is_running():
        server.stop()
    shutil.rmtree(HOME)
