"""The environment variables, from `console/environment.py`: each assignment with the text below it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from docs.build.markdown import linked, table
from docs.build.pages import ROOT

VARIABLES = ROOT / "console" / "environment.py"
FOLDER = "reference"
DEFAULT = "Default: "
"""A text with this beginning names the default itself, up to the first full stop."""


@dataclass(frozen=True)
class Variable:
    """One variable: its default and its allowed values, as text, and its meaning."""

    name: str
    default: str
    allowed: str
    text: str


def table_of_settings() -> str:
    """Return the table of all variables, in the order of the file."""
    return table(
        ("variable", "default", "allowed", "meaning"),
        ((f"`{one.name}`", one.default, one.allowed, linked(one.text, FOLDER)) for one in variables()),
    )


def variables() -> Iterator[Variable]:
    """Yield a variable for each assignment that reads one and has a text below it."""
    body = ast.parse(VARIABLES.read_text()).body
    for statement, below in pairwise(body):
        if isinstance(statement, ast.Assign) and (text := _text(below)):
            yield _variable(statement, text)


def _text(statement: ast.stmt) -> str:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return " ".join(str(value.value).split()) if isinstance(value, ast.Constant) else ""


def _variable(statement: ast.Assign, text: str) -> Variable:
    call = next((node for node in ast.walk(statement.value) if _is_reader(node)), None)
    name = str(call.args[0].value) if call else ast.unparse(statement.targets[0])  # type: ignore[attr-defined]
    default = _default(call) if call else "none"
    if text.startswith(DEFAULT):
        default, text = text.removeprefix(DEFAULT).split(". ", 1)
    return Variable(name, default, _allowed(call) if call else "", text)


def _is_reader(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "").startswith("env_")


def _default(call: ast.Call) -> str:
    given = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "default")]
    if not given or call.func.id in ("env_parsed", "env_addresses", "env_url_template"):  # type: ignore[attr-defined]
        return "none"
    value = given[0].value if isinstance(given[0], ast.Constant) else ast.unparse(given[0])
    return _shown(value, given[0])


def _shown(value: object, node: ast.expr) -> str:
    if value == "":
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(node, ast.Dict):
        return f"`{json.dumps(ast.literal_eval(node))}`"
    if isinstance(node, ast.Call) and "SIGNALBOX_HOME / " in str(value):
        return f"`SIGNALBOX_HOME/{ast.literal_eval(str(value).split(' / ')[1].rstrip(')'))}`"
    return f"`{value}`"


def _allowed(call: ast.Call) -> str:
    bounds = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg in ("low", "high")}
    if bounds:
        return f"{bounds['low']} to {bounds['high']}"
    if call.func.id == "env_choice":  # type: ignore[attr-defined]
        return ", ".join(f"`{word}`" for word in ast.literal_eval(call.args[2]))
    return {"env_flag": "`true`, `false`", "env_object": "a JSON object"}.get(call.func.id, "")  # type: ignore[attr-defined]
