"""Class archives of Java: reused if they fit, ignored if incomplete or not writable."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.spark.class_sharing import JAVA_OPTIONS, SharedClasses, end

GIVEN = {"spark.driver.memory": "512m", JAVA_OPTIONS: "-XX:+UseSerialGC"}


def java(options: dict[str, str], *more: str) -> int:
    """Status of a Java process with these options."""
    return subprocess.run(["java", *options[JAVA_OPTIONS].split(), *more, "-version"], check=False).returncode


def recorded(folder: Path) -> SharedClasses:
    classes = SharedClasses(folder)
    with classes.used(GIVEN) as options:
        assert java(options) == 0
    return classes


def test_the_next_java_begins_from_what_the_first_has_loaded(tmp_path: Path) -> None:
    classes = recorded(tmp_path)

    assert classes.file.exists()
    with SharedClasses(tmp_path).used(GIVEN) as options:
        assert f"-XX:SharedArchiveFile={classes.file}" in options[JAVA_OPTIONS]
        assert options[JAVA_OPTIONS].endswith("-XX:+UseSerialGC")
        assert options["spark.driver.memory"] == "512m"
        assert java(options, "-Xshare:on") == 0  # which would refuse a file that it cannot use


def test_a_file_that_does_not_fit_is_done_without(tmp_path: Path) -> None:
    classes = recorded(tmp_path)
    classes.file.chmod(0o600)
    classes.file.write_bytes(b"of another Java")

    with SharedClasses(tmp_path).used(GIVEN) as options:
        assert java(options) == 0


def test_one_at_a_time_writes_and_the_others_do_without(tmp_path: Path) -> None:
    with SharedClasses(tmp_path).used(GIVEN) as first, SharedClasses(tmp_path).used(GIVEN) as second:
        assert "ArchiveClassesAtExit" in first[JAVA_OPTIONS]
        assert second == GIVEN


def test_what_was_not_finished_is_not_used(tmp_path: Path) -> None:
    classes = SharedClasses(tmp_path)
    with suppress(KeyboardInterrupt), classes.used(GIVEN):
        classes.begun.write_bytes(b"half of it")
        raise KeyboardInterrupt
    left = tmp_path / "classes-0.1.begun"  # by a Java whose keeper was killed
    left.write_bytes(b"")

    with SharedClasses(tmp_path).used(GIVEN) as options:
        assert "ArchiveClassesAtExit" in options[JAVA_OPTIONS]
        assert not left.exists()
    assert not classes.file.exists()


def test_files_of_what_was_installed_before_go(tmp_path: Path) -> None:
    before = tmp_path / "classes-0123456789ab.jsa"
    before.write_bytes(b"")

    classes = recorded(tmp_path)

    assert list(tmp_path.glob("*.jsa")) == [classes.file]


def test_a_folder_that_cannot_be_made_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with SharedClasses(tmp_path / "file" / "spark").used(GIVEN) as options:
        assert options == GIVEN


def test_each_java_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = SharedClasses(tmp_path).file
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    monkeypatch.setenv("JAVA_HOME", os.fspath(tmp_path))

    assert SharedClasses(tmp_path).file != here


def test_what_a_java_was_writing_when_it_was_killed_is_not_used(tmp_path: Path) -> None:
    classes = SharedClasses(tmp_path)
    deaf = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"], stdin=subprocess.PIPE)

    with suppress(subprocess.TimeoutExpired), classes.used(GIVEN):
        classes.begun.write_bytes(b"half of it")
        end(deaf, seconds=0.1)

    assert deaf.poll() is not None
    assert not classes.file.exists()
