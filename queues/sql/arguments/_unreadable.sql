-- Return why clients cannot read a JSON value that PostgreSQL can store; null when they can. The limits are those of
-- signalbox/payloads/encoding.py: 128 levels of arrays and objects, and numbers of 1,000 characters when written out
-- (1e5000 is longer). JSON text of up to 256 bytes is within both, so callers check only longer texts. Takes linear
-- time. p_text is the text of the value.
create or replace function signalbox._unreadable(p_value jsonb, p_text text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea;
  v_place integer;
  v_run integer := 0;
  v_longest integer;
begin
  if p_text is null or octet_length(p_text) <= 256 then
    return null;
  end if;
  if jsonb_path_exists(p_value, 'strict $.**{128} ? (@.type() == "array" || @.type() == "object")') then
    return 'is nested too deeply: at most 128 levels';
  end if;
  if octet_length(p_text) <= 1000 then
    return null;
  end if;
  -- A number of 1,001 characters covers one of the positions 1,000 bytes apart, and ten consecutive positions 100 bytes
  -- apart. Its characters are between '-' and '9'. To check these positions costs less than to read the whole text.
  v_bytes := convert_to(p_text, 'UTF8');
  v_place := 1000;
  while v_place < octet_length(v_bytes) loop
    if get_byte(v_bytes, v_place) between 45 and 57 then
      v_run := 1;
      exit;
    end if;
    v_place := v_place + 1000;
  end loop;
  if v_run = 0 then
    return null;
  end if;
  v_run := 0;
  v_place := v_place - 1000;
  while v_place < octet_length(v_bytes) and v_run < 10 loop
    v_run := case when get_byte(v_bytes, v_place) between 45 and 57 then v_run + 1 else 0 end;
    v_place := v_place + 100;
  end loop;
  if v_run = 10 then
    select max(octet_length(n::text)) into v_longest
    from jsonb_path_query(p_value, 'strict $.** ? (@.type() == "number")') n;
    if v_longest > 1000 then
      return format('has a number of %s characters, written out: at most 1000', v_longest);
    end if;
  end if;
  return null;
end $$;
