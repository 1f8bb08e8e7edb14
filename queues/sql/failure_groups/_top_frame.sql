-- The frame of a stack that says where the application was: "function (file)", without line numbers, which change with
-- every release. For Python the last frame that is not a library's, for Java, JavaScript, .NET, Go and Ruby the first;
-- null when there is none. Reads the nearest 16,000 characters, since any client may have written them.
create or replace function signalbox._top_frame(p_details text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select left(coalesce(
      case when strpos(tail, 'File "') > 0 then signalbox._python_frame(tail) end,
      case when strpos(head, 'at ') > 0 then signalbox._called_at(head) end,
      case when strpos(head, '.go:') > 0 then signalbox._go_frame(head) end,
      case when strpos(head, '.rb:') > 0 then signalbox._ruby_frame(head) end
    ), 300)
    from (select left(p_details, 16000) collate "C" as head, right(left(p_details, 65536), 16000) collate "C" as tail) t
  );
end $$;
