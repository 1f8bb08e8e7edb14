-- Maintenance: one row of signalbox.maintenance while it is on. What verbs must know of it are two bits of each queue's
-- guards (8: claims are held, 16: sends are refused), which the trigger _guard_queue reckons, so that send and receive
-- read nothing more than before, and a queue's own `paused` and `closed` are left alone.
create or replace function signalbox._maintenance_guards(p_tenant text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regclass('signalbox.maintenance') is null then
    return 0; -- migrations were taken back, and this function is still there
  end if;
  return coalesce((
    select case when m.holds_claims then 8 else 0 end
      + case when m.refuses_sends and p_tenant <> 'system' then 16 else 0 end -- jobs under way may still be handed on
    from signalbox.maintenance m
  ), 0);
end $$;

-- Wait for everybody who writes a queue's row, and keep others from it until this transaction ends: a queue that is made at
-- the same time would else miss the bits, or keep them. It comes before any other lock, so there is no ring of waits.
-- Those who only read queues, as send, receive and ack do, never wait for it.
create or replace function signalbox._lock_queues() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table signalbox.queue in exclusive mode;
end $$;

-- begin_maintenance(actor, reason, until, holds_claims, refuses_sends): on from the commit of this transaction; when it is on
-- already, with these words. Locks the table of queues against changes.
create or replace function signalbox.begin_maintenance(
  p_actor text, p_reason text, p_until timestamptz, p_holds_claims boolean, p_refuses_sends boolean
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._lock_queues();
  insert into signalbox.maintenance (maintenance_id, started_at, started_by, reason, until, holds_claims, refuses_sends)
  values (1, clock_timestamp(), p_actor, p_reason, p_until, p_holds_claims, p_refuses_sends)
  on conflict (maintenance_id) do update
  set started_by = excluded.started_by,
    reason = excluded.reason,
    until = excluded.until,
    holds_claims = excluded.holds_claims,
    refuses_sends = excluded.refuses_sends;
  update signalbox.queue q set guards = q.guards; -- the trigger reckons them
end $$;

-- end_maintenance(): off, and every queue as it was; false when it was off.
create or replace function signalbox.end_maintenance() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_was_on boolean;
begin
  perform signalbox._lock_queues();
  delete from signalbox.maintenance;
  v_was_on := found;
  update signalbox.queue q set guards = q.guards where q.guards & 24 <> 0;
  return v_was_on;
end $$;

create or replace function signalbox._refuse_in_maintenance() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_maintenance signalbox.maintenance;
begin
  select * into v_maintenance from signalbox.maintenance m;
  raise exception using
    errcode = 'SB503',
    message = format('maintenance by %s refuses sends: %s', v_maintenance.started_by, v_maintenance.reason),
    detail = json_build_object(
      'until', v_maintenance.until,
      'retry_after', case
        when v_maintenance.until > clock_timestamp() then greatest(extract(epoch from v_maintenance.until - clock_timestamp()), 1)
      end
    ),
    hint = 'Send it again when it has ended.',
    column = 'queue';
end $$;
