"""The guide docs/use/django-q-moving.md, run as written, while a real cluster of django-q and its senders go on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

pytestmark = [pytest.mark.proof, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "use" / "django-q-moving.md").read_text()
[QUEUE] = re.findall(r"^```sql\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
HANDLER, MOVING, SETTING = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
WITHIN_SECONDS = 120
TASKS = 40
MOVED = {"BROKER_CLASS": "shop.moving.Signalbox"}
HOOKED = (
    "import django; django.setup(); from django_q.tasks import async_task;"
    " async_task('operator.abs', -1, hook='builtins.print')"
)
FORWARD = "import django; django.setup(); from shop.moving import forward; print(sum(iter(lambda: forward(most=7), 0)))"

Connect = Callable[..., psycopg.Connection[Any]]


class Project:
    """The Django project: its programs, with the modules that the guide adds, and what its tasks have done."""

    def __init__(self, folder: Path, dsn: str, connection: psycopg.Connection[Any]) -> None:
        (folder / "shop").mkdir()
        (folder / "shop" / "handlers.py").write_text(HANDLER)
        (folder / "shop" / "moving.py").write_text(MOVING)
        self.folder, self.dsn, self.connection = folder, dsn, connection
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.signalbox.django_q.settings",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
            "SHOP_DSN": dsn,
        }

    def run(self, *words: str, **variables: str) -> str:
        environment = self.environment | variables
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=self.folder, env=environment, check=True, capture_output=True, text=True)
        return done.stdout

    @contextmanager
    def running(self, *words: str, **variables: str) -> Iterator[None]:
        """Run a program until the end of the block, then ask it to stop and wait for it."""
        with (self.folder / "programs.log").open("a") as log:
            command, environment = [sys.executable, *words], self.environment | variables
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)

    def shipped(self) -> Counter[str]:
        return Counter(order for (order,) in self.connection.execute("select order_id from django_q_guide.shipped"))

    def wait(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN_SECONDS
        while not reached():
            assert time.monotonic() < deadline, (self.folder / "programs.log").read_text()[-4_000:]
            time.sleep(0.02)

    def forward(self) -> int:
        """Run the program of the guide until it finds nothing, and return how many tasks it forwarded."""
        return int(self.run("-c", FORWARD, **MOVED))


@pytest.fixture
def project(tmp_path: Path, dsn: str, connect: Connect) -> Iterator[Project]:
    connection = connect()
    connection.execute("create schema django_q_guide")
    connection.execute("create table django_q_guide.shipped (order_id text, express boolean)")
    project = Project(tmp_path, dsn, connection)
    project.run("-m", "django", "migrate", "--verbosity=0")
    yield project
    connection.execute("drop schema django_q_guide cascade")


def test_the_guide_moves_a_running_project(project: Project) -> None:
    cluster = ["-m", "django", "qcluster"]
    sending = ["-m", "tests.signalbox.django_q.sending"]
    project.run(*sending, "0", f"{TASKS}")
    with project.running(*cluster):
        project.wait(lambda: project.shipped().total() >= TASKS / 4)
        project.connection.execute(QUEUE)
        project.run(*sending, f"{TASKS}", f"{2 * TASKS}", **MOVED)
        forwarded = project.forward()
    forwarded += project.forward()
    by_old = project.shipped().total()
    assert project.connection.execute("select from django_q_guide.django_q_ormq").rowcount == 0
    assert forwarded + by_old >= TASKS

    with pytest.raises(subprocess.CalledProcessError) as refused:  # no hook is lost in silence
        project.run("-c", HOOKED, **MOVED)
    assert "operator.abs has a hook, an iteration or a cached result, which do not move" in refused.value.stderr

    sent = Counter(f"order-{number}" for number in range(2 * TASKS))
    sent.update(f"chain-{first}-{step}" for first in (0, TASKS) for step in (1, 2))
    sent.update(f"scheduled-{first}" for first in (0, TASKS))
    worker = ["-m", "signalbox.worker", "shop", "shop.handlers:handle", "--url", project.dsn]
    with project.running(*worker, **MOVED), project.running(*cluster, **MOVED):
        project.wait(lambda: project.shipped().total() >= sent.total())
    assert project.shipped() == sent
    assert TASKS / 4 <= by_old < sent.total()
    assert MOVED["BROKER_CLASS"] in SETTING
