-- Return whether a message of the log, a kept body, a dead letter, a message in the trash, a held copy or a message of a
-- stream points to a large body. One statement reads all in one snapshot, so a body that moves between them is seen.
-- Pointers of a log are dropped with its segment (drop_segment, drop_stream_segment).
create or replace function signalbox._body_is_needed(p_sha256 bytea) returns boolean
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from signalbox.body_pointer p where p.sha256 = p_sha256)
    or exists (select from signalbox.message_kept k where k.body_sha256 = p_sha256)
    or exists (select from signalbox.dead_letter d where d.body_sha256 = p_sha256)
    or exists (select from signalbox.trash t where t.body_sha256 = p_sha256)
    or exists (select from signalbox.held_copy h where h.body_sha256 = p_sha256)
    or exists (select from signalbox.stream_body_pointer s where s.sha256 = p_sha256);
end $$;
