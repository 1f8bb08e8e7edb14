"""Lanes: does one key hold up the queue, or what died in it?"""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, percent, ruled_out
from metrics.diagnosis.thresholds import EXPLAINS_SHARE, HOT_MESSAGES
from metrics.wording import number, plural, span


def hot_key(evidence: Evidence) -> Suspect:
    """One lane has most of what waits: its limit lets through less than comes for it, and no consumer can help."""
    lanes, waiting = evidence.lanes, evidence.numbers.waiting
    if not waiting or not lanes.waiting:
        return ruled_out(Cause.HOT_KEY, "nothing waits in lanes")
    share = min(lanes.waiting / waiting, 1.0)
    if share < EXPLAINS_SHARE or lanes.waiting < HOT_MESSAGES:
        return ruled_out(Cause.HOT_KEY, f"the fullest lane has {number(lanes.waiting)} of {number(waiting)} that wait")
    if waiting < EXPLAINS_SHARE * evidence.waiting:
        return ruled_out(
            Cause.HOT_KEY, f"{number(waiting)} wait in lanes, and {number(evidence.numbers.ready)} are ready"
        )
    if lanes.dead_share >= EXPLAINS_SHARE:
        return ruled_out(Cause.HOT_KEY, "what waits in lanes waits behind dead letters")
    has = f"{percent(share)} of what waits in lanes, {plural(lanes.waiting, 'message')}"
    return Suspect(
        Cause.HOT_KEY,
        found=True,
        sentence=f"A hot key: the group {lanes.fullest} has {has}, with {number(lanes.under_way)} under way.",
        short=f"A hot key: one group has {has}.",
        figures=(
            Figure("group_id", lanes.fullest, "group", lanes.fullest),
            Figure("waiting_of_group", lanes.waiting, "waiting in it", number(lanes.waiting)),
            Figure("waiting_in_lanes", waiting, "waiting in all lanes", number(waiting)),
            Figure("under_way", lanes.under_way, "under way in it", number(lanes.under_way)),
            Figure("oldest_seconds", lanes.oldest_seconds, "the oldest waits", span(lanes.oldest_seconds)),
        ),
        proof=Proof(Page.LANES, "this lane and what it waits for", search=lanes.fullest),
        advice="Other groups are not held up by it. Give this group a higher limit of its own if its order does not"
        " matter, split it into finer groups, or make its work shorter.",
    )


def lanes_blocked(evidence: Evidence) -> Suspect:
    """Groups wait behind a dead letter of their own, as block_lane_on_dead wants it."""
    lanes, numbers = evidence.lanes, evidence.numbers
    if not numbers.waiting:
        return ruled_out(Cause.LANES_BLOCKED, "nothing waits in lanes")
    if lanes.dead_share < EXPLAINS_SHARE:
        behind = f"{percent(lanes.dead_share)} of those looked at wait behind a dead letter"
        return ruled_out(Cause.LANES_BLOCKED, behind)
    if numbers.waiting < EXPLAINS_SHARE * evidence.waiting:
        return ruled_out(
            Cause.LANES_BLOCKED, f"only {number(numbers.waiting)} of {number(evidence.waiting)} wait in lanes"
        )
    behind = f"{percent(lanes.dead_share)} of them behind dead letters"
    held = f"{plural(numbers.waiting, 'message')} held up in lanes, {behind}"
    return Suspect(
        Cause.LANES_BLOCKED,
        found=True,
        sentence=f"{held}, until these are redriven, deleted or purged.",
        short=f"{held}.",
        figures=(
            Figure("waiting_in_lanes", numbers.waiting, "waiting in lanes", number(numbers.waiting)),
            Figure("dead_share", lanes.dead_share, "behind dead letters", percent(lanes.dead_share)),
            Figure("dead", numbers.dead, "dead letters", number(numbers.dead)),
            Figure("oldest_seconds", lanes.oldest_seconds, "the oldest waits", span(lanes.oldest_seconds)),
        ),
        proof=Proof(Page.DEAD_LETTERS, "the dead letters"),
        advice="Repair what they died of and redrive them: each goes first in its group, and the others follow. Where"
        " the order within a group does not matter that much, switch block_lane_on_dead off.",
    )
