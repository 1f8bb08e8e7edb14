"""Generate the asyncio twins of the client's modules: `make generate`.

A twin differs from its module in `async`, `await` and the names below, and in nothing else. Definitions that would not
differ are imported from the module. tests/signalbox/test_generated.py compares the twins with what this makes.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: The twin of each module.
TWINS = {
    "signalbox/verbs.py": "signalbox/async_verbs.py",
    "signalbox/client.py": "signalbox/async_client.py",
    "signalbox/connections/connections.py": "signalbox/connections/async_connections.py",
    "signalbox/http/client.py": "signalbox/http/async_client.py",
    "signalbox/fleet/client.py": "signalbox/fleet/async_client.py",
}
#: The names of a twin, for names and dotted names of its module.
NAMES = {
    "AbstractContextManager": "AbstractAsyncContextManager",
    "CallersConnection": "AsyncCallersConnection",
    "Client": "AsyncClient",
    "Connections": "AsyncConnections",
    "DatabaseVerbs": "AsyncDatabaseVerbs",
    "FleetClient": "AsyncFleetClient",
    "HttpClient": "AsyncHttpClient",
    "OwnConnection": "AsyncOwnConnection",
    "Pool": "AsyncPool",
    "PooledConnections": "AsyncPooledConnections",
    "Source": "AsyncSource",
    "Verbs": "AsyncVerbs",
    "Waiter": "AsyncWaiter",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "primary_selection.connect": "primary_selection.connect_async",
    "psycopg.Connection": "psycopg.AsyncConnection",
    "threading.Lock": "asyncio.Lock",
    "time.sleep": "asyncio.sleep",
}
#: The names that a coroutine function needs in place of those of a function.
COROUTINE_NAMES = {"Iterator": "AsyncIterator", "contextmanager": "asynccontextmanager"}
#: Methods of libraries that are awaited, context managers that are entered with `async with`, and functions that run in
#: a thread.
AWAITED = {"_run", "_send", "close", "connect", "execute", "fetchall", "request", "sleep", "wait"}
ENTERED = {"_turn", "connection", "one_transaction", "transaction"}
THREADED = {"payload_of", "upload"}

Function = ast.FunctionDef
Edit = tuple[int, int, str]


class Twin:
    """The edits that make the twin of one module."""

    def __init__(self, source: str, coroutines: set[str]) -> None:
        self.text = (ROOT / source).read_text()
        self.tree = ast.parse(self.text)
        self.coroutines = coroutines
        self.module = module_of(source)
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def learn(self) -> bool:
        """Collect the names of coroutine functions; True when a name was added."""
        known = len(self.coroutines)
        for node in ast.walk(self.tree):
            if isinstance(node, Function) and any(
                self._is_awaited(inner) or self._is_entered(inner) for inner in own_nodes(node)
            ):
                self.coroutines.add(node.name)
        return len(self.coroutines) > known

    def changed(self) -> set[str]:
        """The names at the top of the module whose definitions differ in the twin."""
        edits = list(self._edits({}))
        return {name for node in self._definitions() if self._is_changed(node, edits) for name in names_of(node)}

    def written(self, changed: dict[str, set[str]]) -> str:
        """Write the text of the twin. `changed` has the names of each module whose definitions differ in its twin."""
        edits = list(self._edits(changed))
        unchanged = [node for node in self._definitions() if not self._is_changed(node, edits)]
        edits += [(*self._with_comments(node), "") for node in unchanged]
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        borrowed = [f"from {self.module} import {name}" for node in unchanged for name in names_of(node)]
        head = f'"""The asyncio twin of `{self.module}`."""\n\nfrom __future__ import annotations\nimport asyncio\n'
        rest = text[text.index("from __future__ import annotations\n") :].partition("\n")[2]
        return head + "\n".join(borrowed) + rest

    def _definitions(self) -> list[ast.stmt]:
        return [node for node in self.tree.body if isinstance(node, ast.Assign | Function | ast.ClassDef)]

    def _edits(self, changed: dict[str, set[str]]) -> Iterator[Edit]:
        for node in ast.walk(self.tree):
            match node:
                case ast.ImportFrom():
                    yield (*self._range(node), "\n".join(imports(node, changed)))
                case ast.FunctionDef() | ast.ClassDef():
                    yield from self._edits_of_definition(node)
                case ast.With() if self._is_entered(node):
                    if not all(self._entered(node)):
                        raise ValueError(f"{self.module}:{node.lineno}: nest asynchronous and other context managers")
                    yield self._insert(node, "async ")
                case ast.Name() | ast.Attribute() if (name := self._name(node)) is not None:
                    yield (*self._range(node), name)
            if self._is_awaited(node):
                yield from self._edits_of_call(node)

    def _edits_of_definition(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[Edit]:
        start = self._starts[node.lineno - 1] + node.col_offset
        if isinstance(node, Function) and self._is_coroutine(node):
            yield start, start, "async "
        if node.name in NAMES:
            match = re.compile(rf"\b{node.name}\b").search(self.text, start)
            assert match is not None  # noqa: S101 - the name was parsed
            yield *match.span(), NAMES[node.name]

    def _edits_of_call(self, node: ast.AST) -> Iterator[Edit]:
        assert isinstance(node, ast.Call)  # noqa: S101 - nothing else is awaited
        parent = self._parents[node]
        enclosed = isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node
        yield self._insert(node, "(await " if enclosed else "await ")
        if enclosed:
            end = self._range(node)[1]
            yield end, end, ")"
        if last_name(node.func) in THREADED:
            start, end = self._range(node.func)
            yield start, self._range(node.args[0])[0], f"asyncio.to_thread({self.text[start:end]}, "

    def _name(self, node: ast.Name | ast.Attribute) -> str | None:
        if isinstance(self._parents[node], ast.Attribute) and ast.unparse(self._parents[node]) in NAMES:
            return None
        name = ast.unparse(node)
        if name in COROUTINE_NAMES and self._is_coroutine(self._function_around(node)):
            return COROUTINE_NAMES[name]
        return NAMES.get(name)

    def _is_awaited(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call) or isinstance(self._parents[node], ast.withitem):
            return False
        is_own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
        name = last_name(node.func)
        return name in THREADED or name in (self.coroutines if is_own else AWAITED)

    def _is_entered(self, node: ast.AST) -> bool:
        return isinstance(node, ast.With) and any(self._entered(node))

    def _entered(self, node: ast.With) -> list[bool]:
        names = [last_name(item.context_expr) for item in node.items]
        return [name in ENTERED or name in self.coroutines for name in names]

    def _is_coroutine(self, node: Function | None) -> bool:
        """Return whether the twin's function is a coroutine function; one that returns a context manager is not."""
        return node is not None and node.name in self.coroutines and "AbstractContext" not in unparse(node.returns)

    def _function_around(self, node: ast.AST) -> Function | None:
        around: ast.AST | None = node
        while around is not None and not isinstance(around, Function):
            around = self._parents.get(around)
        return around

    def _is_changed(self, node: ast.stmt, edits: Iterable[Edit]) -> bool:
        start, end = self._range(node)
        return any(start <= edit[0] < end for edit in edits)

    def _with_comments(self, node: ast.stmt) -> tuple[int, int]:
        """The range of a definition with its decorators and the comments above it."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        lines = self.text.splitlines()
        while lines[first - 2].startswith("#"):
            first -= 1
        return self._starts[first - 1], self._range(node)[1]

    def _insert(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        start = self._range(node)[0]
        return start, start, text

    def _range(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None  # noqa: S101 - it was parsed
        assert node.end_col_offset is not None  # noqa: S101 - it was parsed
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )


def module_of(path: str) -> str:
    """The name of the module in this file."""
    return path.removesuffix(".py").replace("/", ".")


def last_name(node: ast.AST) -> str:
    """The last name of a dotted name, or of the function that is called."""
    return unparse(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def unparse(node: ast.AST | None) -> str:
    """The source of a node; empty text for None."""
    return "" if node is None else ast.unparse(node)


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body without those of functions inside it."""
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda):
            nodes += ast.iter_child_nodes(node)


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.Assign):
        return [unparse(target) for target in node.targets]
    return [getattr(node, "name", "")]


def imports(node: ast.ImportFrom, changed: dict[str, set[str]]) -> list[str]:
    """Write the imports of a twin for one import of its module: changed names are imported from the other twin."""
    twins = {module_of(source): module_of(twin) for source, twin in TWINS.items()}
    lines = []
    for alias in node.names:
        module = node.module or ""
        origin = twins[module] if alias.name in changed.get(module, ()) else module
        lines.append(f"from {origin} import {NAMES.get(alias.name, alias.name)}")
        if alias.name in COROUTINE_NAMES:
            lines.append(f"from {node.module} import {COROUTINE_NAMES[alias.name]}")
    return lines


def twins() -> dict[str, str]:
    """The text of every twin by its path."""
    coroutines = {"borrow", "close", "__enter__", "__exit__", "wait"}
    made = {twin: Twin(source, coroutines) for source, twin in TWINS.items()}
    while any(twin.learn() for twin in made.values()):
        continue
    changed = {twin.module: twin.changed() for twin in made.values()}
    return {path: tidied(path, twin.written(changed)) for path, twin in made.items()}


def tidied(path: str, text: str) -> str:
    """Format the text of a twin, and add a first line that names its source."""
    source = next(source for source, made in TWINS.items() if made == path)
    text = f"# Generated from {source} by `make generate`: change that file, then generate this one.\n{text}"
    tidy = ["check", "--quiet", "--fix", "--exit-zero"]
    for command in ([*tidy, "--select", "F401"], tidy, ["format", "--quiet"]):
        ran = [sys.executable, "-m", "ruff", *command, "--stdin-filename", path, "-"]
        text = subprocess.run(ran, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def main() -> None:
    """Write every twin beside its module."""
    for path, text in twins().items():
        (ROOT / path).write_text(text)


if __name__ == "__main__":
    main()
