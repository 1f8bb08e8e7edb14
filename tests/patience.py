"""Time limits of pages for the database and a sign-on provider in tests, and where they are set."""

PATIENCE_MILLISECONDS = 120_000
PATIENCE_SECONDS = 120
LIMITS_OF_PAGES = (
    "dlq.search.counting.COUNT_MILLISECONDS",
    "dlq.redrives.outcomes.COUNT_MILLISECONDS",
    "dlq.trash.trash.COUNT_MILLISECONDS",
    "dlq.search.pages.LIST_MILLISECONDS",
    "queues.messages.last_success.LIST_MILLISECONDS",
    "dlq.redrives.impact.LIST_MILLISECONDS",
    "dlq.failure_groups.listing.LIST_GROUPS_MILLISECONDS",
    "dlq.search.samples.MILLISECONDS",
    "dlq.search.anchors.LOOK_UP_MILLISECONDS",
    "console.dead_letters.causes.LIST_MILLISECONDS",
    "queues.messages.story.SEARCH_MILLISECONDS",
)
