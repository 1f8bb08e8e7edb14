"""The archive in an object store, where nothing is renamed: a real endpoint that speaks S3, on this machine."""

from __future__ import annotations

import logging
import signal
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from pipeline.archive.extracting import Job, Written
from pipeline.archive.files import NoStore, Store
from pipeline.archive.parts import Part
from pipeline.models import Run
from tests.engine import Engine
from tests.pipeline.conftest import Archive, in_this_process, settle
from tests.pipeline.forks import Forks
from tests.pipeline.object_store import SECRET, bucket_url, credentials

__all__ = ["bucket_url"]


@pytest.fixture
def stored(archive: Archive, bucket_url: str) -> Iterator[Archive]:
    """An archive in a folder of its own in the bucket."""
    with credentials():
        yield replace(archive, url=bucket_url.replace("FOLDER", uuid.uuid4().hex))


def test_an_archive_in_a_bucket_is_that_of_a_folder(
    stored: Archive, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ids = settle(engine, 12)

    done = stored.run(part_rows=5)

    assert stored.ids("settled", engine) == ids
    assert stored.files() == stored.named()
    assert done.bytes == sum(Store(stored.url).bytes_of(path) for path in stored.named())
    again = stored.run()
    assert (again.rows, stored.files()) == (0, stored.named())
    assert SECRET not in caplog.text + str(list(Run.objects.values()))


@pytest.mark.parametrize("step", ["writing", "written"])
def test_a_run_that_was_killed_is_finished_in_the_bucket(
    stored: Archive, engine: Engine, forks: Forks, step: str
) -> None:
    """An incomplete upload is no object; a complete one is overwritten by an equal one."""
    ids = settle(engine, 12)
    stored.until_over()

    killed = forks.run("tests.pipeline.archive.killed", stored.url, step)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert SECRET not in killed.stderr
    assert not [path for path in stored.files() if "2026-01-01" in path]
    stored.run()

    assert Run.objects.order_by("pk")[0].attempts == 2
    assert stored.ids("settled", engine) == ids
    assert stored.files() == stored.named()


def test_an_error_in_the_middle_of_an_upload_leaves_no_object(stored: Archive, engine: Engine) -> None:
    settle(engine, 3)

    def breaks(job: Job, parts: Sequence[Part]) -> list[Written]:
        with Store(job.url).writing(f"settled/day=2026-01-01/{job.prefix}-00000.parquet") as stream:
            stream.write(b"PAR1 and no more")
            raise OSError("the network is gone")
        return in_this_process(job, parts)

    with pytest.raises(OSError, match="network"):
        stored.run(breaks)

    assert stored.files() == []


@pytest.mark.parametrize(
    "url",
    [
        f"s3://key:{SECRET}@bucket/archive",
        f"s3://bucket/archive?secret_key={SECRET}",
        f"abfs://container:{SECRET}@account.dfs.core.windows.net/archive",
        "s3://key@bucket/archive",
    ],
)
def test_an_address_with_credentials_is_refused_and_not_repeated(archive: Archive, url: str) -> None:
    archive.url = url

    with pytest.raises(NoStore, match="into environment variables") as refused:
        archive.run()

    assert SECRET not in str(refused.value)
    assert not Run.objects.exists()


def test_another_scheme_is_one_of_fsspec(archive: Archive, engine: Engine) -> None:
    archive.url = f"memory://{uuid.uuid4().hex}"
    ids = settle(engine, 7)

    archive.run(part_rows=3)

    assert archive.ids("settled", engine) == ids
    assert archive.files() == archive.named()
