"""Clusters: dead letters by their cause. Numbers come from upkeep's counters, what is known of a cause from people."""

from dlq.cluster_members import widened
from dlq.clusters.care import (
    MOST_MEMBERS,
    NOTE_CHARACTERS,
    OWNER_CHARACTERS,
    URL_CHARACTERS,
    describe,
    merge,
    set_state,
    split,
)
from dlq.clusters.listing import Narrowing, Sort, list_clusters
from dlq.clusters.reading import Cluster, Source, reached_ids, read_cluster, read_clusters
from dlq.clusters.states import STATES, State

__all__ = [
    "MOST_MEMBERS",
    "NOTE_CHARACTERS",
    "OWNER_CHARACTERS",
    "STATES",
    "URL_CHARACTERS",
    "Cluster",
    "Narrowing",
    "Sort",
    "Source",
    "State",
    "describe",
    "list_clusters",
    "merge",
    "reached_ids",
    "read_cluster",
    "read_clusters",
    "set_state",
    "split",
    "widened",
]
