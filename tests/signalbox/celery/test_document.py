"""The example of docs/use/celery.md, as it stands there, with another address."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psycopg
import pytest

from tests.signalbox.celery.conftest import PROJECT, broker_url, wait_until

pytestmark = pytest.mark.timeout(600)
DOCUMENT = PROJECT / "docs/use/celery.md"


@pytest.mark.proof
def test_the_example_runs(dsn: str, tmp_path: Path) -> None:
    text = DOCUMENT.read_text()
    [program] = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    [statement] = re.findall(r"```sql\n(.*?)```", text, flags=re.DOTALL)
    queue = f"celery-{uuid.uuid4().hex[:8]}"
    program = program.replace("signalbox://shop:secret@db.example/shop", broker_url(dsn))
    (tmp_path / "shop.py").write_text(f"{program}\napp.conf.task_default_queue = {queue!r}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PROJECT)])}

    subprocess.run([sys.executable, "-c", "import shop; shop.ship.delay(7)"], cwd=tmp_path, env=environment, check=True)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.replace("'celery'", f"'{queue}'").encode())
    log = tmp_path / "log"
    with log.open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "shop", "worker", "-l", "INFO", "-c", "1", "-n", f"{queue}@here"],
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_until(
            lambda: {"shipped 7", "shipped 42"} <= set(re.findall(r"shipped \d+", log.read_text())), log.read_text
        )
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def test_every_option_is_documented() -> None:
    from dataclasses import fields

    from signalbox.celery.options import Options

    documented = set(re.findall(r"^\| `([a-z_]+)` \|", DOCUMENT.read_text(), flags=re.MULTILINE))

    assert documented == {field.name for field in fields(Options)}
