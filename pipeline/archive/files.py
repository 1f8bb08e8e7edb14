"""The store of the archive: a folder of this machine or an object store, by its URL, behind one interface.

A file appears under its name whole or not at all: a folder gets it by a rename, an object store when the upload is
complete.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

BEGUN = ".begun-"
"""In the name of a file of which only a part may be there."""

SECRET = re.compile("key|secret|token|password|credential|signature|^sig$|^sas", re.IGNORECASE)


def canonical(url: str) -> str:
    """Write an address in its only form: a folder by its whole path, from wherever it was named."""
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc:
        url = unquote(parts.path)
    return url.rstrip("/") if "://" in url else os.path.normpath(Path(url).expanduser().absolute())


class NoStore(ValueError):  # noqa: N818 - it names what happened
    """The archive's address cannot be used."""


class Store:
    """A folder by its path or file:// URL; s3://, gs://, abfs:// by Arrow; another scheme by fsspec, if it knows it."""

    def __init__(self, url: str) -> None:
        self.system, self.root = _opened(url)
        self.is_folder = isinstance(self.system, pyarrow.fs.LocalFileSystem)

    @contextmanager
    def writing(self, path: str) -> Iterator[Any]:
        """A stream whose content is at `path` once the block has ended well, in the place of what was there."""
        whole = self.whole(path)
        if not self.is_folder:
            try:  # an object is there when its stream is closed, also by an error; after a kill it is not
                with self.system.open_output_stream(whole) as stream:
                    yield stream
            except BaseException:
                self.remove(path)
                raise
            return
        target = Path(whole)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        begun = target.with_name(f"{target.name}{BEGUN}{uuid.uuid4().hex[:8]}")
        try:
            with begun.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            begun.replace(target)
            self._keep_name(target)
        finally:
            begun.unlink(missing_ok=True)

    def _keep_name(self, target: Path) -> None:
        """A new name, and that of a new folder, outlives a loss of power once the folder that has it is on the disk."""
        for folder in target.parents:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if not folder.is_relative_to(self.root):
                return

    def rows_of(self, path: str) -> int:
        """Read how many rows the file says that it has. Raises an error when it is missing or not whole."""
        with self.system.open_input_file(self.whole(path)) as stream:
            return int(pq.read_metadata(stream).num_rows)

    def bytes_of(self, path: str) -> int:
        return int(self.system.get_file_info(self.whole(path)).size)

    def read(self, path: str, **options: Any) -> pa.Table:
        with self.system.open_input_file(self.whole(path)) as stream:
            return pq.read_table(stream, **options)

    def batches(self, path: str, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read the file's rows in batches; of the columns those that it has."""
        with self.system.open_input_file(self.whole(path)) as stream:
            file = pq.ParquetFile(stream)
            there = [name for name in columns if name in file.schema_arrow.names]
            yield from file.iter_batches(batch_size=rows, columns=there)

    def remove(self, path: str) -> None:
        """Remove the file, which may be gone already."""
        if self.system.get_file_info(self.whole(path)).type != pyarrow.fs.FileType.NotFound:
            self.system.delete_file(self.whole(path))

    def paths(self) -> list[str]:
        """List all paths, those of other writers too."""
        chosen = pyarrow.fs.FileSelector(self.root, recursive=True, allow_not_found=True)
        found = self.system.get_file_info(chosen)
        return sorted(info.path[len(self.root) :].lstrip("/") for info in found if info.is_file)

    def whole(self, path: str) -> str:
        """Write the path as the file system names it."""
        return f"{self.root}/{path}"


def _opened(url: str) -> tuple[Any, str]:
    """Open a store. An address with a secret is refused, since it is in the manifest, on pages and in logs."""
    if "://" not in url:
        url = Path(url).absolute().as_uri()
    parts = urlsplit(url)
    asked = [name for name, _ in parse_qsl(parts.query) if SECRET.search(name)]
    # A container before an @, as abfs:// has it, is no secret.
    if parts.password is not None or asked or (parts.username and parts.scheme in ("s3", "s3a", "gs", "gcs")):
        raise NoStore(f"{parts.scheme}:// with credentials in it: they belong in the environment, not in the address")
    try:
        system, root = pyarrow.fs.FileSystem.from_uri(url)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        system, root = _by_fsspec(url)
    return system, root.rstrip("/")


def _by_fsspec(url: str) -> tuple[Any, str]:
    import fsspec

    try:
        system, root = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        scheme = url.partition("://")[0]
        raise NoStore(f"{scheme}:// cannot be opened here: {error}") from error
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(system)), root
