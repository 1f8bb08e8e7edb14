-- publish(name): make a publication of logical replication for readers such as Debezium: each message that is sent,
-- each outcome and each dead letter, as inserted rows of message, settled and dead_letter, under the names of these
-- tables. Updates and deletes are not published, so the publication asks nothing of the tables' replica identities.
-- Repeating it changes nothing. Returns the name. Only the owner of the schema may call it, with the right to create in
-- the database; it writes an audit row. A reader sees payloads without masks.
create or replace function signalbox.publish(name text default 'signalbox_events') returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  c_tables constant text[] := array['dead_letter', 'message', 'settled'];
  v_published text[];
begin
  if publish.name is null or publish.name !~ '^[a-z_][a-z0-9_]{0,62}$' then
    perform signalbox._refuse('name', format(
      'is %s: it must have 1 to 63 lower-case letters, digits and underscores, and not start with a digit',
      coalesce(quote_literal(left(publish.name, 63)), 'null')
    ));
  end if;
  if exists (select from pg_publication p where p.pubname = publish.name) then
    select array_agg(c.relname::text order by c.relname) into v_published
    from pg_publication p
    join pg_publication_rel r on r.prpubid = p.oid
    join pg_class c on c.oid = r.prrelid and c.relnamespace = 'signalbox'::regnamespace
    where p.pubname = publish.name and p.pubinsert and not (p.pubupdate or p.pubdelete or p.pubtruncate);
    if v_published is distinct from c_tables then
      perform signalbox._refuse('name', format('is %L: another publication has that name', publish.name));
    end if;
    return publish.name;
  end if;
  execute format(
    'create publication %I for table signalbox.message, signalbox.settled, signalbox.dead_letter'
    || ' with (publish = ''insert'', publish_via_partition_root = true)', publish.name
  );
  perform signalbox.record_audit('publication.create', details => jsonb_build_object('publication', publish.name));
  return publish.name;
end $$;
