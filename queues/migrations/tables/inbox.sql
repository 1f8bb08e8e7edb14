-- Messages that handlers have entered with `once`, partitioned by time so that old ones are dropped.
create table signalbox.inbox (
  message_id bigint not null,
  handler text not null,
  entered_at timestamptz not null,
  expires_at timestamptz not null
) partition by range (entered_at);
create index inbox_message on signalbox.inbox (message_id, handler);
create table signalbox.inbox_default partition of signalbox.inbox default;
