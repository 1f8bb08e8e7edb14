"""The server from a terminal: `signalbox migrate`, `upkeep`, `server`, `doctor` and `manage`.

The client does not import the server's code. These commands replace this process with the server's own program: a
checkout has it beside this package, and an installed package has it in its folder `rooms`.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from signalbox.cli.command import REFUSED, Commands

PACKAGE = Path(__file__).resolve().parents[1]
PROGRAM = "manage.py"
#: Packages that only the extra `server` brings together.
NEEDED = ("django", "allauth", "celery", "ninja", "uvicorn")
MISSING = (
    "signalbox: this command needs the server, which is not installed. Install signalbox-queue with the extra 'server',"
    " in the same way as before.\n"
)
#: The processes of a server, by the names that `--part` takes.
PARTS = ("console", "upkeep", "jobs", "pipeline", "beat", "alerts")
#: Each command, and what it does.
ABOUT = {
    "migrate": "Make or upgrade the schema signalbox and its SQL verbs in a database.",
    "upkeep": "Run the upkeep of queues until it is stopped. One process is active, others stand by.",
    "server": "Run console, HTTP API, upkeep and jobs on this machine, after the migrations, until Ctrl-C.",
    "doctor": "Check an installation, and say what is wrong and what to do. Exit status 1: something is wrong.",
    "manage": "Run an administrative command of the server, such as createsuperuser, grants or apikey.",
}


def add_commands(commands: Commands) -> None:
    """Add the commands that start the server's program."""
    for name, about in ABOUT.items():
        parser = commands.add_parser(name, help=about, description=about)
        if name != "manage":
            address = "URL of the database; default DATABASE_URL, then an embedded PostgreSQL in SIGNALBOX_HOME"
            parser.add_argument("dsn", nargs="?", metavar="DSN", help=address)
    server = commands.choices["server"]
    server.add_argument("--part", choices=PARTS, help="run only this process, without migrations")
    server.add_argument("--host", help="address on which the console listens; default 127.0.0.1")
    commands.choices["doctor"].add_argument("--json", action="store_true", help="print one JSON object")
    words = "the command and its arguments; `signalbox manage help` lists them"
    commands.choices["manage"].add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help=words)


def start_if_asked(args: argparse.Namespace) -> None:
    """Start the server's program if the command is one of these; return for the client's commands."""
    if args.command in ABOUT:
        start(args)


def start(args: argparse.Namespace) -> NoReturn:
    """Replace this process with the server's program, or exit with a sentence where it is not installed."""
    program = program_of(PACKAGE)
    if program is None or not all(map(find_spec, NEEDED)):
        sys.stderr.write(MISSING)
        sys.exit(REFUSED)
    address = {"DATABASE_URL": args.dsn} if getattr(args, "dsn", None) else {}
    words = [sys.executable, str(program), *_words(args)]
    os.execve(words[0], words, {"PYTHONUNBUFFERED": "1", **os.environ, **address})  # noqa: S606 - no shell


def program_of(package: Path) -> Path | None:
    """Find the server's program: in an installed package, or beside the package in a checkout."""
    places = (package / "rooms" / PROGRAM, package.parent / PROGRAM)
    return next((place for place in places if place.is_file() and (place.parent / "console").is_dir()), None)


def _words(args: argparse.Namespace) -> list[str]:
    if args.command == "manage":
        return list(args.words) or ["help"]
    options = [f"--{name}={value}" for name in ("part", "host") if (value := getattr(args, name, None))]
    return [args.command, *options, *(["--json"] if getattr(args, "json", False) else [])]
