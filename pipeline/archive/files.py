"""The store of the archive: a folder of this machine or an object store, opened by its URL.

A file appears under its name only when it is complete: in a folder by a rename, in an object store when the upload
ends.
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
"""Part of the name of a file that is still being written."""

SECRET = re.compile("key|secret|token|password|credential|signature|^sig$|^sas", re.IGNORECASE)


def canonical(url: str) -> str:
    """Normalize an address: a folder becomes its absolute path."""
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc:
        url = unquote(parts.path)
    return url.rstrip("/") if "://" in url else os.path.normpath(Path(url).expanduser().absolute())


class NoStore(ValueError):  # noqa: N818 - it names what happened
    """The archive's address cannot be used."""


class Store:
    """A folder (a path or file:// URL), an object store of Arrow (s3, gs, abfs), or any store that fsspec can open."""

    def __init__(self, url: str) -> None:
        self.system, self.root = _opened(url)
        self.is_folder = isinstance(self.system, pyarrow.fs.LocalFileSystem)

    @contextmanager
    def writing(self, path: str) -> Iterator[Any]:
        """Open a stream for a new file, which replaces the file at `path` when the block ends without an error."""
        whole = self.whole(path)
        if not self.is_folder:
            try:  # closing the stream creates the object, even after an error
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
            self._sync_folders(target)
        finally:
            begun.unlink(missing_ok=True)

    def _sync_folders(self, target: Path) -> None:
        """Write the folders above a new file to disk, so that its name survives a loss of power."""
        for folder in target.parents:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if not folder.is_relative_to(self.root):
                return

    def rows_of(self, path: str) -> int:
        """Read the number of rows from the file's footer. Raises an error when the file is missing or incomplete."""
        with self.system.open_input_file(self.whole(path)) as stream:
            return int(pq.read_metadata(stream).num_rows)

    def bytes_of(self, path: str) -> int:
        return int(self.system.get_file_info(self.whole(path)).size)

    def read(self, path: str, **options: Any) -> pa.Table:
        with self.system.open_input_file(self.whole(path)) as stream:
            return pq.read_table(stream, **options)

    def batches(self, path: str, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read the file's rows in batches, with those of the columns that the file has."""
        with self.system.open_input_file(self.whole(path)) as stream:
            file = pq.ParquetFile(stream)
            existing = [name for name in columns if name in file.schema_arrow.names]
            yield from file.iter_batches(batch_size=rows, columns=existing)

    def remove(self, path: str) -> None:
        """Remove the file, if it exists."""
        if self.system.get_file_info(self.whole(path)).type != pyarrow.fs.FileType.NotFound:
            self.system.delete_file(self.whole(path))

    def paths(self) -> list[str]:
        """List the paths of all files in the store."""
        everything = pyarrow.fs.FileSelector(self.root, recursive=True, allow_not_found=True)
        entries = self.system.get_file_info(everything)
        return sorted(entry.path[len(self.root) :].lstrip("/") for entry in entries if entry.is_file)

    def whole(self, path: str) -> str:
        """Return the path as the file system needs it."""
        return f"{self.root}/{path}"


def _opened(url: str) -> tuple[Any, str]:
    """Open a store. An address with a secret is refused: addresses stand in the manifest, on pages and in logs."""
    if "://" not in url:
        url = Path(url).absolute().as_uri()
    parts = urlsplit(url)
    secrets = [name for name, _ in parse_qsl(parts.query) if SECRET.search(name)]
    # In abfs:// addresses the name before the @ is a container.
    if parts.password is not None or secrets or (parts.username and parts.scheme in ("s3", "s3a", "gs", "gcs")):
        raise NoStore(f"the {parts.scheme}:// address contains credentials: put them into environment variables")
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
        raise NoStore(f"{url.partition('://')[0]}:// cannot be opened on this machine: {error}") from error
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(system)), root
