"""Subscriptions of queues from a terminal: `subscribe`, `unsubscribe`, `subscriptions`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from signalbox.cli.command import DONE, NOTHING, Commands, add, say
from signalbox.verbs import Verbs


def add_commands(commands: Commands) -> None:
    """Add the commands that make, end, pause and list subscriptions of queues."""
    parser = add(commands, subscribe)
    _add_ends(parser)
    parser.add_argument(
        "--filter", default="", metavar="TEXT", help="send only what it selects, as payload.kind:refund"
    )
    parser.add_argument("--delay", type=float, metavar="S", help="seconds until a copy is ready (TARGET's setting)")
    pausing = parser.add_mutually_exclusive_group()
    pausing.add_argument("--pause", action="store_true", help="only pause the subscription: it holds its copies")
    pausing.add_argument("--resume", action="store_true", help="only resume the subscription")
    parser = add(commands, unsubscribe)
    _add_ends(parser)
    parser.add_argument("--discard", action="store_true", help="lose the copies that it holds")
    add(commands, subscriptions).add_argument("source", nargs="?", metavar="SOURCE")


def _add_ends(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("target", metavar="TARGET")


def subscribe(verbs: Verbs, args: argparse.Namespace) -> int:
    """Send each message of SOURCE to TARGET too, or pause or resume that. Exit status 3: nothing changed."""
    ends = {"source": args.source, "target": args.target}
    if args.pause or args.resume:
        changed = verbs.pause_subscription(args.source, args.target, args.pause)
        say(args, {**ends, "changed": changed}, "changed" if changed else "unchanged")
        return DONE if changed else NOTHING
    number = verbs.subscribe(args.source, args.target, filter=args.filter, delay_seconds=args.delay)
    say(args, {**ends, "subscription_id": number}, str(number))
    return DONE


def unsubscribe(verbs: Verbs, args: argparse.Namespace) -> int:
    """End the subscription of TARGET to SOURCE. Exit status 3: there is none."""
    ended = verbs.unsubscribe(args.source, args.target, discard=args.discard)
    say(args, {"source": args.source, "target": args.target, "ended": ended}, "ended" if ended else "none")
    return DONE if ended else NOTHING


def subscriptions(verbs: Verbs, args: argparse.Namespace) -> int:
    """List subscriptions of queues, with the copies that each holds. Exit status 3: there is none."""
    listed = verbs.list_subscriptions(args.source)
    for one in listed:
        state = "paused" if one.paused else "active"
        say(args, asdict(one), f"{one.source}\t{one.target}\t{state}\t{one.held}\t{one.filter or '-'}")
    return DONE if listed else NOTHING
