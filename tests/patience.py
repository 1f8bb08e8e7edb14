"""How long pages let the database think in tests, and a provider of sign-on answer; and which limits say so."""

PATIENCE_MILLISECONDS = 120_000
PATIENCE_SECONDS = 120
LIMITS_OF_PAGES = (
    "dlq.counting.COUNT_MILLISECONDS",
    "dlq.outcomes.COUNT_MILLISECONDS",
    "dlq.trash.COUNT_MILLISECONDS",
    "dlq.browse.dead_letter_list.LIST_MILLISECONDS",
    "dlq.browse.message_list.LIST_MILLISECONDS",
    "dlq.comparing.LIST_MILLISECONDS",
    "dlq.radius.LIST_MILLISECONDS",
    "dlq.clusters.listing.LIST_CLUSTERS_MILLISECONDS",
    "dlq.suggesting.MILLISECONDS",
    "console.causes.LIST_MILLISECONDS",
    "console.message_story.SEARCH_MILLISECONDS",
)
