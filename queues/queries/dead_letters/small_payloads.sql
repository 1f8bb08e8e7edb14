-- Payloads of these dead letters up to a size, and whether each is in a body store.
select d.payload::text, d.body_sha256 is not null
from unnest(%s::bigint[]) given(dead_letter_id)
join signalbox.dead_letter d on d.dead_letter_id = given.dead_letter_id
where pg_column_size(d.payload) <= %s
