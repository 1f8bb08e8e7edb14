-- The beginning of each statement on failure groups: `part` has each fingerprint with its failure group (the head),
-- `pending` the deltas that are not aggregated yet.
with part as materialized (
  select f.head, f.head as fingerprint from unnest(%s::text[]) f(head)
  union
  select m.head, m.fingerprint from signalbox.failure_group_member m where m.head = any(%s::text[])
), pending as materialized (
  select p.head, u.* from signalbox.pending_failure_groups() u join part p on p.fingerprint = u.fingerprint
)
