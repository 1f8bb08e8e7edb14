"""The public SQL functions, from the headers of their files: one page a folder of `queues/sql/`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.build.markdown import linked, sentence, table
from docs.build.pages import ROOT

SQL = ROOT / "queues" / "sql"
FOLDER = "reference/sql"
INTRODUCTION = "[SQL functions](../sql.md) has an example, the rules for arrays and isolation levels, and the errors."
DEFINITION = re.compile(r"create or replace (?:function|procedure) signalbox\.(\w+)\s*\(", re.IGNORECASE)
TABLE = re.compile(r"^(?:create or replace view|insert into) signalbox\.(\w+)", re.IGNORECASE | re.MULTILINE)
RETURNS = re.compile(r"\s*returns\s+(table\s*\(.*?\)|.+?)\s*(?=\n|\blanguage\b|\bas\b)", re.IGNORECASE | re.DOTALL)
NAME = re.compile(r"\w+\([^)]*\): ")


@dataclass(frozen=True)
class Function:
    """One function: its call, and the text of its header."""

    name: str
    signature: str
    text: str


def pages() -> Iterator[tuple[str, str]]:
    """Return the page of all functions, and a page for each folder with public functions."""
    yield f"docs/{FOLDER}/README.md", f"# All SQL functions\n\n{INTRODUCTION}\n\n{_index()}"
    for noun, functions in _nouns().items():
        text = "\n\n".join(_section(function) for function in functions)
        yield f"docs/{FOLDER}/{noun.replace('_', '-')}.md", f"# SQL: {noun.replace('_', ' ')}\n\n{text}\n"


def _index() -> str:
    """Return the table of all public functions, a row for each page."""
    return table(
        ("page", "functions"),
        (
            (
                f"[{noun.replace('_', ' ')}]({_page(noun)})",
                ", ".join(f"[`{function.name}`]({_page(noun)}#{function.name})" for function in functions),
            )
            for noun, functions in _nouns().items()
        ),
    )


def _page(noun: str) -> str:
    return f"{noun.replace('_', '-')}.md"


def _section(function: Function) -> str:
    return f"## {function.name}\n\n```sql\n{function.signature}\n```\n\n{linked(function.text, FOLDER)}"


@cache
def _nouns() -> dict[str, list[Function]]:
    found = {
        folder.name: [function for path in sorted(folder.glob("[a-z]*.sql")) for function in _functions(path)]
        for folder in sorted(SQL.iterdir())
        if folder.is_dir()
    }
    return {noun: functions for noun, functions in found.items() if functions}


def _functions(path: Path) -> Iterator[Function]:
    """Yield the public functions of a file; overloads share the header."""
    text = path.read_text()
    header = _header(text)
    signatures = [_signature(text, found) for found in DEFINITION.finditer(text) if not found[1].startswith("_")]
    if not signatures:
        signatures = [f"select * from signalbox.{found[1]}" for found in TABLE.finditer(text)]  # noqa: S608 - shown
    if signatures:
        yield Function(path.stem, "\n".join(signatures), header)


def _header(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return sentence(NAME.sub("", " ".join(lines), count=1))


def _signature(text: str, found: re.Match[str]) -> str:
    end = _closing(text, found.end() - 1)
    arguments = [" ".join(one.split()) for one in _split(text[found.end() : end])]
    returns = RETURNS.match(text, end + 1)
    result = f"\n  returns {' '.join(returns[1].split())}" if returns else ""
    line = f"signalbox.{found[1]}({', '.join(arguments)})"
    if len(line) > 100:
        line = f"signalbox.{found[1]}(\n    " + ",\n    ".join(arguments) + "\n  )"
    return f"{line}{result}"


def _split(arguments: str) -> Iterator[str]:
    """Split arguments at commas outside of brackets."""
    depth, begin = 0, 0
    text = re.sub(r"--.*", "", arguments)
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:]


def _closing(text: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    raise ValueError("no closing bracket")
