"""The prose of a file, cut into pieces: docstrings, comments, texts that people read, and names.

Code inside prose is blanked out, so that rules about words see words only; line numbers stay those of the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

# Literals that a machine reads: SQL, patterns, lists of options.
MACHINE_TEXT = re.compile(
    r"\s*(select|insert|update|delete|with|create|alter|drop|truncate|call|begin|set|grant|revoke|lock|listen|notify|copy"
    r"|explain|values|analyze|vacuum|where|from|and|or|order|join|union|do|lateral|returning|reset|show)\s|.*\\[bdswS]"
)
READ_ATTRIBUTES = r"\b(?:title|aria-label|placeholder|alt|label|data-confirm|hx-confirm)=\"([^\"]*)\""
# Queries, labels and addresses in YAML.
EXPRESSIONS = re.compile(
    r"^( *)(- )?expr:.*\n(\1 +.*\n)*|=~?\"[^\"]*\"|\bstate: \w+|\bseries: '[^']*'|_url: .*|\]\(\S+|\$\{\S+",
    re.MULTILINE,
)
INLINE_CODE = re.compile(r"``[^`]*``|`[^`]*`")
LITERAL = re.compile(r"'((?:[^']|'')*)'")
# A string of Python, in which # begins nothing, or a comment.
STRING_OR_COMMENT = re.compile(
    r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
    r"|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#(?P<comment>[^\n]*)",
    re.DOTALL,
)
HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
WORDLESS = (ast.Name, ast.expr_context, ast.operator, ast.cmpop)


class Piece(NamedTuple):
    """One stretch of prose, and where it stands."""

    line: int
    kind: str  # docstring, comment, text or name
    text: str


def blank(pattern: str | re.Pattern[str], text: str) -> str:
    """Replace each match by blanks; lines stay where they are."""
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def line_at(text: str, offset: int) -> int:
    """Number of the line that contains the offset."""
    return text.count("\n", 0, offset) + 1


def comment_blocks(lines: list[tuple[int, str]]) -> Iterator[Piece]:
    """Join comments on neighbouring lines, since a sentence may run on."""
    block: list[tuple[int, str]] = []
    for number, text in lines:
        if block and number != block[-1][0] + 1:
            yield Piece(block[0][0], "comment", "\n".join(line for _, line in block))
            block = []
        block.append((number, text))
    if block:
        yield Piece(block[0][0], "comment", "\n".join(line for _, line in block))


def docstring_of(node: ast.AST) -> ast.Constant | None:
    """Constant that holds the docstring of a module, class or function."""
    if not isinstance(node, HAVE_DOCSTRINGS) or not node.body:
        return None
    first = node.body[0]
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def literal_text(node: ast.AST) -> str | None:
    """Text of a string literal; placeholders of an f-string read as x."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)


def words_of_name(name: str) -> str:
    """Words of an identifier, in lower case with blanks between."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).lower()


def python_nodes(root: ast.AST) -> Iterator[Piece]:
    """Docstrings, literals and names under a node, each once."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, HAVE_DOCSTRINGS):
            docstring = docstring_of(node)
            if docstring:
                yield Piece(docstring.lineno, "docstring", str(docstring.value))
            if not isinstance(node, ast.Module):
                yield Piece(node.lineno, "name", words_of_name(node.name))
            nodes += [
                one for one in children(node) if docstring is None or getattr(one, "value", None) is not docstring
            ]
        elif not isinstance(node, ast.Constant | ast.JoinedStr):
            nodes += children(node)
        elif (text := literal_text(node)) and " " in text.strip() and not MACHINE_TEXT.match(text):
            yield Piece(node.lineno, "text", blank(INLINE_CODE, text))


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes right below a node, apart from names and contexts, which hold no prose."""
    for value in vars(node).values():
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, ast.AST) and not isinstance(one, WORDLESS):
                yield one


def python_prose(text: str) -> Iterator[Piece]:
    """Prose of a Python module."""
    yield from python_nodes(ast.parse(text))
    found = (match for match in STRING_OR_COMMENT.finditer(text) if match["comment"] is not None)
    comments = [(line_at(text, match.start()), match["comment"].lstrip("# ")) for match in found]
    yield from comment_blocks([(line, blank(INLINE_CODE, comment)) for line, comment in comments])


def sql_prose(text: str) -> Iterator[Piece]:
    """Comments of a script, and literals that hold a sentence."""
    lines = [(number, line.partition("--")) for number, line in enumerate(text.splitlines(), 1)]
    yield from comment_blocks([(number, blank(INLINE_CODE, parts[2])) for number, parts in lines if parts[1]])
    code = blank(r"--[^\n]*", text)
    for match in LITERAL.finditer(code):
        if " " in match[1].strip() and not MACHINE_TEXT.match(match[1]):
            yield Piece(line_at(code, match.start()), "text", match[1])


def html_prose(text: str) -> Iterator[Piece]:
    """Comments, text nodes, attributes that are read aloud, and texts handed to an include."""
    for match in re.finditer(r"\{#(.*?)#\}|\{% comment[^%]*%\}(.*?)\{% endcomment %\}", text, re.DOTALL):
        yield Piece(line_at(text, match.start()), "comment", match[1] or match[2] or "")
    text = blank(re.compile(r"\{#.*?#\}|\{% comment.*?endcomment %\}|<(script|style|code)\b.*?</\1>", re.DOTALL), text)
    for match in re.finditer(r"\{[%{].*?[%}]\}", text, re.DOTALL):
        for quoted in re.finditer(r"\"([^\"]* [^\"]*)\"", match[0]):
            yield Piece(line_at(text, match.start() + quoted.start()), "text", quoted[1])
    text = blank(re.compile(r"\{[%{].*?[%}]\}", re.DOTALL), text)
    for match in re.finditer(READ_ATTRIBUTES, text):
        yield Piece(line_at(text, match.start()), "text", match[1])
    yield Piece(1, "text", blank(re.compile(r"<[^>]*>", re.DOTALL), text))


def without_code(text: str) -> str:
    """Markdown without code blocks, inline code and addresses of links."""
    text = blank(re.compile(r"^( *)(```|~~~).*?^\1\2", re.DOTALL | re.MULTILINE), text)
    return blank(r"(?<=\])\([^)\n]*\)|<!--[^\n]*-->", blank(INLINE_CODE, text))


def markdown_prose(text: str) -> Iterator[Piece]:
    """Paragraphs, tables and headings of a document."""
    yield Piece(1, "text", without_code(text))


def script_prose(text: str) -> Iterator[Piece]:
    """Comments of a stylesheet or script, and literals of a script that hold a sentence."""
    comment = re.compile(r"/\*(.*?)\*/|(?<!:)//([^\n]*)", re.DOTALL)
    for match in comment.finditer(text):
        yield Piece(line_at(text, match.start()), "comment", blank(INLINE_CODE, match[1] or match[2] or ""))
    code = blank(comment, text)
    for match in re.finditer(r"[\"`]([^\"`\n]* [^\"`\n]*)[\"`]", code):
        yield Piece(line_at(code, match.start()), "text", match[1])


def any_prose(text: str) -> Iterator[Piece]:
    """Text of a file whose code hardly uses words: YAML, TOML, shell."""
    yield Piece(1, "text", blank(INLINE_CODE, blank(EXPRESSIONS, text)))


READERS: dict[str, Callable[[str], Iterator[Piece]]] = {
    ".py": python_prose,
    ".sql": sql_prose,
    ".html": html_prose,
    ".md": markdown_prose,
    **dict.fromkeys((".js", ".mjs", ".css"), script_prose),
    **dict.fromkeys((".yaml", ".toml", ".sh", ".service", ".target", ".conf", ".example"), any_prose),
}


def prose(path: Path) -> Iterator[Piece]:
    """Pieces of a file; none of a file that holds no prose."""
    read = any_prose if path.name == "Makefile" or path.parent.name == ".ci" else READERS.get(path.suffix)
    if read:
        yield Piece(1, "name", words_of_name(path.stem))
        yield from read(path.read_text())
