// The rows of the lists on a page: of its tables, and of its failure groups.

const ROWS = "table.grid > tbody > tr, article.cause";

export const rowsOf = (part) => [...part.querySelectorAll(ROWS)].filter((row) => row.checkVisibility());

/** What a row leads to; the row itself where it leads nowhere. */
export const leadOf = (row) => row.querySelector("[data-row]") ?? row.querySelector("a[href]") ?? row;
