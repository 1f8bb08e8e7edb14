-- verify_audit(): check that the audit is as it was written. Reads the chain once, in one snapshot, from its start or
-- from the anchor of prune_audit. Returns one row: the number of events, the last hash, and position, id and mistake of
-- the first wrong row, or nulls.
-- A chain that was rewritten from some row on, or cut at its end together with audit_head, is intact in itself: compare
-- `hash` with a hash that was recorded elsewhere (docs/operate/audit.md). Index: that of audit_event.position.
create or replace function signalbox.verify_audit()
returns table (events bigint, hash text, bad_position bigint, bad_event_id bigint, complaint text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with anchor as (
    select a.* from signalbox.audit_anchor a order by a.position desc limit 1
  ), chained as (
    select e.audit_event_id, e.position, e.previous_hash, e.hash,
      row_number() over chain + coalesce((select a.position from anchor a), 0) as expected,
      lag(e.hash, 1, coalesce((select a.hash from anchor a), decode(repeat('00', 32), 'hex'))) over chain as before,
      signalbox._audit_hash(e, e.position, e.previous_hash) as computed
    from signalbox.audit_event e
    where e.position is not null
    window chain as (order by e.position)
  ), unconfirmed as (
    -- The row about a pruning is behind the pruned rows, so the chain confirms it.
    select a.position, null::bigint as audit_event_id,
      'it was removed with all rows before it, and no row says by whom' as complaint
    from anchor a
    where not exists (
      select from signalbox.audit_event e
      where e.action = 'audit.prune' and e.position > a.position
        and e.details = signalbox._anchor_facts(a.position, a.hash, a.rows, a.export, a.export_sha256)
    )
  ), wrong as (
    select c.position, c.audit_event_id, case
        when c.position < c.expected then 'it should have been removed with the rows before the anchor'
        when c.position <> c.expected then case c.position - c.expected when 1 then 'the row before it is missing'
          else format('%s rows before it are missing', c.position - c.expected) end
        when c.hash is distinct from c.computed then 'it is not what was written'
        else 'it does not follow the row before it'
      end as complaint
    from chained c
    where c.position <> c.expected or c.hash is distinct from c.computed or c.previous_hash is distinct from c.before
    order by c.position
    limit 1
  ), unchained as (
    select null::bigint, e.audit_event_id, 'it was added past the chain'
    from signalbox.audit_event e
    where e.position is null
    order by e.audit_event_id
    limit 1
  ), cut as (
    select h.position, null::bigint, 'it was the last, and is missing'
    from signalbox.audit_head h
    where h.position <> (select coalesce(max(c.position), 0) from chained c)
      or h.hash is distinct from coalesce((select c.hash from chained c order by c.position desc limit 1), h.hash)
  ), first_wrong as (
    select * from unconfirmed
    union all
    select * from wrong where not exists (select from unconfirmed)
    union all
    select * from unchained where not exists (select from unconfirmed) and not exists (select from wrong)
    union all
    select * from cut
    where not exists (select from unconfirmed) and not exists (select from wrong) and not exists (select from unchained)
  )
  select
    (select count(*) from signalbox.audit_event),
    (select encode(c.hash, 'hex') from chained c order by c.position desc limit 1),
    f.position, f.audit_event_id, f.complaint
  from (select) one
  left join first_wrong f on true
$$;
