"""The SQL room: a folder is a noun, a file is one function or view and has its name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from queues.database.sql_scripts import SCRIPTS, scripts

FILES = sorted(SCRIPTS.glob("**/*.sql"))
MAX_FILES_IN_A_FOLDER = 25
_DEFINED = re.compile(r"^create (?:or replace )?(?:function|view) signalbox\.(\w+)", re.MULTILINE)
_PARSED = re.compile(r"^begin atomic\b|^create or replace view\b", re.MULTILINE)
_NAMED = re.compile(r"\bsignalbox\.(\w+)")
_COMMENT = re.compile(r"--[^\n]*")


def test_every_file_is_installed_once() -> None:
    assert sorted(path.stem for path in FILES) == sorted(name for name, _ in scripts())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_defines_what_its_name_says(path: Path) -> None:
    defined = set(_DEFINED.findall(path.read_text()))

    assert defined == {path.stem}


def test_no_folder_has_more_files_than_one_can_look_over() -> None:
    sizes = Counter(path.parent.name for path in FILES)

    assert {folder: size for folder, size in sizes.items() if size > MAX_FILES_IN_A_FOLDER} == {}


def test_what_postgresql_parses_at_once_names_no_other_script() -> None:
    """Such a script could not be installed before the one that it names."""
    texts = dict(scripts())
    named = {name: set(_NAMED.findall(_COMMENT.sub("", text))) for name, text in texts.items() if _PARSED.search(text)}

    assert {name: others for name in named if (others := named[name] & texts.keys() - {name})} == {}
