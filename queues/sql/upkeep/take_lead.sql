-- take_lead(token): ask to lead the claim floors. Returns 'leading' when this process leads already, 'elected' when it
-- has just taken over from one that is gone, 'following' when another process leads. A new leader starts with every
-- floor at its minimum, so that nothing that its predecessor knew can leave a ticket undelivered. Takes a
-- transaction-scoped try-lock that mark_floor and advance_floor take too: they never overlap an election.
create or replace function signalbox.take_lead(token uuid, ttl_seconds double precision default 5) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  -- no term is so long: it was written while the server's clock was ahead
  c_terms_ahead constant double precision := 10;
  v_now timestamptz := clock_timestamp();
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.floor'), 0) then
    return 'following';
  end if;
  perform from signalbox.upkeep_leader l where l.token = take_lead.token
    and l.expires_at > v_now + take_lead.ttl_seconds * interval '0.5 second';
  if found then
    return 'leading';
  end if;
  update signalbox.upkeep_leader l
  set expires_at = v_now + take_lead.ttl_seconds * interval '1 second'
  where l.token = take_lead.token and l.expires_at > v_now;
  if found then
    return 'leading';
  end if;
  insert into signalbox.upkeep_leader as l (token, expires_at)
  values (take_lead.token, v_now + take_lead.ttl_seconds * interval '1 second')
  on conflict (only_row) do update
  set token = excluded.token, expires_at = excluded.expires_at
  where l.expires_at <= v_now
    or l.expires_at > v_now + c_terms_ahead * take_lead.ttl_seconds * interval '1 second';
  if not found then
    return 'following';
  end if;
  perform setval(h.floor, 0) from signalbox.claim_floor h where h.floor is not null;
  perform setval('signalbox.place_horizon', 0);
  perform signalbox._distrust_lanes();
  return 'elected';
end $$;
