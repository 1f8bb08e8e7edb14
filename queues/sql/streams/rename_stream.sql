-- rename_stream(name, new_name): give a stream another name. Returns its id, which stays, as do messages, groups,
-- offsets, subscriptions and captures; its masking rules hold for both names. The old name stops at once: programs that
-- append or read by it are refused, and another stream may have it. Waits for transactions that change the stream. Call
-- it as the owner of Signalbox.
create or replace function signalbox.rename_stream(name text, new_name text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream_id integer;
begin
  perform signalbox._check_stream_name('new_name', rename_stream.new_name);
  begin
    update signalbox.stream s set name = rename_stream.new_name
    where s.name = rename_stream.name
    returning s.stream_id into v_stream_id;
  exception
    when unique_violation then
      perform signalbox._refuse(
        'new_name', format('is %s, the name of another stream', quote_literal(rename_stream.new_name))
      );
  end;
  if v_stream_id is null then
    perform signalbox._refuse_unknown_stream(rename_stream.name);
  end if;
  perform signalbox._audit_stream(
    'stream.rename', rename_stream.new_name, jsonb_build_object(
      'old_name', rename_stream.name,
      'masks', signalbox._copy_masks(rename_stream.name, rename_stream.new_name)
    )
  );
  return v_stream_id;
end $$;
