"""The commands of `manage.py` and `signalbox`, from their parsers: one page a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from django.core.management import get_commands, load_command_class

from docs.build.markdown import first_sentence, linked, sentence, table
from signalbox.cli.main import _parser as signalbox_parser
from signalbox.cli.server import ABOUT as STARTING

ROOMS = ("console", "dlq", "metrics", "pipeline", "queues")
FOLDER = "reference/commands"
PAGES_OF_THEIR_OWN = ("sqs", "stream", "subscribe", "unsubscribe", "subscriptions")
"""Commands of `signalbox` that have a page each, so that no page is too long."""
APART = ("sqs", "stream", "worker", *STARTING, "subscribe", "unsubscribe", "subscriptions")
"""Commands of `signalbox` that have a page of their own."""
OF_ALL = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    "--skip-checks",
}  # fmt: skip

Parts = Mapping[str, tuple[str, argparse.ArgumentParser]]


def pages() -> Iterator[tuple[str, str]]:
    """Return a page for each command."""
    for name, parser in _parsers().items():
        yield f"docs/reference/{_address(name)}", _page(name, parser)


def index() -> str:
    """Return the table of all commands."""
    return table(
        ("command", "does"),
        ((f"[`{name}`]({_address(name)})", first_sentence(_about(parser))) for name, parser in _parsers().items()),
    )


def _address(name: str) -> str:
    return f"commands/{name.replace('manage.py ', '').replace('_', '-').replace(' ', '-')}.md"


@cache
def _parsers() -> dict[str, argparse.ArgumentParser]:
    rooms = get_commands()
    ours = sorted(name for name, room in rooms.items() if room in ROOMS)
    parsers = {
        f"manage.py {name}": load_command_class(rooms[name], name).create_parser("manage.py", name) for name in ours
    }
    client = signalbox_parser()
    (choices,) = (action.choices for action in client._actions if isinstance(action, argparse._SubParsersAction))
    apart = {f"signalbox {name}": choices.pop(name) for name in APART}
    return {**parsers, "signalbox": client, **apart}


def _page(name: str, parser: argparse.ArgumentParser) -> str:
    sections = [f"# {name}", linked(_about(parser), FOLDER), _details(name, parser, level=2)]
    return "\n\n".join(part for part in sections if part)


def _about(parser: argparse.ArgumentParser) -> str:
    text = parser.description or ""
    return "\n\n".join(sentence(part) for part in text.split("\n\n") if part.strip())


def _details(name: str, parser: argparse.ArgumentParser, level: int, without: frozenset[str] = frozenset()) -> str:
    """Describe the arguments and options of a command, then those of each subcommand."""
    parts = {part: found for part, found in _parts(parser) if f"{name} {part}" not in _parsers()}
    texts = [_usage(name, parser), _arguments(_own(parser, without))] if not parts or _own(parser) else []
    if level == 2 and (shared := _shared(parts)):
        texts += ["Options of every part:", _arguments(shared)]
        without = frozenset(action.dest for action in shared)
    for part, (help_text, inner) in parts.items():
        heading = f"{'#' * level} {name.rpartition(' ')[2]} {part}" if level == 2 else f"{'#' * level} {part}"
        text = linked(sentence(inner.description or help_text or ""), FOLDER)
        texts += [heading, text, _details(f"{name} {part}", inner, level + 1, without)]
    return "\n\n".join(text for text in texts if text)


def _parts(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, argparse.ArgumentParser]]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help for choice in action._choices_actions}
            yield from ((name, (texts.get(name) or "", inner)) for name, inner in action.choices.items())


def _shared(parts: Parts) -> list[argparse.Action]:
    """Return the options that all subcommands have with the same text."""
    if len(parts) < 2:
        return []
    each = [{(action.dest, action.help): action for action in _own(inner)} for _, inner in parts.values()]
    return [action for key, action in each[0].items() if action.option_strings and all(key in one for one in each)]


def _own(parser: argparse.ArgumentParser, without: frozenset[str] = frozenset()) -> list[argparse.Action]:
    return [
        action
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction)
        and action.help != argparse.SUPPRESS
        and not OF_ALL & set(action.option_strings)
        and action.dest not in without
    ]


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    words = [name, *(_placeholder(action) for action in _own(parser) if _is_needed(action))]
    options = " [OPTION ...]" if any(not _is_needed(action) for action in _own(parser)) else ""
    return f"```\n{' '.join(words)}{options}\n```"


def _is_needed(action: argparse.Action) -> bool:
    return not action.option_strings or action.required


def _placeholder(action: argparse.Action) -> str:
    value = _value(action)
    word = f"{action.option_strings[-1]} {value}" if action.option_strings else value
    return f"[{word}]" if action.nargs in ("?", "*") and not action.option_strings else word


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.choices, range):
        return f"{{{action.choices[0]}..{action.choices[-1]}}}"
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    name = action.metavar or action.dest.upper()
    return name if isinstance(name, str) else " ".join(name)


def _arguments(actions: Sequence[argparse.Action]) -> str:
    if not actions:
        return ""
    return table(("argument", "meaning"), ((_term(action), _meaning(action)) for action in actions))


def _term(action: argparse.Action) -> str:
    return f"`{' '.join([*_joined(action.option_strings), _value(action)]).strip()}`"


def _joined(options: Iterable[str]) -> list[str]:
    return [", ".join(options)] if options else []


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    for name, value in vars(action).items():
        text = text.replace(f"%({name})s", str(value))
    return linked(sentence(text), FOLDER)
