-- drop_body(grace_seconds, after): check the next thousand large bodies after a hash, and forget the first that no
-- message needs and that no sender has claimed for grace_seconds. Returns the last hash that it checked, and whether
-- that body was dropped; no row at the end.
-- The caller removes the object of a dropped body and then commits. Until then a sender of the same body waits, and
-- uploads it again afterwards. Bodies that a sender holds are skipped. Indexes: large_body_pkey, body_pointer_pkey,
-- message_kept_body, dead_letter_body, trash_body, stream_body_pointer_body.
create or replace function signalbox.drop_body(grace_seconds double precision, after bytea default null)
returns table (sha256 bytea, dropped boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_before timestamptz;
  v_body record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('drop_body');
  end if;
  if drop_body.grace_seconds is null or drop_body.grace_seconds not between 0 and 31536000 then
    perform signalbox._refuse(
      'grace_seconds', format(
        'is %s: it must be from 0 to 31536000 (a year)', coalesce(drop_body.grace_seconds::text, 'null')
      )
    );
  end if;
  v_before := clock_timestamp() - drop_body.grace_seconds * interval '1 second';
  for v_body in
    select b.sha256, b.last_claimed_at
    from signalbox.large_body b
    where b.sha256 > coalesce(drop_body.after, '')
    order by b.sha256
    limit 1000
  loop
    sha256 := v_body.sha256;
    continue when v_body.last_claimed_at >= v_before or signalbox._body_is_needed(v_body.sha256);
    perform from signalbox.large_body b where b.sha256 = v_body.sha256 and b.last_claimed_at < v_before
      for update skip locked;
    continue when not found;
    -- Check again in a new statement while the row is locked: a sender may have committed since the first check.
    if not signalbox._body_is_needed(v_body.sha256) then
      delete from signalbox.large_body b where b.sha256 = v_body.sha256;
      dropped := true;
      return next;
      return;
    end if;
  end loop;
  if drop_body.sha256 is not null then
    dropped := false;
    return next;
  end if;
end $$;
