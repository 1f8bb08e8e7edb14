"""Causes in the order of delivery: a hot message group, dead letters that hold their groups, priorities that starve."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence, PriorityWait
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, percent, suspect
from metrics.diagnosis.thresholds import EXPLAINS_SHARE, HOT_MESSAGES, STARVED_FACTOR, STARVED_SECONDS
from metrics.wording import number, plural, span


@suspect(Cause.HOT_KEY)
def hot_key(evidence: Evidence) -> Found | str:
    """Suspect one group with most of the waiting messages: more messages arrive for it than its limit allows."""
    lanes, waiting = evidence.lanes, evidence.numbers.waiting
    if not waiting or not lanes.waiting:
        return "no message waits for its group"
    if evidence.numbers.queue.shares_groups:
        return "groups share the queue, and none has a limit"
    share = min(lanes.waiting / waiting, 1.0)
    if share < EXPLAINS_SHARE or lanes.waiting < HOT_MESSAGES:
        return f"the fullest group has {number(lanes.waiting)} of {number(waiting)} that wait"
    if waiting < EXPLAINS_SHARE * evidence.waiting:
        return f"{number(waiting)} wait for their groups, and {number(evidence.numbers.ready)} are ready"
    if lanes.dead_share >= EXPLAINS_SHARE:
        return "messages that wait for their groups wait behind dead letters"
    has = f"{percent(share)} of the messages that wait for their groups, {plural(lanes.waiting, 'message')}"
    return Found(
        sentence=f"A hot key: the group {lanes.fullest} has {has}, with {number(lanes.under_way)} under way.",
        short=f"A hot key: one group has {has}.",
        figures=(
            Figure("group_id", lanes.fullest, "group", lanes.fullest),
            Figure("waiting_of_group", lanes.waiting, "waiting in it", number(lanes.waiting)),
            Figure("waiting_in_lanes", waiting, "waiting for all groups", number(waiting)),
            Figure("under_way", lanes.under_way, "under way in it", number(lanes.under_way)),
            Figure("oldest_seconds", lanes.oldest_seconds, "the oldest waits", span(lanes.oldest_seconds)),
        ),
        proof=Proof(Page.LANES, "this group and what it waits for", search=lanes.fullest),
        advice="This group does not delay other groups. Give it a higher limit of its own if its order does not matter,"
        " split it into smaller groups, or make its work shorter.",
    )


@suspect(Cause.LANES_BLOCKED)
def lanes_blocked(evidence: Evidence) -> Found | str:
    """Suspect dead letters that hold their groups, where fifo_block_on_dead_letter is set."""
    lanes, numbers = evidence.lanes, evidence.numbers
    if not numbers.waiting:
        return "no message waits for its group"
    if lanes.dead_share < EXPLAINS_SHARE:
        return f"{percent(lanes.dead_share)} of the examined messages wait behind a dead letter"
    if numbers.waiting < EXPLAINS_SHARE * evidence.waiting:
        return f"only {number(numbers.waiting)} of {number(evidence.waiting)} wait for their groups"
    waiting = f"{plural(numbers.waiting, 'message')} held up by their groups"
    held = f"{waiting}, {percent(lanes.dead_share)} of them behind dead letters"
    return Found(
        sentence=f"{held}, until these are redriven, deleted or purged.",
        short=f"{held}.",
        figures=(
            Figure("waiting_in_lanes", numbers.waiting, "waiting for groups", number(numbers.waiting)),
            Figure("dead_share", lanes.dead_share, "behind dead letters", percent(lanes.dead_share)),
            Figure("dead", numbers.dead, "dead letters", number(numbers.dead)),
            Figure("oldest_seconds", lanes.oldest_seconds, "the oldest waits", span(lanes.oldest_seconds)),
        ),
        proof=Proof(Page.DEAD_LETTERS, "the dead letters"),
        advice="Repair the cause of their errors and redrive them: each goes first in its group, and the others follow."
        " Where the order within a group does not matter that much, switch fifo_block_on_dead_letter off.",
    )


@suspect(Cause.PRIORITY_STARVATION)
def priority_starvation(evidence: Evidence) -> Found | str:
    """Suspect starvation: a lower priority waits many times as long as a higher one."""
    priorities, recent = evidence.priorities, evidence.recent
    if len(priorities) < 2:
        return "all that is ready has one priority"
    starved, fed = max(priorities, key=lambda each: each.seconds), priorities[0]
    if starved.priority >= fed.priority or starved.seconds < max(STARVED_SECONDS, STARVED_FACTOR * fed.seconds):
        waits = ", ".join(f"{each.priority} for {span(each.seconds)}" for each in priorities)
        return f"priorities wait alike: {waits}"
    if recent is None or not recent.delivered:
        return "no priority is delivered"
    return _found(evidence, starved, fed)


def _found(evidence: Evidence, starved: PriorityWait, fed: PriorityWait) -> Found:
    waits = ", ".join(f"priority {each.priority} waits for {span(each.seconds)}" for each in (starved, fed))
    aging = evidence.numbers.queue.aging_seconds
    return Found(
        sentence=f"Lower priorities starve: {waits}, and consumers take the higher first.",
        short=f"Lower priorities starve: {waits}.",
        figures=(
            Figure("starved_priority", starved.priority, "starving", f"priority {starved.priority}"),
            Figure("starved_seconds", starved.seconds, "it waits", span(starved.seconds)),
            Figure("fed_priority", fed.priority, "ahead of it", f"priority {fed.priority}"),
            Figure("fed_seconds", fed.seconds, "that waits", span(fed.seconds)),
            Figure("aging_seconds", aging, "aging", f"{number(aging)} s a priority" if aging else "off"),
        ),
        proof=Proof(Page.READY, "what is ready, by priority"),
        advice="Shorten aging_seconds, which raises the priority of waiting messages; add workers; or send fewer"
        " messages with a high priority. With aging_seconds = 0 the higher priority is always delivered first.",
    )
