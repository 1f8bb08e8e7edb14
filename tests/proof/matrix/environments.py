"""Python environments with other versions than the tests', and PostgreSQL 15 in the place of the embedded 18.

An environment is made once for its lock file and kept in the virtual environment of the tests, under a hash. One of the
same Python also has every package of the tests; its own packages come first. Processes that a test starts with
`sys.executable` have the same packages.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from queues.database.embedded.binaries import INSTALL_FOLDER, WHEEL_MODULE

KEPT = Path(sys.prefix) / "matrix"
LOCKS = Path(__file__).parent
POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")
INITDB = f"""#!/usr/bin/env bash
# PostgreSQL 15 has neither --set nor a locale provider of its own.
set -e
arguments=() settings=()
for argument in "$@"; do
  case $argument in
    *builtin*) ;;
    --set=*) settings+=("${{argument#--set=}}") ;;
    *) arguments+=("$argument") ;;
  esac
done
{POSTGRES_15}/initdb "${{arguments[@]}}"
for setting in "${{settings[@]}}"; do
  echo "${{setting%%=*}} = '${{setting#*=}}'" >> "$PGDATA/postgresql.conf"
done
"""


PASSABLE = """import os
import tempfile

_made = tempfile.mkdtemp


def mkdtemp(*arguments, **options):
    folder = _made(*arguments, **options)
    os.chmod(folder, 0o711)
    return folder


tempfile.mkdtemp = mkdtemp  # the programs of PostgreSQL 15 go back to their folder by its name
"""

Fill = Callable[[Path, Path], None]
"""Writes into the folder of packages of a Python."""


def with_packages(name: str, python: str) -> Path:
    """Return the Python of an environment with the packages of a lock file."""
    lock = LOCKS / f"{name}.lock"

    def install(own: Path, packages: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", own, "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "--target", packages, "--requirement", lock], check=True, timeout=300)

    return _kept(name, python, lock.read_bytes(), install)


def with_postgres_15() -> Path:
    """Return a Python of the tests whose embedded PostgreSQL is Debian's 15."""
    return _kept("postgres15", sys.executable, (INITDB + PASSABLE).encode(), _wrap_postgres_15)


def _kept(name: str, python: str, content: bytes, fill: Fill) -> Path:
    """Find the environment, or make it while other processes wait."""
    digest = hashlib.sha256(python.encode() + content).hexdigest()[:12]
    folder = KEPT / f"{name}-{digest}"
    KEPT.mkdir(exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not folder.exists():
            for former in KEPT.glob(f"{name}-*"):
                shutil.rmtree(former)
            draft = KEPT / f"draft-{name}"
            shutil.rmtree(draft, ignore_errors=True)
            _make(draft, python, fill)
            draft.rename(folder)
    return folder / "bin" / "python"


def _make(folder: Path, python: str, fill: Fill) -> None:
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    fill(folder / "bin" / "python", packages)
    if python == sys.executable:
        (packages / "of_the_tests.pth").write_text(f"{sysconfig.get_path('purelib')}\n")


def _wrap_postgres_15(_: Path, packages: Path) -> None:
    """Lay Debian's programs out as the wheel does, with an `initdb` that takes our options."""
    programs = packages / WHEEL_MODULE / INSTALL_FOLDER / "bin"
    programs.mkdir(parents=True)
    (packages / WHEEL_MODULE / "__init__.py").touch()
    for program in POSTGRES_15.iterdir():
        (programs / program.name).symlink_to(program)
    (programs / "initdb").unlink()
    (programs / "initdb").write_text(INITDB)
    (programs / "initdb").chmod(0o755)
    (packages / "sitecustomize.py").write_text(PASSABLE)
