-- drop_body(grace_seconds, after): forget one large body that nothing points to and that nobody claimed for so long;
-- returns its hash, null when there is none beyond the hash given. The caller removes the object and then commits: until
-- then whoever sends the same body waits, and afterwards finds it gone and uploads it again. Bodies that a sender
-- holds are passed by. Indexes: large_body_pkey, body_pointer_pkey, message_kept_body, dead_letter_body.
create or replace function signalbox.drop_body(grace_seconds double precision, after bytea default null) returns bytea
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_before timestamptz := clock_timestamp() - drop_body.grace_seconds * interval '1 second';
  v_sha256 bytea := coalesce(drop_body.after, '');
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('drop_body');
  end if;
  if drop_body.grace_seconds is null or drop_body.grace_seconds < 0 then
    perform signalbox._refuse('grace_seconds', 'must be zero or more');
  end if;
  loop
    select b.sha256
    into v_sha256
    from signalbox.large_body b
    where b.sha256 > v_sha256 and b.last_claimed_at < v_before and not signalbox._body_is_needed(b.sha256)
    order by b.sha256
    limit 1
    for update skip locked;
    if not found then
      return null;
    end if;
    -- Asked again in a new statement, now that the row is held: a sender may have committed since the one above began.
    if not signalbox._body_is_needed(v_sha256) then
      delete from signalbox.large_body b where b.sha256 = v_sha256;
      return v_sha256;
    end if;
  end loop;
end $$;

-- Does a message of the log, a kept body or a dead letter point to it? One statement, hence one moment: what moves from
-- one of the three to another is seen in one of them. Pointers of the log go with its segment (drop_segment).
create or replace function signalbox._body_is_needed(p_sha256 bytea) returns boolean
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  return exists (select from signalbox.body_pointer p where p.sha256 = p_sha256)
    or exists (select from signalbox.message_kept k where k.body_sha256 = p_sha256)
    or exists (select from signalbox.dead_letter d where d.body_sha256 = p_sha256);
end $$;
