"""Checker of the project's English: `python -m tests.house.english [--count | --write] [PATH ...]`.

Docstrings begin with an imperative verb or a noun phrase and have at least four words; some words are not used, and
one thing has one word (docs/glossary.md); lines of documents have at most 100 characters. Quotes and proper uses of a
word stand in english_allowed.txt with a reason. Files that are not clean yet stand in english_todo.txt, which only
gets shorter: `--write` writes it again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.house.prose import INLINE_CODE, Piece, blank, line_at, prose, without_code

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
TODO = HERE / "english_todo.txt"
ALLOWED = HERE / "english_allowed.txt"
SKIPPED = re.compile(
    r"tests/house/(english|test_english)|dashboards/built/|CODE_OF_CONDUCT|docs/reference/(sql|commands|http|python)/"
)
MAX_DOCUMENT_LINE = 100


def words(text: str) -> frozenset[str]:
    """Set of the words in a text."""
    return frozenset(text.split())


# Words that no docstring begins with: pronouns, questions, and the second halves of sentences.
BAD_STARTS = words(
    """it its it's they them their those these this that he she him his her whose whom who what whatever whoever which
    where when why how whether however nothing everything something none nobody somebody everybody anybody everyone
    both others there is was were does did has are can of as for in by from at to on with without within until
    while after before behind under against above past between beside since if unless and but or so also then not
    once up more longer older younger again here now no-one ours theirs yes"""
)
BAD_START_PHRASES = re.compile(
    r"(the (same|others?|rest|ones?|latter|former)|one (of|that|who)|one's|(all|each|some|many|much) (of|that|who)"
    r"|no longer)\b",
    re.IGNORECASE,
)
# A participle stands before a noun ("Saved filters"), not before the rest of a sentence.
PARTICIPLE = re.compile(
    r"(?!(embed|feed|need|speed|seed|shed|exceed|proceed|succeed)\b)"
    r"([a-z]+ed|told|taken|sent|kept|written|made|given|held|found|left|done|seen|shown|known|begun|said|meant|laid)"
    r"(?=[.,;:]| (in|by|of|from|at|to|for|with|once|when|as|on|while|until|over|before|after|here|where)\b)",
    re.IGNORECASE,
)
VERBS = words(
    """acknowledge add append apply ask become begin bring build carry choose close collect come compare
    compile compute connect contain convert create cut decide declare define delete deliver describe do draw drop
    encode end erase exist explain export find follow forget get give go guard happen have hold hide import insert keep
    know lead leave let listen load lock look make mark mean measure move need open parse pass pause permit pick print
    produce publish put raise read receive refuse register reject remove render replace resume return revoke rewrite
    run save say search see select send serve show sleep speak stand start stay stop store strip take tell think throw
    translate try turn use wait want work wrap write yield"""
)


class Rule(NamedTuple):
    """A pattern that prose must not match, what to write instead, and where the rule holds."""

    pattern: str
    instead: str
    kinds: str = "docstring comment text name"
    rooms: str = ""  # pattern of the paths in which the rule holds
    elsewhere: str = "^$"  # pattern of the paths in which it does not


DECISIONS = r"^docs/decisions/"
ENGINE = rf"^queues/|{DECISIONS}"
POSTGRESQL = rf"^(tests/)?(queues|signalbox|failover|restore|upgrade)/|{DECISIONS}"  # a cluster is a server's databases
PAGES = r"^templates/|^docs/(?!decisions)|^README|^dashboards/"
READ = r"^(?!tests/|bench/)"
RULES = [
    Rule(r"nobody", "name the actor, or use the passive voice"),
    Rule(r"somebody|someone else's", "name the actor: a person, an operator, another process"),
    Rule(r"whoever|whosoever", "name the actor: a reader, a caller, any process that"),
    Rule(r"told", "say which: reported, notified, configured, distinguished"),
    Rule(r"anew", "again"),
    Rule(r"meanwhile", "say when: during the run, before the commit"),
    Rule(r"what (became|becomes|has become|will become) of", "outcome"),
    Rule(r"of it(?=[.;])", "name the thing"),
    Rule(r"so many(?! that| as)|as ever|keep still|word of it", "say the number or the thing"),
    Rule(r"that there (is|are)(?=[.,;:]| and)", "existing"),
    Rule(r"passed over", "skipped"),
    Rule(r"goes? for good|gone for good", "permanently deleted"),
    Rule(r"on (its|their) way", "started, or pending"),
    Rule(r"(bur(y|ies|ied|ying)|cemeter(y|ies)|grave(s|yards?)?|burials?)", "dead-letter, dead-letter queue"),
    Rule(r"rails?", "sidebar"),
    Rule(r"radius|blast", "impact"),
    Rule(r"(?<!dead[ -])(?<!dead-)letters?(?!,? (and |or )?(a )?digits?)", "dead letter", "docstring comment text"),
    Rule(r"clusters?", "failure group", "docstring comment text", elsewhere=POSTGRESQL),
    Rule(r"(un)?fold(s|ed|ing)?", "aggregate, aggregation", "docstring comment text", elsewhere=DECISIONS),
    Rule(r"lanes?", "message group", "docstring comment", READ, ENGINE),
    Rule(r"lanes?", "message group", "text", READ, DECISIONS),
    Rule(r"slowing( down)?|throttl(e|es|ed|ing)", "adaptive rate, or rate limit", "docstring comment text", READ),
    Rule(r"(its|the|a|this|that|another|same|own) pace|pace of", "rate limit, or rate", "docstring comment text", READ),
    Rule(r"removals?", "trash batch, or deletion", "docstring comment text", READ),
    Rule(r"marts?", "rollup, or analysis", "docstring comment text"),
    Rule(r"outlook|drains in", "backlog ETA", "docstring comment text", READ),
    Rule(
        r"leased|settled|acked|die[sd]?|deaths?|under way|is over|story|stories",
        "a word of the glossary",
        "text",
        PAGES,
    ),
]


def spaced(pattern: str) -> str:
    """Whole words that match the pattern, whose blanks match line ends too."""
    return r"(?<![\w/-])(?:" + re.sub(r"(?<!\[) (?!-)", r"\\s+", pattern) + r")(?![\w/])"


# One place to begin at, and lower case: ten times faster than a pattern a rule without regard to case.
ANY_RULE = re.compile(spaced("|".join(rule.pattern for rule in RULES)))


class Finding(NamedTuple):
    """One mistake, and where it stands."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def docstring_mistake(text: str) -> str | None:
    """First thing that is wrong with the start of a docstring."""
    words = text.split()
    first = words[0].strip("`*\"'(.,;:").lower() if words else ""
    stem = next((first.removesuffix(end) for end in ("s", "es") if first.removesuffix(end) in VERBS), first)
    if first in BAD_STARTS or BAD_START_PHRASES.match(text):
        return f"a docstring begins with a verb or a noun, not with {words[0]!r}"
    if PARTICIPLE.match(text):
        return f"a docstring begins with a verb or a noun, not with the participle {words[0]!r}"
    if stem != first and not re.match(r"\w+( and \w+)?[:.,]", text):
        return f"a docstring's verb is in the imperative: not {words[0]!r}"
    return None


def check_docstring(path: str, piece: Piece) -> Iterator[Finding]:
    """Mistakes of a docstring's start and length."""
    mistake = docstring_mistake(piece.text.strip()) if piece.text.strip() else None
    if mistake:
        yield Finding(path, piece.line, mistake)
    elif len(piece.text.split()) < 4:
        yield Finding(path, piece.line, "a docstring has at least four words")


def check_piece(path: str, piece: Piece, allowed: re.Pattern[str]) -> Iterator[Finding]:
    """Mistakes in one piece of prose."""
    if piece.kind == "docstring":
        yield from check_docstring(path, piece)
    text = blank(INLINE_CODE, piece.text)
    if not ANY_RULE.search(text.lower()):
        return
    text = blank(allowed, text)
    for rule in RULES:
        if piece.kind in rule.kinds and re.search(rule.rooms, path) and not re.search(rule.elsewhere, path):
            for match in re.finditer(spaced(rule.pattern), text, re.IGNORECASE):
                found = " ".join(match[0].split())
                yield Finding(path, piece.line + line_at(text, match.start()) - 1, f"{found!r}: {rule.instead}")


def check_lines(path: str, text: str) -> Iterator[Finding]:
    """Lines of a document that are too long; tables, links and code may be."""
    for number, line in enumerate(without_code(text).splitlines(), 1):
        is_free = line.lstrip().startswith("|") or "](" in line or "http" in line or not line.strip()
        if len(line.rstrip()) > MAX_DOCUMENT_LINE and not is_free:
            yield Finding(path, number, f"a line of {len(line.rstrip())} characters; {MAX_DOCUMENT_LINE} are allowed")


def allowances() -> list[str]:
    """Phrases that rules overlook, without their reasons."""
    lines = [line for line in ALLOWED.read_text().splitlines() if line and not line.startswith("#")]
    return [re.escape(line.split("|")[0].strip()).replace(r"\ ", " ") for line in lines]


@cache
def anything_allowed() -> re.Pattern[str]:
    """Pattern of all phrases that rules overlook."""
    return re.compile("|".join(map(spaced, allowances())), re.IGNORECASE)


def check(path: Path) -> list[Finding]:
    """Mistakes in one file."""
    name = path.relative_to(ROOT).as_posix()
    found = [finding for piece in prose(path) for finding in check_piece(name, piece, anything_allowed())]
    return found + (list(check_lines(name, path.read_text())) if path.suffix == ".md" else [])


def files(paths: Iterable[str]) -> list[Path]:
    """Files of the project under the given paths."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *paths]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in sorted(set(names)) if not SKIPPED.search(name) and (ROOT / name).is_file()]


def room(path: str) -> str:
    """Folder under which findings of a file are counted."""
    return "/".join(path.split("/")[:-1][:2]) or "."


def judge(findings: list[Finding], todo: set[str]) -> list[str]:
    """Complaints: mistakes in files that were clean, and clean files that are still listed."""
    unclean = {finding.path for finding in findings}
    new = [str(finding) for finding in findings if finding.path not in todo]
    return new + [f"{name}: is clean or gone; run --write" for name in sorted(todo - unclean)]


def main(arguments: list[str]) -> int:
    """Run the command; 1 when there is something to mend."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.english", description=__doc__)
    parser.add_argument("--count", action="store_true", help="print findings a folder")
    parser.add_argument("--write", action="store_true", help="write the list of files that are not clean")
    parser.add_argument("paths", nargs="*", help="files and folders of which all findings are printed; default: all")
    options = parser.parse_args(arguments)
    paths = [Path(path).resolve().relative_to(ROOT).as_posix() for path in options.paths]
    checked = files(paths)
    findings = [finding for path in checked for finding in check(path)]
    if options.count:
        counts = Counter(room(finding.path) for finding in findings)
        lines = [f"{count:6} {name}" for name, count in counts.most_common()] + [f"{len(findings):6} in all"]
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return 0
    if options.write:
        TODO.write_text("".join(f"{name}\n" for name in sorted({finding.path for finding in findings})))
        return 0
    todo = set() if paths else set(TODO.read_text().splitlines())
    complaints = judge(findings, todo)
    sys.stdout.writelines(f"{complaint}\n" for complaint in complaints)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
