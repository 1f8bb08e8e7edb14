"""The kept server with Spark in it: the same work as anywhere, for its owner alone, and a cancel that reaches it.

It is one for all tests here, and each job is a process of its own, as with a worker.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import psycopg
import pytest
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from pipeline.jobs import starting
from pipeline.models import Run
from pipeline.spark import keeper
from pipeline.spark.keeper import Address, ServerFolder
from pipeline.spark.servers import Server
from tests.dlq.processes import PROJECT, environment
from tests.engine import Engine
from tests.pipeline.conftest import Archive
from tests.pipeline.spark.conforming_data import Expected, assert_conforms, run
from tests.pipeline.spark.conforming_data import expected as expected
from tests.pipeline.spark_cluster import OPTIONS
from tests.races.sessions import until
from tests.streams import make_log

pytestmark = [pytest.mark.timeout(900), pytest.mark.proof]

LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")


@pytest.fixture(scope="module")
def variables(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Options of each process that uses the server."""
    home = str(tmp_path_factory.mktemp("home"))
    own = {"SIGNALBOX_HOME": home, "SPARK_MASTER": "local[2]", "SPARK_OPTIONS": json.dumps(OPTIONS)}
    return environment(dsn) | own | {"SPARK_SERVER_IDLE_SECONDS": "86400"}


@pytest.fixture(scope="module")
def place(variables: dict[str, str]) -> Iterator[ServerFolder]:
    place = ServerFolder(Path(variables["SIGNALBOX_HOME"]))
    yield place
    if address := place.read():
        java = psutil.Process(address.pid).children(recursive=True)
        os.kill(address.pid, signal.SIGTERM)
        until(lambda: not any(is_alive(process) for process in java), "the end of the server's Java")


@pytest.fixture
def address(place: ServerFolder, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Address:
    """Shared server, or a new one where a test has killed it."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with keeper.use(place, os.getpid()):
        address = place.read()
    assert address is not None
    return address


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def is_java(process: psutil.Process) -> bool:
    try:
        return "java" in process.name()
    except psutil.NoSuchProcess:
        return False


def test_it_gives_the_same_as_anywhere(
    address: Address, variables: dict[str, str], archive: Archive, expected: Expected, tmp_path: Path
) -> None:
    url = str(tmp_path / "elsewhere")

    command = [sys.executable, "-m", "tests.pipeline.spark.conforming", url, expected.queue, expected.chosen, "server"]
    run(command, variables)

    assert_conforms(expected, url)
    row = Server.objects.get(pid=address.pid)
    until(lambda: Server.objects.get(pk=row.pk).jobs >= 2, "the count of jobs")


def test_it_listens_on_loopback_alone(address: Address) -> None:
    (java, *_) = [process for process in psutil.Process(address.pid).children(recursive=True) if is_java(process)]
    listens = [one.laddr for one in java.net_connections(kind="inet") if one.status == psutil.CONN_LISTEN]

    assert address.port in [at.port for at in listens]
    assert [at for at in listens if at.ip not in LOOPBACK] == []
    assert address.token not in " ".join(java.cmdline())


def test_a_job_reads_and_writes_queues_and_streams_through_it(
    address: Address,
    variables: dict[str, str],
    connect: Callable[..., psycopg.Connection[Any]],
    engine: Engine,
    tmp_path: Path,
) -> None:
    log = make_log(connect(), partitions=2)
    for n in range(3):
        log.append({"n": n})
    job = [sys.executable, "-m", "tests.pipeline.source.served"]

    said = run([*job, variables["DATABASE_URL"], log.name, engine.queue, str(tmp_path)], variables)

    assert said.strip() == str(sorted(f'{{"n": {n}}}' for n in range(3)))


@pytest.mark.parametrize("token", ["wrong", None])
def test_it_answers_to_its_token_alone(address: Address, token: str | None) -> None:
    local = grpc.local_channel_credentials()
    if token:
        local = grpc.composite_channel_credentials(local, grpc.access_token_call_credentials(token))
    with grpc.secure_channel(f"localhost:{address.port}", local) as channel:
        asked = base_pb2.AnalyzePlanRequest(
            session_id="00112233-4455-6677-8899-aabbccddeeff",
            spark_version=base_pb2.AnalyzePlanRequest.SparkVersion(),
        )

        with pytest.raises(grpc.RpcError) as refused:
            base_pb2_grpc.SparkConnectServiceStub(channel).AnalyzePlan(asked, timeout=120)

    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_a_cancel_interrupts_the_job_and_not_the_server(
    address: Address, variables: dict[str, str], archive: Archive, tmp_path: Path
) -> None:
    rollup = Run.objects.create(kind=Run.Kind.ROLLUP, token="", url="", parts=[], started_by="ann")
    with endless_job(variables, tmp_path / "begun") as job:
        assert starting.cancel(rollup.pk, actor="ann")
        said, wrong = job.communicate(timeout=600)

    assert said.strip() == "cancelled 3", wrong[-4000:]


def test_what_a_killed_job_had_under_way_ends(address: Address, variables: dict[str, str], tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with endless_job(variables, begun) as job:
        task = psutil.Process(int(begun.read_text()))
        job.kill()
        job.wait()

        until(lambda: not is_alive(task), "the end of the task")


def test_a_job_fails_soon_when_its_server_is_killed(
    address: Address, variables: dict[str, str], tmp_path: Path
) -> None:
    """The last: whatever came behind it would start another."""
    with endless_job(variables, tmp_path / "begun") as job:
        os.kill(address.pid, signal.SIGKILL)
        said, wrong = job.communicate(timeout=600)

    assert said.startswith("failed"), wrong[-4000:]


@contextmanager
def endless_job(variables: dict[str, str], begun: Path) -> Iterator[subprocess.Popen[str]]:
    """A job of which a task is under way."""
    command = [sys.executable, "-m", "tests.pipeline.spark.interrupted", str(begun)]
    with subprocess.Popen(
        command, cwd=PROJECT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        try:
            until(lambda: begun.exists() or job.poll() is not None, "the task")
            yield job
        finally:
            job.kill()
